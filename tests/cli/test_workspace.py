"""Folders that cannot be a workspace: each command says so in one sentence, and nothing is half started."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]

COMMANDS = {
    "call": ("call", "ls"),
    "agent": ("agent", "Do.", "--model", "openai:x"),
    "swarm": ("swarm", "Do.", "--model", "openai:x"),
    "journal": ("journal",),
    "undo": ("undo",),
    "mcp": ("mcp", "--http"),
}
FOLDERS = {
    "nowhere": "Cannot open the workspace '{folder}': ",
    "file": "Cannot open the workspace '{folder}': ",
    "home": "The workspace '{folder}' is a home folder or holds one, with all its secrets: name a folder for the work",
    ".": "The workspace '{folder}' is a home folder or holds one, with all its secrets: name a folder for the work",
    "/": "The workspace '/' is the whole machine: name a folder for the work",
    "/proc": "The workspace '/proc' holds no files but the kernel's: name a folder of files",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOME", str(made))
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    return made


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("command", COMMANDS)
def test_it_is_told_in_a_sentence(quick: Run, home: Path, ws: Path, command: str, folder: str) -> None:
    path = os.path.normpath(home.parent / folder)
    before = sorted(home.parent.rglob("*"))
    status, out, err = quick(*COMMANDS[command], "-C", path)
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert FOLDERS[folder].format(folder=path) in err
    assert sorted(home.parent.rglob("*")) == before


@pytest.mark.parametrize("command", ["call", "journal"])
def test_the_switch_names_it(quick: Run, home: Path, command: str) -> None:
    status, _, err = quick(*COMMANDS[command], "-C", str(home), "--wide")
    assert (status, err) == (0, "")


def test_what_only_lists_tools_works_anywhere(quick: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    for words in (("tools",), ("call", "read", "--help"), ("mcp", "--install", "cursor")):
        assert quick(*words)[0] == 0
    assert "read\t" in quick("__complete", "call", "re")[1]


def test_doctor_tells_it_and_what_is_kept(quick: Run, home: Path, ws: Path) -> None:
    assert "  yes  trust " in quick("doctor", "-C", str(ws))[1]
    status, out, _ = quick("doctor", "-C", str(home))
    assert status == 0
    (line,) = (line for line in out.splitlines() if line.startswith("  -    trust "))
    assert "name a folder for the work" in line
