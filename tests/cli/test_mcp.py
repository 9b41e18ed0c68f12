"""`toolroll mcp` on the command line: what it refuses, and how clients are told of it."""

import json
import os
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from toolroll.cli.clients.install import CLIENTS, _config
from toolroll.cli.clients.settings_file import merge_json, merge_toml

Run = Callable[..., tuple[int, str, str]]
COMMAND = [sys.executable, "-P", "-m", "toolroll", "mcp"]

WRONG = [
    (("-C", "nowhere"), "Cannot open the workspace 'nowhere': it is no folder. Name one with -C DIR."),
    (("-C", ""), "The workspace is empty."),
    (("--lazy", "--tools", "read"), "Give --lazy or --tools, not both."),
    (("--tools", "read,wrote"), "There is no tool 'wrote'. There are: "),
    (("--dialect", "pgo"), "There is no dialect 'pgo'. Did you mean 'pigo'?"),
    (("--mode", "yolo"), "There is no mode 'yolo'. There are: code, thinking."),
    (("--http", "--port", "http"), "There is no port 'http'. Name one from 0 (any) to 65535."),
    (("--http", "--port", "65536"), "There is no port '65536'."),
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


def request(number: int, method: str, **params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("--lazy",), ["find_tools", "call_tool", "call_read_tool"]),
        (("--tools", "stat, read"), ["stat", "read"]),
        (("-d", "cdd", "--mode", "thinking"), ["read", "glob", "grep"]),
    ],
)
def test_the_tools_that_were_asked_for(toolroll: Run, words: tuple[str, ...], names: list[str]) -> None:
    status, out, err = toolroll("mcp", *words, stdin=request(1, "tools/list"))
    assert (status, err) == (0, "")
    assert [one["name"] for one in json.loads(out)["result"]["tools"]] == names


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setattr(sys, "argv", ["pytest"])
    return home


def entry(text: str, client: str) -> dict[str, object]:
    """The words that the client would run, in its own shape."""
    read = tomllib.loads if CLIENTS[client].toml else json.loads
    found = read(text)[CLIENTS[client].key]["toolroll"]
    assert isinstance(found, dict)
    return found


def words_of(found: dict[str, object]) -> list[object]:
    command, args = found["command"], found.get("args", [])
    assert isinstance(args, list)
    return [*(command if isinstance(command, list) else [command]), *args]


@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_is_told_how_to_start_it(quick: Run, home: Path, ws: Path, client: str) -> None:
    status, out, err = quick("mcp", "--install", client, "--lazy", "-m", "thinking", "--ask")
    assert status == 0
    place = [] if CLIENTS[client].has_roots else ["-C", str(ws)]
    assert words_of(entry(out, client)) == [*COMMAND, *place, "--mode", "thinking", "--lazy", "--ask"]
    assert err.startswith(f"For {CLIENTS[client].title}, in {'/' if client != 'claude' else ws}")
    assert list(home.iterdir()) == []
    assert quick("mcp", "--install", client, "--print", "--lazy", "-m", "thinking", "--ask")[1] == out


@pytest.mark.parametrize("client", CLIENTS)
def test_it_is_written_beside_what_is_there(quick: Run, home: Path, ws: Path, client: str) -> None:
    status, out, err = quick("mcp", "--install", client, "--write", "-C", str(ws))
    assert (status, err) == (0, "")
    path = Path(out.split(" into ")[1].split(".\n")[0])
    assert path.is_relative_to(ws if client == "claude" else home)
    assert words_of(entry(path.read_text(), client)) == [*COMMAND, "-C", str(ws)]
    first = path.read_text()
    os.chmod(path, 0o640)
    assert quick("mcp", "--install", client, "--write", "-C", str(ws), "--name", "other")[0] == 0
    assert quick("mcp", "--install", client, "--write", "-C", str(ws), "--tools", "all")[0] == 0
    assert words_of(entry(path.read_text(), client)) == [*COMMAND, "-C", str(ws), "--tools", "all"]
    backups = sorted(path.parent.glob("*.backup"))
    assert first in [backup.read_text() for backup in backups]
    assert path.stat().st_mode & 0o777 == 0o640
    assert {one.name for one in path.parent.iterdir() if "draft" in one.name} == set()
    before = path.read_text()
    assert "As it was" not in quick("mcp", "--install", client, "--write", "-C", str(ws), "--tools", "all")[1]
    assert path.read_text() == before


