"""`toolroll fleet run`: a task file, its results, and what is wrong said first."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.host.models.chat.served import Served, call
from toolroll.cli.fleet.run import ResultLog
from toolroll.fleet.tasks import FleetResult

Run = Callable[..., tuple[int, str, str]]


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed")
def test_an_engine_whose_package_is_missing_says_what_to_install(quick: Run, tmp_path: Path) -> None:
    status, _, err = quick("fleet", "run", str(tmp_path / "tasks.jsonl"), "--engine", "ray://127.0.0.1:6379")
    said = 'toolroll[ray] needs ray>=2.60,<3, but it is not installed. Run: pip install "toolroll[ray]"'
    assert (status, err) == (2, f"toolroll: {said}\n")


def test_a_task_file_runs_and_resumes(quick: Run, ws: Path, tmp_path: Path) -> None:
    (ws / "a.txt").write_text("one\n")
    tasks = tmp_path / "tasks.jsonl"
    edit = ["edit", {"path": "a.txt", "old": "one", "new": "two"}]
    lines: list[Any] = [
        {"id": "good", "setup": ["echo s > s.txt"], "calls": [edit], "check": "grep two a.txt && cat s.txt"},
        {"id": "bad", "calls": [["read", {"path": "missing.txt"}]]},
        {"id": "good", "check": "true"},
        {"id": "nowhere", "base": str(tmp_path / "none"), "check": "true"},
        {"id": "checked", "check": "grep two a.txt"},
        {"id": "agent", "agent": "Write b.txt.", "check": "cat b.txt"},
    ]
    tasks.write_text("\n".join(map(json.dumps, lines)) + "\nno json\n")
    picture = tmp_path / "run.svg"
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    with Served("openai", call("write", path="b.txt", content="hello\n"), call("finish", result="Done.")) as model:
        words = "fleet", "run", str(tasks), "--width", "1", "--picture", str(picture)
        status, out, err = quick(*words, **cache, **model.environment)
    assert status == 1
    assert "Write b.txt." in str(model.bodies[0])
    assert err.splitlines() == [  # and no progress, for this is no terminal
        f"task: {tasks}, line 3: another task has the id 'good'. The other tasks run.",
        f"task: {tasks}, line 7: JSON is malformed: invalid character (byte 4). The other tasks run.",
        f"base: There is no folder {str(tmp_path / 'none')!r} to make a base of.",
    ]
    assert out.startswith("5 tasks: 2 passed, 2 failed, 1 error, in ")
    assert picture.read_text().startswith("<svg")
    rows = {row["id"]: row for row in map(json.loads, (tmp_path / "tasks.results.jsonl").read_text().splitlines())}
    assert {name: row["status"] for name, row in rows.items()} == {
        "good": "passed",
        "bad": "failed",
        "nowhere": "error",
        "checked": "failed",
        "agent": "passed",
    }
    assert rows["agent"]["output"] == "hello\n"
    assert "+hello" in rows["agent"]["patch"]
    assert rows["good"]["output"] == "two\ns\n"
    assert "-one\n+two\n" in rows["good"]["patch"]
    assert (ws / "a.txt").read_text() == "one\n"
    assert [one for one in (tmp_path / "cache").rglob("*") if one.is_file()] == []

    status, out, err = quick("fleet", "run", str(tasks), "--resume", "--width", "1", **cache)
    rows = [json.loads(line) for line in (tmp_path / "tasks.results.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows[5:]] == ["nowhere"]


def test_the_progress_is_shown_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    master, slave = os.openpty()
    with os.fdopen(slave, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        with ResultLog(str(tmp_path / "out"), append=False, total=3, done=1) as log:
            log.add(FleetResult("one", "passed"))
            log.add(FleetResult("two", "failed"))
        terminal.flush()
        shown = ""
        while not shown.endswith("\n"):  # it may come in parts
            shown += os.read(master, 10_000).decode()
    os.close(master)
    rate = r"[\d.]+/s\x1b\[K"
    assert re.fullmatch(rf"\r2/3 tasks, 0 not passed, {rate}\r3/3 tasks, 1 not passed, {rate}\r\n", shown)
    assert len((tmp_path / "out").read_text().splitlines()) == 2
