from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from toolroll.host.files.spill import Spill
from toolroll.host.runtime.launcher import AccessRules
from toolroll.host.runtime.state import State
from toolroll.host.sandbox.tiers import Unconfined
from toolroll.host.shell.jobs import Jobs
from toolroll.host.shell.supervisor import EndReason, ResourceLimits, RunningCommand, start
from toolroll.result import ErrorCode, ToolError

pytestmark = pytest.mark.timeout(60)

Run = Callable[[str], RunningCommand]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    folder = os.open(tmp_path, os.O_RDONLY)
    state = State(str(tmp_path / "state"))
    started: list[RunningCommand] = []

    def begin(script: str, **options) -> RunningCommand:
        started.append(
            start(
                ["sh", "-c", script],
                sandbox=Unconfined(),
                access=AccessRules(write=(str(tmp_path),)),
                cwd=folder,
                env={"PATH": os.environ["PATH"]},
                bounds=ResourceLimits(),
                spill=Spill(state),
                **options,
            )
        )
        return started[-1]

    yield begin
    for running in started:
        if running._failure is None:
            running.kill()
    os.close(folder)
    state.close()


def test_jobs_are_numbered_and_found(run: Run) -> None:
    jobs = Jobs(50)
    with pytest.raises(ToolError, match=r"There is no job 1\. There are none\.") as caught:
        jobs.get(1)
    assert caught.value.code is ErrorCode.NOT_FOUND
    before = time.time()
    first, second = (jobs.add(run("sleep 60"), title=title) for title in ("one", "two"))
    assert [(job.id, job.title) for job in jobs.all()] == [(1, "one"), (2, "two")]
    assert before <= first.started <= second.started <= time.time()
    assert jobs.get(2) is second
    with pytest.raises(ToolError, match=r"There is no job 3\. There are: 1, 2\."):
        jobs.get(3)
    late = run("sleep 60")
    late.wait(0.2)
    later = jobs.add(late, title="moved")  # it counts from its start, not from when it became a job
    assert 0.2 <= later.seconds <= time.time() - later.started + 0.01
    jobs.close()
    assert later.seconds == late.ended.seconds


def test_those_that_have_ended_make_room(run: Run) -> None:
    jobs = Jobs(most=3)
    jobs.add(run("sleep 60"), title="runs")
    for number in range(5):
        job = jobs.add(run(f"exit {number}"), title=str(number))
        job.running.wait()
    assert [(job.id, job.title) for job in jobs.all()] == [(1, "runs"), (5, "3"), (6, "4")]
    assert jobs.get(6).running.ended.status == 4
    jobs.close()


def test_there_is_an_end_to_it(run: Run) -> None:
    jobs = Jobs(most=2)
    for _ in range(2):
        jobs.check()
        jobs.add(run("sleep 60"), title="runs")
    one_more = run("sleep 60")
    for refused in (jobs.check, lambda: jobs.add(one_more, title="one more")):
        with pytest.raises(ToolError, match=r"2 jobs run already, which is the most\. Kill one") as caught:
            refused()
        assert caught.value.code is ErrorCode.CONFLICT
    assert one_more.wait(0) is None
    jobs.get(1).running.kill()
    assert jobs.add(one_more, title="one more").id == 3
    assert [job.id for job in jobs.all()] == [2, 3]
    jobs.close()


def test_closing_ends_all(run: Run) -> None:
    jobs = Jobs(50)
    running = [run("trap '' TERM; sleep 60") for _ in range(8)]
    for one in running:
        jobs.add(one, title="runs")
    ended = jobs.add(run("exit 3"), title="ended").running
    ended.wait()
    jobs.close()
    jobs.close()
    assert [one.ended.outcome for one in running] == [EndReason.KILLED] * 8
    assert ended.ended.status == 3
    assert jobs.all() == []
    late = run("sleep 60")
    with pytest.raises(ToolError, match="is closed") as caught:
        jobs.add(late, title="late")
    assert caught.value.code is ErrorCode.CANCELLED


def test_closing_ends_all_even_if_one_fails(run: Run) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    jobs = Jobs(50)
    failing, plain = run("sleep 60", after=fail), run("sleep 60")
    for one in (failing, plain):
        jobs.add(one, title="runs")
    with pytest.raises(ZeroDivisionError):
        jobs.close()
    assert plain.ended.outcome is EndReason.KILLED


def test_many_threads(run: Run) -> None:
    jobs = Jobs(most=10)
    running = [run("exit 0") for _ in range(40)]
    for one in running:
        one.wait()
    threads = [threading.Thread(target=jobs.add, args=(one,), kwargs={"title": "x"}) for one in running]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [job.id for job in jobs.all()] == list(range(31, 41))
