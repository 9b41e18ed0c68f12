"""Forks as the console shows them, side by side with their last commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from toolroll import Kit
from toolroll.control.views import show


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_each_fork_has_its_changes_and_its_last_command(kit: Kit, put: Callable[..., None]) -> None:
    put({"a.txt": "one\n", "gone.txt": "x\n"})
    assert show(kit, "forks", {}) == {"forks": [], "more": False}
    held = kit.call("bash", {"command": "echo two > a.txt; rm gone.txt; echo said; exit 3", "hold": True})
    assert held.data["exit_code"] == 3
    with kit.fork("copy") as trial:
        idle = kit.fork("copy")
        trial.write_bytes("new.bin", b"\0")
        trial.exec(["ls", "new.bin"])
        third, second, first = show(kit, "forks", {})["forks"]
        assert (third["name"], third["changed"], third["check"]) == (str(idle.number), 0, None)
        assert not idle.is_open
        assert second["check"] == {"command": "ls new.bin", "status": 0, "output": "new.bin"}
        assert [(one["path"], one["binary"]) for one in second["files"]] == [("new.bin", True)]
        idle.drop()
    assert (first["held"], first["changed"], first["check"]["status"], first["check"]["output"]) == (
        True,
        2,
        3,
        "said",
    )
    assert [(one["path"], one["kind"], one["diff"]) for one in first["files"]] == [
        ("a.txt", "modified", "@@ -1,1 +1,1 @@\n-one\n+two"),
        ("gone.txt", "deleted", "@@ -1,1 +1,0 @@\n-x"),
    ]
    assert len(show(kit, "forks", {})["forks"]) == 1


def test_the_check_of_an_attempt(kit: Kit) -> None:
    tried = kit.call("attempt", {"candidates": ["echo 1 > a"], "check": "grep -c 1 a", "merge": False})
    assert tried.ok, tried.text
    (fork,) = show(kit, "forks", {})["forks"]
    assert fork["check"] == {"command": "grep -c 1 a", "status": 0, "output": "1"}
