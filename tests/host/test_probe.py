"""What the machine has, told as facts; looking changes nothing."""

import os
from pathlib import Path

import pytest

from toolroll.host import probe


def facts(workspace: Path) -> dict[str, probe.Fact]:
    return {fact.name: fact for fact in probe.facts(str(workspace), "1.2.3")}


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def test_looking_makes_nothing(ws: Path, state: Path) -> None:
    found = facts(ws)
    assert found["toolroll"] == probe.Fact("base", "toolroll", True, "1.2.3", required=True)
    assert found["workspace"].detail == f"{ws} (writable)"
    assert (found["state"].present, found["state"].required) == (True, True)
    assert found["state"].detail.endswith("(writable, made when it is needed)")
    assert list(ws.iterdir()) == []
    assert not state.exists()


def test_a_file_is_no_workspace(ws: Path) -> None:
    (ws / "a").touch()
    found = facts(ws / "a")["workspace"]
    assert (found.present, found.required) == (False, True)
    assert "Not a directory" in found.detail


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_state_folder_that_cannot_be_written(ws: Path, state: Path) -> None:
    state.mkdir(mode=0o500)
    found = facts(ws)["state"]
    assert (found.present, found.hint) == (False, "set XDG_STATE_HOME to a folder that can be written")


def test_a_state_folder_below_a_file_cannot_be_written(ws: Path, state: Path) -> None:
    state.touch()
    assert not facts(ws)["state"].present


def test_a_program_on_path_is_found_and_asked(ws: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, says in {"bwrap": "echo bubblewrap 9.8.7", "gopls": "exit 1"}.items():
        (folder / name).write_text(f"#!/bin/sh\n{says}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    found = facts(ws)
    assert (found["bubblewrap"].present, found["bubblewrap"].detail) == (True, f"9.8.7 at {folder / 'bwrap'}")
    assert (found["gopls"].present, found["gopls"].hint) == (True, "")


def test_what_is_missing_is_told_with_how_to_add_it(ws: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = facts(ws)["gopls"]
    assert (found.present, found.hint) == (False, "go install golang.org/x/tools/gopls@latest")


def test_landlock_is_a_version_or_none() -> None:
    assert 0 <= probe.landlock_abi() < 100
