"""The official inspector's command line as a client, over pipes and over HTTP."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.mcp.fixtures.served import Served
from tests.npm import node

SECONDS = 60


def inspect(home: Path, *arguments: str) -> str:
    script = node.packages() / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"
    environment = {**os.environ, "XDG_STATE_HOME": str(home), "XDG_CONFIG_HOME": str(home), "HOME": str(home)}
    command = [node.program(), str(script), "--cli", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_lists_our_tools_and_finds_no_error_in_a_schema(ws, tmp_path, kit):
    over_pipes = [sys.executable, "-m", "toolroll", "mcp", "-C", str(ws)]
    tools = json.loads(inspect(tmp_path, *over_pipes, "--method", "tools/list", "--strict"))["tools"]
    assert [one["name"] for one in tools] == [one["name"] for one in kit.definitions("mcp") if one["name"] != "finish"]


def test_it_calls_a_tool_over_http(suite: Served, tmp_path):
    token = ["--header", f"Authorization: Bearer {suite.token}"]
    told = inspect(tmp_path, suite.url, *token, "--method", "tools/call", "--tool-name", "test_simple_text")
    assert json.loads(told)["content"] == [{"type": "text", "text": "This is a simple text response for testing."}]
