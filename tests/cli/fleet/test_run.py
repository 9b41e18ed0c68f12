"""`toolroll fleet run`: a task file, its results, and what is wrong said first."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.host.models.chat.served import Served, call
from tests.host.sandbox.refusing import REFUSING
from tests.waiting import until
from toolroll.cli.fleet.run import ResultLog
from toolroll.fleet.report import draw, summarize
from toolroll.fleet.tasks import CallRow, FleetResult
from toolroll.host.requirement import add_extra
from toolroll.host.sandbox.syscalls import machine

Run = Callable[..., tuple[int, str, str]]

MAIN = "import sys; from toolroll.cli import main; sys.exit(main(sys.argv[1:]))"


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed")
def test_an_engine_whose_package_is_missing_says_what_to_install(quick: Run, tmp_path: Path) -> None:
    status, _, err = quick("fleet", "run", str(tmp_path / "tasks.jsonl"), "--engine", "ray://127.0.0.1:6379")
    said = f"toolroll[ray] needs ray>=2.60,<3, but it is not installed. Run: {add_extra('ray')}"
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


def test_each_base_has_the_users_settings_for_it(quick: Run, tmp_path: Path) -> None:
    """The base of the run may be written to, and that of one task may not."""
    for name in ("open", "closed"):
        (tmp_path / name).mkdir()
    config = tmp_path / "config" / "toolroll"
    config.mkdir(parents=True)
    (config / "toolroll.toml").write_text(f'[workspace."{tmp_path / "closed"}"]\nmode = "thinking"\n')
    tasks = tmp_path / "tasks.jsonl"
    write = [["write", {"path": "a.txt", "content": "a"}]]
    lines = [{"id": "open", "calls": write}, {"id": "closed", "calls": write, "base": str(tmp_path / "closed")}]
    tasks.write_text("\n".join(map(json.dumps, lines)))
    places = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    quick("fleet", "run", str(tasks), "-C", str(tmp_path / "open"), "--width", "1", **places)
    rows = map(json.loads, (tmp_path / "tasks.results.jsonl").read_text().splitlines())
    assert {row["id"]: row["status"] for row in rows} == {"open": "passed", "closed": "failed"}


def test_the_progress_is_shown_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    master, slave = os.openpty()
    with os.fdopen(slave, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        with ResultLog(str(tmp_path / "out"), total=3, done=1) as log:
            log.add(FleetResult("one", "passed"))
            log.complain("It ended.", "worker")
            log.add(FleetResult("two", "failed"))
        terminal.flush()
        shown = ""
        while shown.count("\n") < 2:  # it may come in parts
            shown += os.read(master, 10_000).decode()
    os.close(master)
    rate, clear = r"[\d.]+/s", r"\r\x1b\[K"
    problem = rf"{clear}.*worker:.* It ended.\r\n"
    assert re.fullmatch(
        rf"{clear}2/3 tasks, 0 not passed, {rate}{problem}{clear}3/3 tasks, 1 not passed, {rate}\r\n", shown
    )
    assert len((tmp_path / "out").read_text().splitlines()) == 2


@pytest.fixture
def tasks(ws: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with one task."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (ws / "a.txt").write_text("one\n")
    file = tmp_path / "tasks.jsonl"
    file.write_text('{"id": "1", "check": "true"}\n')
    return file


def read_rows(tasks: Path, suffix: str = "") -> list[tuple[str, str]]:
    lines = tasks.with_name(f"tasks.results.jsonl{suffix}").read_text().splitlines()
    return [(row["id"], row["status"]) for row in map(json.loads, lines)]


@pytest.mark.skipif(machine() is None, reason="needs a machine that we know")
def test_where_no_command_can_run_the_run_says_so_and_ends(ws: Path, tasks: Path) -> None:
    words = [sys.executable, "-c", REFUSING + MAIN, "fleet", "run", str(tasks), "-C", str(ws)]
    done = subprocess.run([*words, "--width", "1"], capture_output=True, timeout=60, text=True, check=False)
    first, last = done.stderr.splitlines()
    assert first.startswith("worker: worker 1 is left out: Commands cannot be confined on this machine (")
    assert last == "worker: No worker is left: 1 task did not run."
    assert done.returncode == 1
    assert read_rows(tasks) == [("1", "error")]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts without a namespace of its own")
def test_the_leases_of_root_are_no_mounts_of_this_machine(ws: Path, tasks: Path, tmp_path: Path) -> None:
    tasks.write_text('{"id": "1", "check": "touch begun; sleep 1"}')
    words = [sys.executable, "-m", "toolroll", "fleet", "run", str(tasks), "-C", str(ws)]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as child:
        until(lambda: any("begun" in files for *_, files in os.walk(tmp_path / "cache")))
        here = Path("/proc/self/mountinfo").read_text()
    assert child.returncode == 0
    assert str(tmp_path) not in here


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({}, "No model is set up."),
        ({"TOOLROLL_MODEL": "openai:m"}, "The model 'm' needs OPENAI_API_KEY in the environment."),
    ],
)
def test_without_a_model_the_other_tasks_run(quick: Run, tasks: Path, environment: dict[str, str], said: str) -> None:
    with tasks.open("a") as file:
        file.write('{"id": "2", "agent": "Work."}\n{"id": "3", "agent": "Work."}\n')
    status, _, err = quick("fleet", "run", str(tasks), "--width", "1", **environment)
    assert status == 1
    assert err.startswith(f"model: {said}")
    assert err.endswith(" Without it, 2 tasks with an agent cannot run.\n")
    assert err.count("\n") == 1
    assert read_rows(tasks) == [("2", "error"), ("3", "error"), ("1", "passed")]


def test_results_that_cannot_be_written_end_the_run(quick: Run, tasks: Path) -> None:
    status, out, err = quick("fleet", "run", str(tasks), "--width", "1", "--results", "/dev/full")
    said = "The results cannot be written: No space left on device. Those before are kept; --resume runs the rest"
    assert (status, out, err) == (1, "", f"toolroll: {said}: '/dev/full'\n")


def test_earlier_results_are_kept(quick: Run, tasks: Path) -> None:
    results = tasks.with_name("tasks.results.jsonl")
    results.write_text('{"id": "0", "status": "passed"}\n')
    status, _, err = quick("fleet", "run", str(tasks), "--width", "none")
    assert (status, read_rows(tasks)) == (2, [("0", "passed")])
    status, _, err = quick("fleet", "run", str(tasks), "--width", "1")
    old = f"{results}.old"
    said = f"The earlier results are now in {old!r}. To keep them and run the rest, use --resume."
    assert (status, err) == (0, f"results: {said}\n")
    assert (read_rows(tasks), read_rows(tasks, ".old")) == ([("1", "passed")], [("0", "passed")])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"id": "0", "status": "passed"}\n{"id": "1", "sta', [("0", "passed"), ("1", "passed")]),
        ('{"id": "1", "sta', [("1", "passed")]),
        ('{"id": "0", "status": "passed"}', [("0", "passed"), ("1", "passed")]),
    ],
)
def test_a_line_that_was_cut_off_takes_no_result_with_it(
    quick: Run, tasks: Path, before: str, after: list[tuple[str, str]]
) -> None:
    tasks.with_name("tasks.results.jsonl").write_text(before)
    assert quick("fleet", "run", str(tasks), "--width", "1", "--resume")[0] == 0
    assert read_rows(tasks) == after


def test_the_rate_counts_the_calls_of_this_run_only() -> None:
    rows = [FleetResult(str(number), "passed", calls=[CallRow("read", True, 1.0)] * 10) for number in range(3)]
    assert summarize(rows, 2.0, 2).startswith("3 tasks: 3 passed, 0 failed, 0 error, in 2.0 s, 5 calls/s.\n")
    assert ", 5 calls/s.</text>" in draw(rows, 2.0, 2)
    assert summarize(rows[:2], 2.0, 2).startswith("2 tasks: 2 passed, 0 failed, 0 error, in 2.0 s.\n")
