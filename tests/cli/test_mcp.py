"""`toolroll mcp` on the command line: what it refuses, and which tools it lists."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]

WRONG = [
    (("-C", "nowhere"), "Cannot open the workspace 'nowhere': it is no folder. Name one with -C DIR."),
    (("-C", ""), "The workspace is empty."),
    (("--lazy", "--tools", "read"), "Give --lazy or --tools, not both."),
    (("--tools", "read,wrote"), "There is no tool 'wrote'. There are: "),
    (("--dialect", "pgo"), "There is no dialect 'pgo'. Did you mean 'pigo'?"),
    (("--mode", "yolo"), "There is no mode 'yolo'. There are: code, thinking."),
    (("--http", "--port", "http"), "There is no port 'http'. Name one from 0 (any) to 65535."),
    (("--http", "--port", "65536"), "There is no port '65536'."),
    (("--install", "cursor", "--http"), "A client needs an address that stays. Give a port with --port NUMBER."),
    (
        ("--install", "claude-desktop"),
        "Claude Desktop has no folder for a session. Name the one to work in with -C DIR.",
    ),
    (("--install", "zed", "--http", "--port", "9"), "Zed cannot take the token of --http from the environment."),
    (("--install", "codex", "--project"), "Codex has no settings file in a project. Leave out --project."),
    (("--install", "cursr"), "There is no install 'cursr'. Did you mean 'cursor'? There are: claude, claude-desktop,"),
]


@pytest.mark.parametrize(("words", "message"), WRONG)
def test_a_wrong_command_line_is_told_in_a_sentence(quick: Run, words: tuple[str, ...], message: str) -> None:
    status, out, err = quick("mcp", *words)
    assert (status, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_what_http_refuses_is_told_in_a_sentence(quick: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLROLL_MCP_TOKEN", "short")
    status, out, err = quick("mcp", "--http")
    assert (status, out) == (2, "")
    assert err.startswith("toolroll: A token has at least ")


def allowed_folders(run: Run, *words: str) -> tuple[int, list[str], str]:
    call = request(1, "tools/call", name="list_allowed_directories", arguments={})
    status, out, err = run("mcp", "-d", "mcp-filesystem", *words, stdin=call)
    said = json.loads(out)["result"]["structuredContent"]["content"] if out else ""
    return status, said.splitlines()[1:], err


def test_folders_as_the_reference_filesystem_server_takes_them(toolroll: Run, ws: Path) -> None:
    for name in ("a", "a/inner", "b"):
        (ws / name).mkdir()
    (ws / "file").touch()
    status, folders, err = allowed_folders(toolroll, "gone", "b", "file", "a/inner", "a", "b")
    assert (status, folders) == (0, [str(ws / "b"), str(ws / "a")])
    assert [line.removeprefix("toolroll mcp: ") for line in err.splitlines()] == [
        "Warning: Cannot access directory gone, skipping: No such file or directory.",
        "Warning: file is not a directory, skipping.",
        "Secure MCP Filesystem Server running on stdio",
    ]


def test_folders_of_which_none_can_be_opened(toolroll: Run) -> None:
    status, out, err = toolroll("mcp", "gone")
    assert (status, out, len(err.splitlines())) == (1, "", 2)
    assert "Error: None of the specified directories are accessible." in err


def test_an_entry_for_a_client_names_all_folders(quick: Run, ws: Path) -> None:
    for name in ("a", "b"):
        (ws / name).mkdir()
    out = quick("mcp", "--install", "cursor", "a", "b")[1]
    (entry,) = json.loads(out[out.index("{") :])["mcpServers"].values()
    assert entry["args"][-4:] == ["-C", str(ws / "a"), "--root", str(ws / "b")]


def request(number: int, method: str, **params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("--lazy", "--code-mode"), ["python", "find_tools", "call_tool", "call_read_tool"]),
        (("--tools", "stat, read"), ["stat", "read"]),
        (("-d", "cdd", "--mode", "thinking"), ["read", "glob", "grep"]),
    ],
)
def test_the_tools_that_were_asked_for(toolroll: Run, words: tuple[str, ...], names: list[str]) -> None:
    status, out, err = toolroll("mcp", *words, stdin=request(1, "tools/list"))
    assert (status, err) == (0, "")
    assert [one["name"] for one in json.loads(out)["result"]["tools"]] == names


def test_tools_by_name_are_checked_once_and_listed_at_once_afterwards(toolroll: Run, env: dict[str, str]) -> None:
    words, asked = ("mcp", "--tools", "stat, read"), request(1, "tools/list")
    first, second = (toolroll(*words, stdin=asked) for _ in range(2))
    assert first == second
    (kept,) = Path(env["XDG_STATE_HOME"], "toolroll", "listed").iterdir()
    kept.write_text('{"": [{"name": "as kept"}], "all": [], "core": []}')
    assert "as kept" in toolroll(*words, stdin=asked)[1]


def test_a_dialect_in_the_settings_that_there_is_not_is_told_to_the_client(toolroll: Run, tmp_path: Path) -> None:
    (tmp_path / "toolroll").mkdir()
    (tmp_path / "toolroll" / "toolroll.toml").write_text('dialect = "pgo"\n')
    asked = request(1, "tools/list") + request(2, "ping")
    status, out, _ = toolroll("mcp", stdin=asked, XDG_CONFIG_HOME=str(tmp_path))
    answers = {one["id"]: one for one in map(json.loads, out.splitlines())}
    assert (status, answers[2]["result"]) == (0, {})
    assert answers[1]["error"]["message"].startswith("There is no dialect 'pgo'. There are: ")


@pytest.mark.parametrize(
    ("can", "said"),
    [
        ({"elicitation": {}}, "This client asks its user before changes and commands."),
        ({}, "This client cannot ask its user. Answer in another terminal: toolroll approve -C {ws} --watch"),
        (
            {"roots": {}},
            "This client cannot ask its user. Answer in another terminal, in its folder: toolroll approve --watch",
        ),
    ],
    ids=str,
)
def test_a_server_that_asks_says_at_the_start_who_answers(toolroll: Run, ws: Path, can: object, said: str) -> None:
    hello = {"protocolVersion": "2025-11-25", "capabilities": can, "clientInfo": {"name": "x", "version": "1"}}
    status, _, err = toolroll("mcp", "--ask", stdin=request(1, "initialize", **hello))
    assert (status, err) == (0, f"toolroll mcp: {said.format(ws=ws)}\n")
