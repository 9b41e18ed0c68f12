"""Official servers, run for real, and the official suite for clients."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.host.mcp.conftest import processes
from tests.npm import node
from toolroll.result import ErrorCode

BIN = Path(sys.prefix) / "bin"
ROOT = Path(__file__).parents[3]


def installed(program):
    if not (BIN / program).exists():
        pytest.skip(f"{program} is not installed; the dev requirements have it")
    return str(BIN / program)


def npm(package, *arguments, **options):
    """The entry of a server of the npm packages."""
    script = node.packages() / "@modelcontextprotocol" / package / "dist" / "index.js"
    return {"command": node.program(), "args": [str(script), *map(str, arguments)], **options}


def called(kit, server, name, **arguments):
    return kit.call("mcp", {"action": "call_tool", "server": server, "name": name, "arguments": arguments})


def names(kit, server, action="list_tools"):
    found = kit.call("mcp", {"action": action, "server": server})
    assert found.ok, found.text
    return {row.get("uri") or row["name"] for row in found.data["structured"]}


@pytest.mark.slow
def test_git_and_time(open_kit, ws):
    """git by the handshake, time by the stateless protocol: both servers know both."""
    subprocess.run(["git", "init", "-q", "-b", "main", ws], check=True)
    (ws / "a.txt").write_text("one\n")
    timing = {"command": installed("mcp-server-time"), "args": ["--local-timezone", "UTC"], "protocol": "stateless"}
    kit = open_kit(mcp={"git": {"command": installed("mcp-server-git")}, "time": {**timing, "expand": True}})
    assert {"git_status", "git_commit"} <= names(kit, "git")
    found = called(kit, "git", "git_status", repo_path=str(ws))
    assert "Untracked files:" in found.data["text"]
    assert "a.txt" in found.data["text"]
    refused = called(kit, "git", "git_add", repo_path=str(ws), files=["a.txt"])
    assert not refused.ok, "it may not write here"
    now = kit.call("time__get_current_time", {"timezone": "Asia/Tokyo"})
    assert now.data["structured"]["timezone"] == "Asia/Tokyo"
    assert kit.call("time__get_current_time", {"timezone": "Nowhere"}).error.code == ErrorCode.EXECUTION
    kit.close()
    assert processes(str(ws)) == []


def test_filesystem_and_everything(open_kit, ws):
    (ws / "a.txt").write_text("one\n")
    kit = open_kit(mcp={"files": npm("server-filesystem", ws), "all": npm("server-everything")})
    assert {"read_text_file", "write_file"} <= names(kit, "files")
    assert called(kit, "files", "read_text_file", path=str(ws / "a.txt")).data["text"] == "one\n"
    refused = called(kit, "files", "write_file", path=str(ws / "b.txt"), content="two")
    assert (refused.ok, (ws / "b.txt").exists()) == (False, False)
    assert called(kit, "all", "echo", message="hello").data["text"] == "Echo: hello"
    picture = called(kit, "all", "get-tiny-image")
    assert picture.images[0].data.startswith(b"\x89PNG")
    resource = sorted(one for one in names(kit, "all", "list_resources") if "://" in one)[0]
    read = kit.call("mcp", {"action": "read_resource", "server": "all", "uri": resource})
    assert read.ok, read.text
    assert names(kit, "all", "list_prompts")
    prompt = {"action": "get_prompt", "server": "all", "name": "args-prompt", "arguments": {"city": "Bern"}}
    assert "Bern" in kit.call("mcp", prompt).data["text"]


SCENARIOS = {
    "initialize": 1,
    "tools_call": 2,
    "sse-retry": 3,
    "request-metadata": 5,
    "http-standard-headers": 10,
    "http-custom-headers": 18,
    "http-invalid-tool-headers": 12,
    "json-schema-ref-no-deref": 1,
    "json-schema-2020-12-preservation": 9,
}


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_official_suite_for_clients(scenario):
    """How many checks it makes is held too, so that a suite that silently stops checking is seen."""
    script = node.packages() / "conformance-stateless" / "dist" / "index.js"
    command = f"{sys.executable} {Path(__file__).with_name('suite_client.py')}"
    run = [node.program(), str(script), "client", "--command", command, "--scenario", scenario]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert re.search(rf"^Passed: {SCENARIOS[scenario]}/{SCENARIOS[scenario]}, 0 failed", said, re.MULTILINE), said


def test_our_own_server_over_http_in_both_eras(open_kit):
    from tests.mcp.fixtures.served import served

    with served("tests.mcp.fixtures.suite_server") as running:
        entry = {"url": running.url, "headers": {"Authorization": f"Bearer {running.token}"}}
        kit = open_kit(mcp={"old": entry, "new": {**entry, "protocol": "stateless"}})
        for server in ("old", "new"):
            assert "test_simple_text" in names(kit, server)
            found = called(kit, server, "test_simple_text")
            assert found.data["text"] == "This is a simple text response for testing."
            assert called(kit, server, "test_error_handling").error.code == ErrorCode.EXECUTION
            assert called(kit, server, "test_image_content").images
        assert json.dumps(kit.remote.names()) == '["old", "new"]'
        kit.close()
