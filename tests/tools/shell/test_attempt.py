"""Try several commands side by side; one lands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from toolroll import Kit

CANDIDATES = ["echo bad > a.txt", "exit 3", "echo good > a.txt", "echo good > a.txt; echo too > b.txt"]
CHECK = "touch left-behind; grep -q good a.txt"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_the_first_that_passes_is_merged(ws: Path, put: Callable[..., None], kit: Kit) -> None:
    put({"a.txt": "old\n"})
    result = kit.call("attempt", {"candidates": CANDIDATES, "check": CHECK})
    assert result.ok, result.text
    assert [one["passed"] for one in result.data["attempts"]] == [False, False, True, True]
    assert result.data["merged"] == 3
    assert "Exit code: 3" in result.text
    assert "Candidate 3 was merged." in result.text
    assert [one.name for one in ws.iterdir()] == ["a.txt"]
    assert (ws / "a.txt").read_text() == "good\n"
    assert kit.undo().ok
    assert (ws / "a.txt").read_text() == "old\n"


def test_without_merge_those_that_pass_are_held(ws: Path, put: Callable[..., None], kit: Kit) -> None:
    put({"a.txt": "old\n"})
    result = kit.call("attempt", {"candidates": CANDIDATES, "check": CHECK, "merge": False})
    assert [one["fork"] for one in result.data["attempts"]] == [None, None, 3, 4]
    assert (ws / "a.txt").read_text() == "old\n"
    assert kit.call("commit", {"fork": 4, "paths": ["a.txt", "b.txt"]}).ok
    assert (ws / "b.txt").read_text() == "too\n"
    none = kit.call("attempt", {"candidates": ["true"], "check": "false"})
    assert none.data["merged"] is None
    assert none.text.endswith("Nothing was merged.")
