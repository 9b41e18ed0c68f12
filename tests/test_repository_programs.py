"""Programs of a repository start as `bash` would start them, whatever tool starts them."""

import os
import shutil
import socket
import sys

import pytest

from toolroll import Effect, Policy
from toolroll.policy.rules import PRESETS

ASK = Policy(ask=Effect.SHELL)
SERVER = """#!{python}
import socket, sys
with socket.socket() as client:
    client.settimeout(5)
    try:
        client.connect(("127.0.0.1", {port}))
        print("reached", file=sys.stderr)
    except OSError:
        print("unreachable", file=sys.stderr)
sys.exit(1)
"""
MCP_SERVER = "#!/bin/sh\ntouch started\nexit 1\n"


@pytest.fixture
def project(put, ws, monkeypatch):
    """A TypeScript project whose language server tries to connect to this test; the listening socket."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    if shutil.which("tsc") or shutil.which("tsc", path=os.path.dirname(sys.executable)):
        pytest.skip("there is a tsc for all users of this machine")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0)
        text = SERVER.format(python=os.path.realpath(sys.executable), port=listening.getsockname()[1])
        put({"node_modules/.bin/tsc": text, "a.ts": "let a: number = 1;\n", "package.json": "{}"})
        (ws / "node_modules/.bin/tsc").chmod(0o755)
        yield listening


CALLS = {
    "diagnostics": {"files": ["a.ts"]},
    "hover": {"path": "a.ts", "line": 1, "symbol": "a"},
    "references": {"path": "a.ts", "symbol": "a"},
}


@pytest.mark.parametrize("name", CALLS)
def test_a_language_server_of_the_workspace_does_not_run_in_thinking_mode(project, open_kit, name):
    result = open_kit(mode="thinking").call(name, CALLS[name])
    assert "tsc could not look: " in result.text
    assert "not allowed in thinking mode" in result.text
    assert "right at its start" not in result.text
    with pytest.raises(BlockingIOError):
        project.accept()


def test_a_person_is_asked_about_it_as_about_a_command(project, open_kit, ws):
    asked = []

    def decline(request):
        asked.append((request.name, request.effects, request.runs))
        return False

    kit = open_kit(policy=ASK, approve=decline)
    found = kit.call("diagnostics", CALLS["diagnostics"])
    command = f"{ws}/node_modules/.bin/tsc --lsp --stdio"
    assert asked == [("bash", Effect.SHELL, (command,))]
    assert found.error.code == "Unsupported"
    assert "The user was asked and declined" in found.text


@pytest.mark.usefixtures("confined")
def test_a_language_server_has_no_network_whatever_commands_have(project, open_kit):
    found = open_kit(policy=Policy(network=True)).call("diagnostics", CALLS["diagnostics"])
    assert "tsc ended by itself" in found.text or "right at its start" in found.text
    with pytest.raises(BlockingIOError):
        project.accept()


def test_a_program_found_by_path_in_the_workspace_is_one_of_it(project, open_kit, ws, put, monkeypatch):
    put({"bin/tsc": (ws / "node_modules/.bin/tsc").read_text()})
    (ws / "bin/tsc").chmod(0o755)
    (ws / "node_modules/.bin/tsc").unlink()
    monkeypatch.setenv("PATH", f"{ws}/bin:/usr/bin:/bin")
    assert "could not look" in open_kit(mode="thinking").call("diagnostics", CALLS["diagnostics"]).text


def test_a_linter_of_the_workspace_is_asked_about(open_kit, put, ws):
    put({"m.py": "x = 1\n", ".venv/bin/ruff": "#!/bin/sh\necho '[]'\n"})
    (ws / ".venv/bin/ruff").chmod(0o755)
    asked = []

    def decline(request):
        asked.append(request.runs[0])
        return False

    result = open_kit(policy=ASK, approve=decline).call("lint", {"path": "m.py"})
    assert [one.split()[0] for one in asked] == [f"{ws}/.venv/bin/ruff"]
    assert "ruff could not look: " in result.text


@pytest.mark.parametrize("command", ["./server", "sh server", "npx server"])
def test_an_mcp_server_in_the_workspace_is_asked_about(open_kit, put, ws, command):
    where = "node_modules/.bin/server" if command.startswith("npx") else "server"
    put({where: MCP_SERVER})
    (ws / where).chmod(0o755)
    program, *args = command.split()
    mcp = {"h": {"command": program, "args": args, "writes": "workspace"}}
    asked = []

    def decline(request):
        asked.append(request.runs)
        return False

    listing = {"action": "list_tools", "server": "h"}
    found = open_kit(policy=ASK, approve=decline, mcp=mcp).call("mcp", listing)
    assert asked == [(command,)]
    assert "could not look" in found.text
    thinking = open_kit(policy=PRESETS["standard"], mode="thinking", mcp=mcp).call("mcp", listing)
    assert not thinking.ok
    assert not (ws / "started").exists()


def test_an_mcp_server_of_the_operator_is_not_asked_about(open_kit, tmp_path):
    server = tmp_path / "server"
    server.write_text("#!/bin/sh\nexit 1\n")
    server.chmod(0o755)
    kit = open_kit(policy=ASK, approve=lambda request: pytest.fail(str(request)), mcp={"h": {"command": str(server)}})
    assert "could not look" not in kit.call("mcp", {"action": "list_tools", "server": "h"}).text
