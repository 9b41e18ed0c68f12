"""Run the tasks of many bases: each base is prepared when its turn comes, and removed when its tasks have ended."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from toolroll.fleet.engines.engine import FleetEngine, WorkerPool
from toolroll.fleet.runner import CHECK_SECONDS, ResultSink, StartWorker, TaskQueue, run_tasks, wait_for_all
from toolroll.fleet.tasks import FleetResult, FleetTask
from toolroll.fleet.worker import WorkerOrder
from toolroll.host.fleet.frozen import FrozenCopy
from toolroll.host.settings import Settings
from toolroll.result import ToolError

_MAX_BASES = 32  # at once: each has its files, its index and worker processes of its own

OnProblem = Callable[[str, Literal["base", "worker"]], None]
"""Reports what is wrong, and with what."""


@dataclass(frozen=True, slots=True)
class BaseTasks:
    """A base and its tasks."""

    tasks: list[FleetTask]
    settings: Settings
    """The user's for the base."""
    freeze: Callable[[], FrozenCopy]
    """Prepares the base; ToolError, OSError or ValueError if that fails."""


@dataclass(frozen=True, slots=True)
class _BaseRun:
    base: BaseTasks
    frozen: FrozenCopy
    queue: TaskQueue
    share: int
    """How many leases it may have at once."""


class TaskScheduler:
    """Runs the tasks of bases by an engine, in at most `width` leases at once."""

    def __init__(
        self,
        engine: FleetEngine,
        sink: ResultSink,
        *,
        width: int,
        retries: int,
        limits: dict[str, Any],
        model: str,
        on_problem: OnProblem,
    ) -> None:
        self._engine, self._sink, self._width, self._retries = engine, sink, width, retries
        self._order = partial(WorkerOrder, limits=limits, model=model)
        self._on_problem, self._said = on_problem, set[str]()
        self._runs: list[_BaseRun] = []
        self._lock, self._numbers, self._loads = threading.Lock(), set[int](), Counter[str]()

    def run(self, bases: Iterable[BaseTasks]) -> None:
        """Run all tasks; while some run, the next base is prepared. It raises what has ended the run."""
        futures = list[Future[None]]()
        with ThreadPoolExecutor(_MAX_BASES, "toolroll base") as threads:
            try:
                for base in bases:
                    if (frozen := self._freeze(base)) is not None:
                        futures.append(threads.submit(self._run_base, self._wait_for_room(base, frozen)))
                wait_for_all(futures, self._sink)
            except BaseException as error:
                self._sink.fail(error)
                raise
        self._sink.check()

    def _freeze(self, base: BaseTasks) -> FrozenCopy | None:
        """Prepare a base, in the thread of the run, so that a signal can interrupt it; None if that fails."""
        try:
            return base.freeze()
        except (ToolError, OSError, ValueError) as error:
            self._on_problem(str(error), "base")
            for task in base.tasks:
                self._sink.report(FleetResult(task.id, "error", str(error)))
            return None

    def _wait_for_room(self, base: BaseTasks, frozen: FrozenCopy) -> _BaseRun:
        """Wait until the tasks of other bases leave room for leases of this one."""
        queue = TaskQueue(base.tasks, self._retries, self._sink)
        made = _BaseRun(base, frozen, queue, min(self._width, len(base.tasks)))
        try:
            with self._sink.changed:  # which says that a task has ended
                while not self._has_room(made.share):
                    self._sink.check()
                    self._sink.changed.wait(CHECK_SECONDS)
                self._runs.append(made)
        except BaseException:
            frozen.close()
            raise
        return made

    def _has_room(self, share: int) -> bool:
        used = sum(min(one.share, one.queue.left) for one in self._runs)
        return used + share <= self._width and len(self._runs) < _MAX_BASES

    def _run_base(self, run: _BaseRun) -> None:
        try:
            with (
                closing(run.frozen),
                self._engine.open_pools(run.frozen, self._tell) as pools,
                self._plan_workers(pools, run) as workers,
            ):
                run_tasks(run.queue, workers, self._tell)
        except BaseException as error:  # ends the other bases too
            self._sink.fail(error)
        finally:
            with self._sink.changed:
                self._runs.remove(run)
                self._sink.changed.notify_all()

    @contextmanager
    def _plan_workers(
        self, pools: Sequence[WorkerPool], run: _BaseRun
    ) -> Iterator[list[tuple[WorkerOrder, StartWorker]]]:
        """Workers and their shares of the leases: at most one a core of each node, where there are fewest first."""
        with self._lock:
            free = sorted(pools, key=lambda pool: self._loads[pool.name])
            turns = range(max((pool.cores for pool in pools), default=0))
            places = [pool for turn in turns for pool in free if turn < pool.cores][: run.share]
            numbers = [self._take_number() for _ in places]
            self._loads.update(pool.name for pool in places)
        width = -(-run.share // max(1, len(places)))
        try:
            yield [
                (self._order(_name_worker(number, pool), width, pool.place, settings=run.base.settings), pool.start)
                for number, pool in zip(numbers, places, strict=True)
            ]
        finally:
            with self._lock:
                self._numbers.difference_update(numbers)
                self._loads.subtract(pool.name for pool in places)

    def _take_number(self) -> int:
        number = next(one for one in range(1, len(self._numbers) + 2) if one not in self._numbers)
        self._numbers.add(number)
        return number

    def _tell(self, problem: str) -> None:
        """Report a problem of a worker or node, once for all bases."""
        with self._lock:
            is_new = problem not in self._said
            self._said.add(problem)
        if is_new:
            self._on_problem(problem, "worker")


def _name_worker(number: int, pool: WorkerPool) -> str:
    return f"worker {number}" + (f" on {pool.name}" if pool.name else "")
