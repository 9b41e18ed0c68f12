"""The reference filesystem server's own tests, unchanged, against `toolroll mcp -d mcp-filesystem DIR...`.

They run where TOOLROLL_MCP_SERVERS names a clone of github.com/modelcontextprotocol/servers. The facts of those tests
that start no server are cases in `tests/dialects/test_mcp_filesystem.py`.
"""

import json
import os
import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from tests.npm import node

CLONE = os.environ.get("TOOLROLL_MCP_SERVERS")
COMMIT = "76d64c822f5125032f89eb71dbdb94e42b434821"
FOLDER = "src/filesystem/__tests__"
TESTS = {"startup-validation.test.ts": 4, "structured-content.test.ts": 10}  # and how many each has
SOURCE = Path(__file__).parents[2] / "src"
# The tests start `node dist/index.js DIR...` with few variables; this stands in for node.
SERVER = """\
#!/bin/sh
shift
export PYTHONPATH='{source}' XDG_STATE_HOME='{home}' XDG_CONFIG_HOME='{home}'
exec '{python}' -m toolroll mcp -d mcp-filesystem "$@"
"""
SECONDS = 100


@pytest.mark.skipif(not CLONE, reason="TOOLROLL_MCP_SERVERS names no clone of modelcontextprotocol/servers")
def test_those_that_start_a_server_pass(tmp_path):
    names = [f"{FOLDER}/{name}" for name in TESTS]
    archive = subprocess.run(["git", "-C", CLONE, "archive", COMMIT, *names], capture_output=True, check=True)
    with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
        files.extractall(tmp_path, filter="data")
    modules = node.packages(Path(node.__file__).with_name("filesystem_tests.json"))
    (tmp_path / "node_modules").symlink_to(modules)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "node").write_text(SERVER.format(source=SOURCE, home=tmp_path, python=sys.executable))
    (tmp_path / "bin" / "node").chmod(0o755)
    command = [node.program(), str(modules / "vitest" / "vitest.mjs"), "run", "--reporter=json"]
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    report = json.loads(done.stdout)
    seen = {
        Path(one["name"]).name: [case["status"] for case in one["assertionResults"]] for one in report["testResults"]
    }
    assert seen == {name: ["passed"] * count for name, count in TESTS.items()}, done.stdout
