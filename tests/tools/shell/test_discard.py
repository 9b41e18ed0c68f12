"""Drop what a held command changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolroll import Kit


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_a_held_command_can_be_discarded(ws: Path, kit: Kit) -> None:
    kit.call("bash", {"command": "echo x > a.txt", "hold": True})
    assert kit.call("discard", {"fork": 1, "paths": ["a.txt"]}).text == "Fork 1 was discarded."
    assert list(ws.iterdir()) == []
    assert kit.call("discard", {"fork": 1}).text == "There is no fork 1. Open forks: none."
