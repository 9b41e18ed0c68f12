"""The tasks of many bases: each base is made when its turn comes, and gone when its tasks have ended."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from toolroll.fleet.engines.local import LocalEngine
from toolroll.fleet.pool import freeze
from toolroll.fleet.runner import ResultSink, TaskQueue
from toolroll.fleet.scheduler import BaseTasks, TaskScheduler
from toolroll.fleet.tasks import FleetResult, FleetTask
from toolroll.host.fleet.frozen import FrozenCopy
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.settings import Settings

_BASES = 6


class Made:
    """Bases, each of a folder of its own, and how many of them there were at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._paths: list[str] = []
        self.most = 0

    def make(self, name: str, recipe: list[str], token: CancelToken) -> FrozenCopy:
        source = self._folder / name
        source.mkdir()
        (source / "name.txt").write_text(name)
        frozen = freeze(str(source), None, recipe, "local", token, settings=Settings())
        self._paths.append(frozen.path)
        self.most = max(self.most, len(self.existing))
        return frozen

    @property
    def existing(self) -> list[str]:
        return [path for path in self._paths if os.path.exists(path)]

    def base(self, name: str, count: int, *recipe: str) -> BaseTasks:
        tasks = [FleetTask(f"{name} {number}", check="cat name.txt") for number in range(count)]
        return BaseTasks(tasks, Settings(), partial(self.make, name, list(recipe)))


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Made]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = Made(tmp_path)
    yield found
    assert found.existing == []


def run(bases: list[BaseTasks], on_result: Any, width: int, engine: Any = None) -> list[tuple[str, str]]:
    problems: list[tuple[str, str]] = []

    def tell(problem: str, what: str) -> None:
        problems.append((what, problem))

    how: dict[str, Any] = {"width": width, "retries": 0, "limits": {}, "model": ""}
    TaskScheduler(engine or LocalEngine(), on_result, tell, **how).run(bases)
    return problems


def test_a_base_is_there_as_long_as_its_tasks_need_it(made: Made) -> None:
    """With one lease at once: that of which tasks run, the next one, and one that is just being removed."""
    results: list[FleetResult] = []
    assert run([made.base(f"b{number}", 1) for number in range(_BASES)], results.append, 1) == []
    assert [(one.id, one.output) for one in results] == [(f"b{number} 0", f"b{number}") for number in range(_BASES)]
    assert made.most <= 3


def test_bases_share_the_leases(made: Made) -> None:
    results: list[FleetResult] = []
    assert run([made.base("many", 5), made.base("one", 1), made.base("two", 2)], results.append, 4) == []
    assert sorted((one.status, one.output) for one in results) == [
        *[("passed", "many")] * 5,
        ("passed", "one"),
        *[("passed", "two")] * 2,
    ]


class EnoughError(Exception):
    """Ends a run."""


def test_a_free_lease_is_for_the_next_base(made: Made) -> None:
    """It does not wait for the last task of the base before."""
    seen: list[str] = []

    def take(result: FleetResult) -> None:
        seen.append(result.id)
        if result.id == "next 0":
            raise EnoughError

    slow = made.base("slow", 2)
    slow.tasks[1].check = "sleep 100"
    with pytest.raises(EnoughError):
        run([slow, made.base("next", 1)], take, 2)
    assert seen == ["slow 0", "next 0"]


def test_at_most_so_many_tasks_run_at_once(made: Made) -> None:
    sink = ResultSink([].append, 3)
    queues = [TaskQueue(made.base(name, 4).tasks, 0, sink) for name in ("one", "two")]
    taken = [(queue, queue.take()) for queue in (*queues, queues[0])]
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(queues[1].take)
        queue, order = taken.pop()
        assert order is not None
        assert not waiting.done()
        queue.put_back(order, FleetResult(order.task.id, "passed"))
        assert waiting.result(30) is not None
    assert (sink.free, [one.left for one in queues]) == (0, [3, 4])


def test_a_result_that_cannot_be_written_ends_a_recipe_too(made: Made) -> None:
    def write(result: FleetResult) -> None:
        raise EnoughError

    with pytest.raises(EnoughError):
        run([made.base("first", 1), made.base("second", 1, "sleep 100; touch done")], write, 4)
    assert not [path for path in made.existing if os.path.exists(f"{path}/done")]


def test_the_other_bases_run_where_one_cannot_be_made(made: Made) -> None:
    results: list[FleetResult] = []
    problems = run([made.base("bad", 2, "echo no; exit 3"), made.base("good", 1)], results.append, 2)
    why = "The recipe fails at 'echo no; exit 3' (status 3): no"
    assert problems == [("base", why)]
    assert [(one.id, one.status, one.why) for one in results] == [
        ("bad 0", "error", why),
        ("bad 1", "error", why),
        ("good 0", "passed", ""),
    ]


def test_what_ends_the_run_ends_it_for_all_bases(made: Made) -> None:
    def write(result: FleetResult) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        run([made.base(f"b{number}", 2) for number in range(3)], write, 2)
