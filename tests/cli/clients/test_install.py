"""How clients get their entry: each in its own shape, beside what is there, and back out again."""

import json
import os
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.programs import PROGRAMS
from toolroll.cli.clients.install import find_uvx_source
from toolroll.cli.clients.known_clients import CLIENTS, settings_folders

Run = Callable[..., tuple[int, str, str]]
COMMAND = [sys.executable, "-P", "-m", "toolroll", "mcp"]
USER_WIDE = [name for name, client in CLIENTS.items() if client.path]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("PATH", str(home / "bin"))
    for name in ("CODEX_HOME", "GEMINI_CLI_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "argv", ["pytest"])
    return home


def entry(text: str, client: str) -> dict[str, object]:
    """The entry in the client's file."""
    read = tomllib.loads if CLIENTS[client].toml else json.loads
    found = read(text)[CLIENTS[client].key]["toolroll"]
    assert isinstance(found, dict)
    return found


def words_of(found: dict[str, object]) -> list[object]:
    """The words that the client would run."""
    command, args = found["command"], found.get("args", [])
    assert isinstance(args, list)
    return [*(command if isinstance(command, list) else [command]), *args]


@pytest.mark.parametrize("client", CLIENTS)
def test_no_entry_holds_a_folder_that_was_not_named(quick: Run, home: Path, ws: Path, client: str) -> None:
    place = [] if CLIENTS[client].in_session else ["-C", str(ws)]
    words = ("--install", client, "--lazy", "-m", "thinking", "--ask", *place)
    status, out, err = quick("mcp", *words)
    assert status == 0
    command = COMMAND if CLIENTS[client].path else ["toolroll", "mcp"]
    assert words_of(entry(out, client)) == [*command, *place, "--mode", "thinking", "--lazy", "--ask"]
    assert err.startswith(f"For {CLIENTS[client].title}, in {home if CLIENTS[client].path else ws / '.mcp.json'}")
    assert {one.name for one in home.iterdir()} == {"bin"}
    assert quick("mcp", *words, "--print")[1] == out


@pytest.mark.parametrize("client", [name for name, one in CLIENTS.items() if one.project])
def test_a_file_that_others_share_holds_no_path_of_this_machine(quick: Run, home: Path, ws: Path, client: str) -> None:
    status, _, err = quick("mcp", "--install", client, "--project", "--write", "-C", str(ws))
    assert (status, err) == (0, "Others who use this file need `toolroll` on their PATH.\n")
    path = ws / CLIENTS[client].project
    assert words_of(entry(path.read_text(), client)) == ["toolroll", "mcp"]
    assert quick("mcp", "--uninstall", client, "--project", "-C", str(ws))[0] == 0
    assert json.loads(path.read_text()) == {CLIENTS[client].key: {}}


REMOTE = {
    "claude": {"type": "http", "url": "URL", "headers": {"Authorization": "Bearer ${TOOLROLL_MCP_TOKEN}"}},
    "codex": {"url": "URL", "bearer_token_env_var": "TOOLROLL_MCP_TOKEN"},
    "cursor": {"url": "URL", "headers": {"Authorization": "Bearer ${env:TOOLROLL_MCP_TOKEN}"}},
    "gemini": {"httpUrl": "URL", "headers": {"Authorization": "Bearer $TOOLROLL_MCP_TOKEN"}},
    "opencode": {
        "type": "remote",
        "enabled": True,
        "url": "URL",
        "headers": {"Authorization": "Bearer {env:TOOLROLL_MCP_TOKEN}"},
    },
    "vscode": {"type": "http", "url": "URL", "headers": {"Authorization": "Bearer ${env:TOOLROLL_MCP_TOKEN}"}},
    "windsurf": {"serverUrl": "URL", "headers": {"Authorization": "Bearer ${env:TOOLROLL_MCP_TOKEN}"}},
}


@pytest.mark.parametrize("client", REMOTE)
def test_over_http_each_client_reads_the_token_from_the_environment(quick: Run, home: Path, client: str) -> None:
    status, out, err = quick("mcp", "--install", client, "--http", "--port", "8123")
    assert (status, json.loads(json.dumps(entry(out, client)).replace("http://127.0.0.1:8123/mcp", "URL"))) == (
        0,
        REMOTE[client],
    )
    assert "Set TOOLROLL_MCP_TOKEN for both, and start: toolroll mcp --http --port 8123\n" in err
    assert ("default_tools_approval_mode" in err) == (client == "codex")


@pytest.mark.parametrize("client", USER_WIDE)
def test_it_is_written_beside_what_is_there(quick: Run, home: Path, ws: Path, client: str) -> None:
    words = ("mcp", "--install", client, "--write", "-C", str(ws))
    status, out, _ = quick(*words)
    assert status == 0
    path = Path(out.split(" into ")[1].split(".\n")[0])
    assert path.is_relative_to(home)
    assert words_of(entry(path.read_text(), client)) == [*COMMAND, "-C", str(ws)]
    first = path.read_text()
    os.chmod(path, 0o640)
    assert quick(*words, "--name", "other")[0] == 0
    assert quick(*words, "--tools", "all")[0] == 0
    assert words_of(entry(path.read_text(), client)) == [*COMMAND, "-C", str(ws), "--tools", "all"]
    assert first in [backup.read_text() for backup in path.parent.glob("*.backup")]
    assert path.stat().st_mode & 0o777 == 0o640
    assert {one.name for one in path.parent.iterdir() if "draft" in one.name} == set()
    before = path.read_text()
    assert quick(*words, "--tools", "all")[1] == f"{CLIENTS[client].title} has this entry 'toolroll' already.\n"
    assert path.read_text() == before
    assert "Removed 'toolroll' from " in quick("mcp", "--uninstall", client)[1]
    assert "toolroll" not in json.dumps(list(_table(path, client)))
    assert "other" in _table(path, client)
    assert quick("mcp", "--uninstall", client)[1] == f"{CLIENTS[client].title} has no entry 'toolroll'.\n"


def _table(path: Path, client: str) -> dict[str, object]:
    read = tomllib.loads if CLIENTS[client].toml else json.loads
    found = read(path.read_text())[CLIENTS[client].key]
    assert isinstance(found, dict)
    return found


def test_what_the_user_has_added_to_the_entry_stays(quick: Run, home: Path) -> None:
    (home / ".codex").mkdir()
    path = home / ".codex" / "config.toml"
    path.write_text(
        '[mcp_servers.toolroll]\ncommand = "old"\ndefault_tools_approval_mode = "approve"\nenv = { A = "1" }\n'
    )
    assert quick("mcp", "--install", "codex", "--write", "--http", "--port", "8123")[0] == 0
    assert entry(path.read_text(), "codex") == {
        **REMOTE["codex"],
        "url": "http://127.0.0.1:8123/mcp",
        "default_tools_approval_mode": "approve",
        "env": {"A": "1"},
    }


def test_all_are_those_of_this_machine(quick: Run, home: Path) -> None:
    status, _, err = quick("mcp", "--install", "all", "--write")
    assert (status, "None of the clients is set up on this machine." in err) == (2, True)
    for folder in (".cursor", ".gemini", "config/Claude"):
        (home / folder).mkdir(parents=True)
    (home / ".gemini" / "settings.json").write_text("{damaged")
    status, out, err = quick("mcp", "--install", "all", "--write")
    assert (status, out) == (0, f"Wrote 'toolroll' into {home}/.cursor/mcp.json.\n")
    assert "Claude Desktop: Claude Desktop has no folder for a session." in err
    assert f"Gemini CLI: '{home}/.gemini/settings.json' is left as it is: it is not valid JSON" in err
    assert (home / ".gemini" / "settings.json").read_text() == "{damaged"
    assert f"Removed 'toolroll' from {home}/.cursor/mcp.json." in quick("mcp", "--uninstall", "all")[1]


def test_claude_code_gets_it_by_its_own_command(quick: Run, home: Path, ws: Path) -> None:
    log = home / "log"
    program = home / "bin" / "claude"
    program.write_text(
        f"""#!/bin/sh
printf "%s\\n" "$*" >> {log}
case $2 in
    add-json) [ ! -e {home}/added ] && : > {home}/added;;
    remove) [ -e {home}/added ] && /bin/rm {home}/added;;
esac
"""
    )
    program.chmod(0o755)
    added = (0, "Added 'toolroll' to Claude Code, for all projects.\n", "")
    assert quick("mcp", "--install", "claude", "--write") == added
    before, _, value = log.read_text().partition(" {")
    assert before == "mcp add-json --scope user toolroll"
    assert words_of(json.loads("{" + value)) == COMMAND
    assert not (ws / ".mcp.json").exists()
    assert quick("mcp", "--install", "claude", "--write") == added
    assert quick("mcp", "--uninstall", "claude")[1] == "Removed 'toolroll' from Claude Code.\n"
    assert quick("mcp", "--uninstall", "claude")[1] == "Claude Code has no entry 'toolroll'.\n"
    program.write_text("#!/bin/sh\nexit 1\n")
    status, _, err = quick("mcp", "--install", "claude", "--write")
    assert (status, err) == (2, "toolroll: `claude mcp add-json` failed.\n")


def test_a_file_that_cannot_be_understood_is_left_alone(quick: Run, home: Path) -> None:
    (home / ".cursor").mkdir()
    path = home / ".cursor" / "mcp.json"
    for data in (b'{"mcpServers": {}', b"[]", b'{"mcpServers": []}', b'{"a": NaN}', b"\xff\xfe{\0}\0", b"[" * 100_000):
        path.write_bytes(data)
        for words in (("--install", "cursor", "--write"), ("--uninstall", "cursor")):
            status, out, err = quick("mcp", *words)
            assert (status, out, path.read_bytes()) == (2, "", data)
            assert "is left as it is: " in err
            assert err.endswith("Change the entry by hand.\n")
    assert list(path.parent.iterdir()) == [path]


def test_links_to_settings_stay_links(quick: Run, home: Path) -> None:
    (home / ".cursor").mkdir()
    (home / "dotfiles").mkdir()
    real, link = home / "dotfiles" / "mcp.json", home / ".cursor" / "mcp.json"
    real.write_bytes(b'{\r\n"theme": "dark" // mine\r\n}')
    link.symlink_to("../dotfiles/mcp.json")
    assert quick("mcp", "--install", "cursor", "--write")[0] == 0
    assert link.is_symlink()
    after = real.read_bytes()
    assert after.startswith(b'{\r\n"theme": "dark", // mine\r\n')
    assert after.count(b"\r\n") == after.count(b"\n")
    (backup,) = real.parent.glob("*.backup")
    assert backup.read_bytes() == b'{\r\n"theme": "dark" // mine\r\n}'
    assert "toolroll" in json.loads(after.replace(b"// mine", b""))["mcpServers"]


def test_a_settings_file_with_comments_by_its_name_is_the_one(quick: Run, home: Path) -> None:
    path = home / "config" / "opencode" / "opencode.jsonc"
    path.parent.mkdir(parents=True)
    path.write_text("{} // mine\n")
    assert str(path) in quick("mcp", "--install", "opencode", "--write")[1]
    assert path.read_text().endswith("} // mine\n")


@pytest.mark.parametrize("name", ["my.tools", "my tools", 'a"b', "Werkzeug-ü", ""])
def test_a_name_that_toml_must_quote(quick: Run, home: Path, name: str) -> None:
    status, out, err = quick("mcp", "--install", "codex", "--name", name)
    assert (status, list(tomllib.loads(out)["mcp_servers"])) == (0, [name]), err


def test_a_name_that_toml_cannot_hold(quick: Run, home: Path) -> None:
    status, out, err = quick("mcp", "--install", "codex", "--name", "a\x7fb")
    assert (status, out) == (2, "")
    assert err.startswith("toolroll: it is not valid TOML")


UVX = [
    (["/usr/bin/uvx", "toolroll", "mcp"], "toolroll"),
    (["/x/uv", "tool", "uvx", "--from", "toolroll[mcp]", "toolroll", "mcp"], "toolroll[mcp]"),
    (["uv", "tool", "run", "--from=git+https://example.com/toolroll", "toolroll"], "git+https://example.com/toolroll"),
    (["uvx", "toolroll@0.2", "mcp"], "toolroll==0.2"),
    (["uvx", "toolroll[mcp]@latest", "mcp"], "toolroll[mcp]"),
    (["uv", "run", "toolroll", "mcp"], None),
    (["bash"], None),
    ([], None),
]


@pytest.mark.parametrize(("words", "source"), UVX)
def test_what_uvx_was_given(words: list[str], source: str | None) -> None:
    assert find_uvx_source(words) == source


def test_a_folder_that_uvx_was_given_is_written_in_full(ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ws)
    assert find_uvx_source(["uvx", "--from", ".", "toolroll"]) == str(ws)


def test_where_settings_are_kept_on_each_system() -> None:
    assert settings_folders({}, "linux")["config"] == "~/.config"
    assert settings_folders({"XDG_CONFIG_HOME": "/c"}, "linux")["config"] == "/c"
    assert settings_folders({}, "darwin")["config"] == "~/Library/Application Support"
    assert settings_folders({"APPDATA": "C:/A"}, "win32")["config"] == "C:/A"


MOVED = [
    ("codex", "CODEX_HOME", "config.toml"),
    ("gemini", "GEMINI_CLI_HOME", ".gemini/settings.json"),
    ("opencode", "XDG_CONFIG_HOME", "opencode/opencode.json"),
    ("zed", "XDG_CONFIG_HOME", "zed/settings.json"),
]


@pytest.mark.parametrize(("client", "variable", "file"), MOVED)
def test_a_variable_of_the_client_moves_its_settings(
    quick: Run, home: Path, monkeypatch: pytest.MonkeyPatch, client: str, variable: str, file: str
) -> None:
    monkeypatch.setenv(variable, str(home / "moved"))
    path = home / "moved" / file
    assert quick("mcp", "--install", client, "--write")[1] == f"Wrote 'toolroll' into {path}.\n"
    assert words_of(entry(path.read_text(), client)) == COMMAND


@pytest.mark.parametrize("client", USER_WIDE)
def test_comments_stay_and_a_damaged_file_is_refused(quick: Run, home: Path, ws: Path, client: str) -> None:
    place = [] if CLIENTS[client].in_session else ["-C", str(ws)]
    install = ("mcp", "--install", client, "--write", *place)
    path = Path(quick(*install)[1].partition(" into ")[2].rstrip(".\n"))
    mark = "#" if CLIENTS[client].toml else "//"
    whole = "model = 1 # mine\n" if CLIENTS[client].toml else '{ // mine\n  "model": 1, /* too */\n}\n'
    path.write_text(whole)
    assert quick(*install)[0] == 0
    assert f"{mark} mine\n" in path.read_text()
    assert ("/* too */" in path.read_text()) == (mark == "//")
    assert quick("mcp", "--uninstall", client)[0] == 0
    assert f"{mark} mine\n" in path.read_text()
    for damaged in (f"{whole}{{ {mark}", f"{mark} only a comment {{", "\0"):
        path.write_text(damaged)
        before = sorted(path.parent.iterdir())
        status, out, err = quick(*install)
        if status == 0:  # a comment alone is a file without settings
            assert damaged.startswith(mark)
            assert damaged in path.read_text()
            continue
        assert (status, out, path.read_text(), sorted(path.parent.iterdir())) == (2, "", damaged, before)
        assert "is left as it is: " in err


@pytest.fixture(scope="module")
def claude() -> str:
    """The real program, found before the home folder is another one."""
    return PROGRAMS["claude-code"].command()[-1]


def test_the_real_claude_code_gets_it(claude: str, quick: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "bin" / "claude").symlink_to(claude)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "moved"))
    file = home / "moved" / ".claude.json"
    install = ("mcp", "--install", "claude", "--write")
    assert quick(*install)[:2] == (0, "Added 'toolroll' to Claude Code, for all projects.\n")
    settings = json.loads(file.read_text())
    assert words_of(settings["mcpServers"]["toolroll"]) == COMMAND
    settings["mcpServers"]["toolroll"]["env"] = {"MINE": "1"}
    file.write_text(json.dumps(settings))
    assert quick(*install)[1] == "Claude Code has this entry 'toolroll' already.\n"
    assert quick(*install, "--lazy")[0] == 0
    entry = json.loads(file.read_text())["mcpServers"]["toolroll"]
    assert (entry["env"], entry["args"][-1]) == ({"MINE": "1"}, "--lazy")
    assert quick("mcp", "--uninstall", "claude")[1] == "Removed 'toolroll' from Claude Code.\n"
    assert json.loads(file.read_text())["mcpServers"] == {}
