"""Merge a fork by its number."""

from __future__ import annotations

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


def test_a_read_only_policy_refuses_it(open_kit: Callable[..., Kit]) -> None:
    with open_kit(policy="read-only").fork() as trial, pytest.raises(ToolError, match="not allowed by the policy"):
        trial.merge()
