"""Run many tasks with several workers, each at the other end of a pipe. No task is lost when one dies."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

import msgspec

from toolroll.fleet.engines.engine import PipeStream, WorkerPipe
from toolroll.fleet.tasks import FleetResult, FleetTask
from toolroll.fleet.worker import Ready, TaskOrder, WorkerOrder, make_codec
from toolroll.host.rpc.channel import Channel, RefusedError
from toolroll.host.rpc.codecs import PeerGoneError
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.result import ToolError

_MAX_STARTS = 5  # of one worker
_END_SECONDS = 60.0  # for a worker to remove its leases
CHECK_SECONDS = 0.5
"""How often threads that wait look whether a signal came or the run has failed."""
_MAX_DEATHS = 2  # of workers, until a task that they had is not tried again
_NO_WORKER = "No worker is left. Standard error of the run says why each was left out."

StartWorker = Callable[[], WorkerPipe]
"""Starts a worker; ToolError if it cannot be started."""


class ResultSink:
    """Takes the results of a run from all threads, and bounds how many tasks run at once. Thread-safe."""

    def __init__(self, on_result: Callable[[FleetResult], None], width: int) -> None:
        """`on_result` is called by one thread at a time; what it raises ends the run."""
        self._on_result = on_result
        self._failure: BaseException | None = None
        self.free = width
        """How many more tasks may run now."""
        self.token = CancelToken()
        """Cancelled when the run has failed."""
        self.changed = threading.Condition()
        """Guards this and all queues of the run, and is notified when a task has ended or the run has failed."""

    def report(self, result: FleetResult) -> None:
        """Give a result on, unless the run has failed."""
        with self.changed:
            if self._failure is None:
                try:
                    self._on_result(result)
                except Exception as error:  # raised by `check`, in the thread of the run
                    self.fail(error)

    def fail(self, error: BaseException) -> None:
        """End the run: no task is given out and no result is reported any more."""
        with self.changed:
            self._failure = self._failure or error
            self.token.cancel()
            self.changed.notify_all()

    @property
    def has_failed(self) -> bool:
        """Whether something has ended the run."""
        return self._failure is not None

    def check(self) -> None:
        """Raise what has ended the run, if anything has."""
        if self._failure is not None:
            raise self._failure


class TaskQueue:
    """Tasks of one base that wait, and those that each worker has. Thread-safe."""

    def __init__(self, tasks: Iterable[FleetTask], retries: int, sink: ResultSink) -> None:
        self._orders, self._retries, self.sink = deque(map(TaskOrder, tasks)), retries, sink
        self._running = 0

    @property
    def left(self) -> int:
        """How many tasks have not ended."""
        return len(self._orders) + self._running

    def take(self) -> TaskOrder | None:
        """The next task, waiting for room, and while others may still come back; None at the end of all or the run."""
        sink = self.sink
        with sink.changed:
            while self.left and not (self._orders and sink.free) and not sink.has_failed:
                sink.changed.wait()
            if not self._orders or sink.has_failed:
                return None
            self._running += 1
            sink.free -= 1
            return self._orders.popleft()

    def put_back(self, order: TaskOrder, result: FleetResult, *, died: bool = False) -> None:
        """Take a result; a task that ended with an error, or with its worker, may be tried again."""
        tries = max(self._retries, _MAX_DEATHS) if died else self._retries
        with self.sink.changed:
            self._end_one()
            if result.status == "error" and order.attempt <= tries:
                self._orders.append(TaskOrder(order.task, order.attempt + 1))
            else:
                self.sink.report(result)

    def return_unsent(self, order: TaskOrder) -> None:
        """Let another worker have a task that no worker has got."""
        with self.sink.changed:
            self._end_one()
            self._orders.appendleft(order)

    def _end_one(self) -> None:
        self._running -= 1
        self.sink.free += 1
        self.sink.changed.notify_all()

    def give_up(self, why: str) -> int:
        """Report the tasks that wait as errors; how many there are."""
        with self.sink.changed:
            left = list(self._orders)
            self._orders.clear()
            for order in left:
                self.sink.report(FleetResult(order.task.id, "error", why, attempt=order.attempt))
        return len(left)


def run_tasks(
    queue: TaskQueue,
    workers: Sequence[tuple[WorkerOrder, StartWorker]],
    on_problem: Callable[[str], None],
    on_lack: Callable[[str], None],
) -> int:
    """Run the tasks of one base, and report every result once; how many could not run, for no worker was left.

    `on_problem` gets how workers end before their time, and `on_lack` what they say at their start that they lack. When
    this returns, the workers have ended. It raises what has ended the run.
    """
    sink = queue.sink
    links = [WorkerLink(order, start, queue, on_problem, on_lack) for order, start in workers]
    with ThreadPoolExecutor(max(1, len(links)), "toolroll worker") as threads:
        futures = [threads.submit(link.run) for link in links]
        try:
            wait_for_all(futures, sink)
        except BaseException as error:
            sink.fail(error)
            for link in links:
                link.stop()
            raise
    left = queue.give_up(_NO_WORKER)
    sink.check()
    return left


def wait_for_all(futures: Iterable[Future[None]], sink: ResultSink) -> None:
    """Wait until all have ended; what one of them raises, or has ended the run, is raised at once."""
    for future in futures:
        while not future.done():
            sink.check()
            with suppress(TimeoutError):
                future.result(CHECK_SECONDS)  # so that a signal can interrupt
        future.result()


class WorkerLink:
    """One worker: started again when it dies, as long as it had started at all."""

    def __init__(
        self,
        order: WorkerOrder,
        start: StartWorker,
        queue: TaskQueue,
        on_problem: Callable[[str], None],
        on_lack: Callable[[str], None],
    ) -> None:
        self._order, self._start, self._queue = order, start, queue
        self._on_problem, self._on_lack = on_problem, on_lack
        self._pipe: WorkerPipe | None = None
        self._is_ready = self._is_stopped = False

    def run(self) -> None:
        """Have it run tasks until there are none."""
        for _ in range(_MAX_STARTS):
            self._is_ready = False
            if self._queue.sink.has_failed:
                return
            try:
                self._pipe = pipe = self._start()
            except ToolError as error:
                self._on_problem(f"{self._order.name} is left out: {error}")
                return
            channel = Channel(PipeStream(pipe), make_codec())
            done = self._feed(channel)
            if done:
                pipe.finish()
            channel.close(wait=_END_SECONDS)
            if done or self._is_stopped or self._queue.sink.has_failed:
                return
            left = "" if self._is_ready else " before it was ready, and is left out"
            self._on_problem(f"{self._order.name} ended with {channel.gone}{left}.")
            if not self._is_ready:
                return

    def stop(self) -> None:
        """End it now."""
        self._is_stopped = True
        if (pipe := self._pipe) is not None:
            pipe.stop()

    def _feed(self, channel: Channel) -> bool:
        """Have it run tasks; whether all is done. False if the worker ends before."""
        try:
            ready = msgspec.convert(channel.call("begin", self._order), Ready)
        except PeerGoneError:
            return False
        except (RefusedError, msgspec.ValidationError) as error:
            self._on_problem(f"{self._order.name} is left out: {error}")
            return True
        self._is_ready = True
        if ready.problem:
            how = "" if ready.runs_commands else " is left out"
            self._on_lack(f"{self._order.name}{how}: {ready.problem}")
        if ready.runs_commands:
            with ThreadPoolExecutor(self._order.width, "toolroll task") as threads:
                for done in [threads.submit(self._run_tasks, channel) for _ in range(self._order.width)]:
                    done.result()
        return channel.gone is None

    def _run_tasks(self, channel: Channel) -> None:
        """Have it run one task after the other, until there are none or it ends."""
        while channel.gone is None and (order := self._queue.take()) is not None:
            name, task = self._order.name, order.task
            try:
                running = channel.request("task", order)
            except PeerGoneError:
                self._queue.return_unsent(order)
                return
            try:
                result, died = msgspec.convert(running.wait(), FleetResult), False
            except (RefusedError, msgspec.ValidationError) as error:
                result, died = FleetResult(task.id, "error", str(error), attempt=order.attempt, worker=name), False
            except PeerGoneError:
                why = f"{name} ended while it ran this task."
                result, died = FleetResult(task.id, "error", why, attempt=order.attempt), True
            self._queue.put_back(order, result, died=died)
