"""Merge a fork by its number."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from toolroll import Kit, ToolError


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_a_fork_is_merged_whole_or_by_path(ws: Path, put: Callable[..., None], kit: Kit) -> None:
    put({"a.txt": "a\n", "sub/b.txt": "b\n"})
    with kit.fork() as trial:
        trial.call("write", {"path": "a.txt", "content": "A\n"})
        trial.call("write", {"path": "sub/b.txt", "content": "B\n"})
        result = kit.call("commit", {"fork": trial.number, "paths": ["sub"]})
        assert result.text == "Changed 1 file: sub/b.txt (+1 -1)."
        assert result.data["changes"] == [{"path": "sub/b.txt", "kind": "modified", "added": 1, "removed": 1}]
        assert (ws / "a.txt").read_text() == "a\n"
        assert kit.call("commit", {"fork": trial.number}).text == "Changed 1 file: a.txt (+1 -1)."
        assert kit.call("commit", {"fork": trial.number}).text == "Fork 1 has no changes there: nothing was merged."
    assert (ws / "a.txt").read_text() == "A\n"
    assert kit.call("commit", {"fork": 1}).text == "There is no fork 1. Open forks: none."


def test_a_held_command_lands_nothing_until_it_is_committed(ws: Path, put: Callable[..., None], kit: Kit) -> None:
    put({"a.txt": "a\n", "b.txt": "b\n"})
    result = kit.call("bash", {"command": "echo A > a.txt; rm b.txt; echo new > c.txt; pwd", "hold": True})
    assert result.ok
    assert result.meta["fork"] == 1
    assert [row["path"] for row in result.meta["changes"]] == ["a.txt", "b.txt", "c.txt"]
    assert "-a\n+A\n" in result.text
    assert "held as fork 1; the workspace is as it was. Next: " in result.text
    assert sorted(os.listdir(ws)) == ["a.txt", "b.txt"]
    said = kit.call("discard", {"fork": 1, "paths": ["b.txt"]}).text
    assert said == ("Discarded 1 of the changes of fork 1. Still held: Changed 2 files: a.txt (+1 -1), c.txt (new).")
    assert kit.call("commit", {"fork": 1}).text == "Changed 2 files: a.txt (+1 -1), c.txt (new)."
    assert [(ws / name).read_text() for name in ("a.txt", "b.txt", "c.txt")] == ["A\n", "b\n", "new\n"]
    assert kit.undo().ok
    assert sorted(os.listdir(ws)) == ["a.txt", "b.txt"]


def test_a_held_command_that_changes_nothing_or_fails_leaves_no_fork(kit: Kit) -> None:
    assert kit.call("bash", {"command": "echo hi", "hold": True}).text == "hi\nIt changed no file."
    late = kit.call("bash", {"command": "touch x; sleep 9", "hold": True, "timeout": 0.2})
    assert late.error is not None
    assert late.error.code == "TimeoutError"
    assert "nothing of what it changed is held" in late.text
    assert "It changed no file" not in late.text
    job = kit.call("bash", {"command": "sleep 30", "hold": True, "background": True})
    assert job.text == "A job cannot be held. Leave out `hold`, or `background` and `tty`."
    assert kit.call("discard", {"fork": 1}).text == "There is no fork 1. Open forks: none."


def test_a_read_only_policy_refuses_it(open_kit: Callable[..., Kit]) -> None:
    with open_kit(policy="read-only").fork() as trial, pytest.raises(ToolError, match="not allowed by the policy"):
        trial.merge()
