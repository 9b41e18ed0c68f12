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
from toolroll.fleet.worker import MAX_BUSY, WorkerOrder
from toolroll.host.fleet.frozen import FrozenCopy
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.settings import Settings
from toolroll.result import ToolError
from toolroll.text.lines import counted

_MAX_BASES = 32  # at once: each has its files, its file table and worker processes of its own
_WORKERS_PER_CORE = 2  # of a node, but each base has one at least

OnProblem = Callable[[str, Literal["model", "base", "worker"]], None]
"""Reports what is wrong, and with what."""


@dataclass(frozen=True, slots=True)
class BaseTasks:
    """A base and its tasks."""

    tasks: list[FleetTask]
    settings: Settings
    """The user's for the base."""
    freeze: Callable[[CancelToken], FrozenCopy]
    """Prepares the base; ToolError, OSError or ValueError if that fails."""


@dataclass(frozen=True, slots=True, eq=False)
class _BaseRun:
    base: BaseTasks
    frozen: FrozenCopy
    queue: TaskQueue


class TaskScheduler:
    """Runs the tasks of bases by an engine, in at most `width` leases at once."""

    def __init__(
        self,
        engine: FleetEngine,
        on_result: Callable[[FleetResult], None],
        on_problem: OnProblem,
        *,
        width: int,
        retries: int,
        limits: dict[str, Any],
        model: str,
    ) -> None:
        self._engine, self._width, self._retries = engine, width, retries
        self._sink, self._on_problem = ResultSink(on_result, width), on_problem
        self._order = partial(WorkerOrder, limits=limits, model=model)
        self._runs: list[_BaseRun] = []
        self._lock, self._numbers, self._loads = threading.Lock(), set[int](), Counter[str]()
        self._lacks, self._unrun = set[str](), 0

    def run(self, bases: Iterable[BaseTasks]) -> None:
        """Run all tasks; while some run, the next base is prepared. It raises what has ended the run."""
        futures = list[Future[None]]()
        with ThreadPoolExecutor(_MAX_BASES, "toolroll base") as threads:
            try:
                for base in bases:
                    if (run := self._prepare(base)) is not None:
                        futures.append(threads.submit(self._run_base, run))
                wait_for_all(futures, self._sink)
            except BaseException as error:
                self._sink.fail(error)
                self._engine.stop()
                raise
        self._sink.check()
        if self._unrun:
            self._on_problem(f"No worker is left: {counted(self._unrun, 'task')} did not run.", "worker")

    def _prepare(self, base: BaseTasks) -> _BaseRun | None:
        """Prepare a base, in the thread of the run, so that a signal can interrupt it; None where none can run."""
        queue = TaskQueue(base.tasks, self._retries, self._sink)
        if not self._engine.has_nodes:
            self._unrun += queue.give_up("No node is left. Standard error of the run says why each was left out.")
            return None
        try:
            frozen = base.freeze(self._sink.token)
        except (ToolError, OSError, ValueError) as error:
            self._sink.check()
            self._give_up(queue, error)
            return None
        run = _BaseRun(base, frozen, queue)
        try:
            self._wait_for_room(run)
        except BaseException:
            frozen.close()
            raise
        return run

    def _wait_for_room(self, run: _BaseRun) -> None:
        """Wait until the tasks of the bases before leave room for more."""
        with self._sink.changed:
            while sum(one.queue.left for one in self._runs) >= self._width or len(self._runs) >= _MAX_BASES:
                self._sink.check()
                self._sink.changed.wait(CHECK_SECONDS)
            self._runs.append(run)

    def _run_base(self, run: _BaseRun) -> None:
        try:
            with (
                closing(run.frozen),
                self._engine.open_pools(run.frozen, self._tell, len(run.base.tasks)) as pools,
                self._plan_workers(pools, run) as workers,
            ):
                unrun = run_tasks(run.queue, workers, self._tell, self._tell_once)
                with self._lock:
                    self._unrun += unrun
        except (ToolError, OSError) as error:
            if not self._sink.has_failed:  # else it is what has ended the run
                self._give_up(run.queue, error)
        except BaseException as error:  # ends the other bases too
            self._sink.fail(error)
        finally:
            with self._sink.changed:
                self._runs.remove(run)
                self._sink.changed.notify_all()

    def _give_up(self, queue: TaskQueue, error: Exception) -> None:
        """Report what is wrong with a base as the result of its tasks."""
        try:
            self._on_problem(str(error), "base")
        except Exception as failure:  # it cannot be shown: that ends the run
            self._sink.fail(failure)
        queue.give_up(str(error))

    @contextmanager
    def _plan_workers(
        self, pools: Sequence[WorkerPool], run: _BaseRun
    ) -> Iterator[list[tuple[WorkerOrder, StartWorker]]]:
        """Workers for a base, on all nodes alike: as many as its tasks can use and the nodes have room for."""
        width = min(self._width, len(run.base.tasks))
        most = -(-width // MAX_BUSY)
        with self._lock:
            free = sorted(pools, key=lambda pool: self._loads[pool.name])
            rooms = [max(1, min(pool.cores, _WORKERS_PER_CORE * pool.cores - self._loads[pool.name])) for pool in free]
            turns = range(min(most, max(rooms, default=0)))
            chosen = [pool for turn in turns for pool, room in zip(free, rooms, strict=True) if turn < room][:most]
            numbers = [self._take_number() for _ in chosen]
            self._loads.update(pool.name for pool in chosen)
        share = -(-width // max(1, len(chosen)))
        try:
            yield [
                (self._order(_name_worker(number, pool), share, pool.place, settings=run.base.settings), pool.start)
                for number, pool in zip(numbers, chosen, strict=True)
            ]
        finally:
            with self._lock:
                self._numbers.difference_update(numbers)
                self._loads.subtract(pool.name for pool in chosen)

    def _take_number(self) -> int:
        number = next(one for one in range(1, len(self._numbers) + 2) if one not in self._numbers)
        self._numbers.add(number)
        return number

    def _tell(self, problem: str) -> None:
        self._on_problem(problem, "worker")

    def _tell_once(self, problem: str) -> None:
        """Report what a worker lacks, which it says again for the next base."""
        with self._lock:
            is_new = problem not in self._lacks
            self._lacks.add(problem)
        if is_new:
            self._tell(problem)


def _name_worker(number: int, pool: WorkerPool) -> str:
    return f"worker {number}" + (f" on {pool.name}" if pool.name else "")
