"""Try several commands side by side; one lands."""

from __future__ import annotations

import subprocess
import time
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
    outcomes = [one["outcome"] for one in result.data["attempts"]]
    assert outcomes[:3] == ["check failed", "command failed", "passed"]
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
    assert none.text.endswith("Nothing was merged: no candidate passed.")


def test_when_one_has_passed_those_after_it_are_stopped(ws: Path, kit: Kit) -> None:
    began = time.monotonic()
    result = kit.call("attempt", {"candidates": ["rm -rf /", "echo x > a", "sleep 60"], "check": "test -e a"})
    assert time.monotonic() - began < 30
    assert [one["outcome"] for one in result.data["attempts"]] == ["refused", "passed", "stopped"]
    assert "would destroy more than the work at hand" in result.data["attempts"][0]["output"]
    assert (ws / "a").read_text() == "x\n"


def test_one_that_hangs_ends_at_its_time_limit(ws: Path, kit: Kit) -> None:
    result = kit.call("attempt", {"candidates": ["echo x > a; sleep 60", "echo y > a"], "check": "true", "timeout": 1})
    assert "1. command failed after 1." in result.text
    assert "Command timed out" in result.text
    assert (ws / "a").read_text() == "y\n"


def test_commits_of_the_winner_are_merged(ws: Path, kit: Kit) -> None:
    subprocess.run(["git", "init", "-q"], cwd=ws, check=True)
    identity = "git -c user.name=a -c user.email=a@b"
    command = f"echo x > a; git add a; {identity} commit -qm one"
    assert kit.call("attempt", {"candidates": [command], "check": "git log --oneline | grep one"}).ok
    log = subprocess.run(["git", "log", "--format=%s"], cwd=ws, capture_output=True, check=True)
    assert log.stdout == b"one\n"