def test_a_file_that_cannot_be_understood_is_left_alone(quick: Run, home: Path) -> None:
    (home / ".cursor").mkdir()
    path = home / ".cursor" / "mcp.json"
    for data in (b'{"mcpServers": {} // mine\n}', b"[]", b'{"mcpServers": []}', b'{"a": 1e999}', b"\xff\xfe{\0}\0"):
        path.write_bytes(data)
        status, out, err = quick("mcp", "--install", "cursor", "--write")
        assert (status, out, path.read_bytes()) == (2, "", data)
        assert "is left as it is: " in err
        assert err.endswith("Add the entry by hand.\n")
    assert list(path.parent.iterdir()) == [path]


def test_links_to_settings_stay_links(quick: Run, home: Path) -> None:
    (home / ".cursor").mkdir()
    (home / "dotfiles").mkdir()
    real, link = home / "dotfiles" / "mcp.json", home / ".cursor" / "mcp.json"
    real.write_bytes(b'{\r\n"theme": "dark"}')
    link.symlink_to("../dotfiles/mcp.json")
    assert quick("mcp", "--install", "cursor", "--write")[0] == 0
    assert link.is_symlink()
    assert json.loads(real.read_text())["theme"] == "dark"
    assert real.read_bytes().count(b"\r\n") == real.read_bytes().count(b"\n")
    (backup,) = real.parent.glob("*.backup")
    assert backup.read_bytes() == b'{\r\n"theme": "dark"}'
    assert "toolroll" in json.loads(real.read_text())["mcpServers"]


VALUE = {"command": "x", "args": ["a"]}


def test_json_keeps_everything_else_and_its_manner() -> None:
    before = '{\n\t"z": 1,\n\t"mcpServers": {\n\t\t"other": {"command": "y"}\n\t},\n\t"ü": "é"\n}\n'
    after = merge_json(before, "mcpServers", "toolroll", VALUE)
    assert json.loads(after) == {"z": 1, "mcpServers": {"other": {"command": "y"}, "toolroll": VALUE}, "ü": "é"}
    assert list(json.loads(after)) == ["z", "mcpServers", "ü"]
    assert '\n\t"z": 1,' in after
    assert "ü" in after
    assert merge_json(after, "mcpServers", "toolroll", VALUE) == after


TOML = """\
# mine
model = "o1"   # stays

[mcp_servers.toolroll]
command = "old"

[mcp_servers.toolroll.env]
A = "1"

[mcp_servers.other]   # too
command = "y"
"""


def test_toml_keeps_every_other_line() -> None:
    after = merge_toml(TOML, "mcp_servers", "toolroll", VALUE)
    assert after == (
        '# mine\nmodel = "o1"   # stays\n\n[mcp_servers.other]   # too\ncommand = "y"\n\n'
        '[mcp_servers.toolroll]\ncommand = "x"\nargs = ["a"]\n'
    )
    assert merge_toml("", "mcp_servers", "toolroll", VALUE).startswith("[mcp_servers.toolroll]\n")


@pytest.mark.parametrize("name", ["my.tools", "my tools", 'a"b', "Werkzeug-ü", ""])
def test_a_name_that_toml_must_quote_is_added_once(quick: Run, home: Path, name: str) -> None:
    status, out, err = quick("mcp", "--install", "codex", "--name", name)
    assert (status, list(tomllib.loads(out)["mcp_servers"])) == (0, [name]), err
    after = merge_toml(TOML, "mcp_servers", name, VALUE)
    assert tomllib.loads(after)["mcp_servers"][name] == VALUE
    assert "other" in tomllib.loads(after)["mcp_servers"]


def test_a_name_that_toml_cannot_hold_is_told(quick: Run, home: Path) -> None:
    status, out, err = quick("mcp", "--install", "codex", "--name", "a\x7fb")
    assert (status, out) == (2, "")
    assert err.startswith("toolroll: it is not valid TOML")


@pytest.mark.parametrize(
    "before",
    [
        "a = ",
        'mcp_servers = {other = {command = "y"}}\n',
        'mcp_servers.toolroll = {command = "y"}\n',
        "mcp_servers = 1\n",
    ],
)
def test_toml_that_cannot_be_added_to_is_refused(before: str) -> None:
    with pytest.raises(ValueError, match=r"it is not valid TOML|cannot be added to"):
        merge_toml(before, "mcp_servers", "toolroll", VALUE)


def test_where_settings_are_kept_on_each_system() -> None:
    assert _config({}, "linux") == "~/.config"
    assert _config({"XDG_CONFIG_HOME": "/c"}, "linux") == "/c"
    assert _config({}, "darwin") == "~/Library/Application Support"
    assert _config({"APPDATA": "C:/A"}, "win32") == "C:/A"
