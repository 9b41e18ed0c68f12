"""A worker of the fleet: a process with many leases, told over a channel what to run."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from typing import Any

import msgspec

from toolroll.fleet.lease_orders import LeaseOrder, LeaseServer
from toolroll.fleet.pool import PoolKit
from toolroll.fleet.tasks import FleetResult, FleetTask, RunAgent, run_task
from toolroll.host.rpc.channel import ByteStream, Channel, ServedCall
from toolroll.host.rpc.codecs import LineCodec
from toolroll.host.sandbox.choose import choose_sandbox
from toolroll.host.settings import Settings
from toolroll.result import ToolError

# Tasks without an agent at once: they do not wait for a model, but for each other's turn to run Python. With 8 in
# place of 3 a lease takes 10 to 30 % more CPU.
MAX_BUSY = 3

_MOST_THREADS = 512  # calls at once: many tasks wait for a model, or for their turn
_MAX_MESSAGE_BYTES = 385 << 20
"""Room for the largest file that `read_bytes` reads, as base64."""
_NOISE_LINES = 1_000  # that a library prints before or between messages

# Objects that are made until cycles are looked for. A call makes some thousands that are needed until its end.
_GARBAGE = 20_000


def make_codec() -> LineCodec:
    """How both sides of a worker write messages."""
    return LineCodec(_MAX_MESSAGE_BYTES, noise=_NOISE_LINES)


class FrozenPlace(msgspec.Struct, frozen=True):
    """Where a frozen base is, and the folder of its state."""

    path: str
    state: str
    prepared_at: str = ""
    """Where its recipe ran, if that was on another machine."""


class WorkerOrder(msgspec.Struct, frozen=True):
    """What a worker is for."""

    name: str
    width: int
    base: FrozenPlace
    limits: dict[str, Any] = {}
    settings: Settings = Settings()
    """The user's for the base."""
    model: str = ""
    """For the tasks of agents."""


class TaskOrder(msgspec.Struct, frozen=True):
    """A task, and how often it has been tried with this time."""

    task: FleetTask
    attempt: int = 1


class Ready(msgspec.Struct, frozen=True):
    """How the leases of a worker are made, and what is not as it should be."""

    ready: str
    problem: str = ""
    runs_commands: bool = True
    """False where commands cannot be confined, so that none is run."""


class Worker:
    """Carries out what the other side of a channel calls: "begin" once, and then "task" and "lease"."""

    def __init__(self, why_no_overlays: str, make_agent: Callable[[str], RunAgent]) -> None:
        """`make_agent` gets the name of a model."""
        self._why_no_overlays, self._make_agent = why_no_overlays, make_agent
        self._threads = ThreadPoolExecutor(_MOST_THREADS, "toolroll worker")
        self._busy = threading.Semaphore(MAX_BUSY)
        self._closing = ExitStack()

    def serve(self, stream: ByteStream) -> None:
        """Answer until the other side is gone; what has begun ends then."""
        ended = threading.Event()
        Channel(stream, make_codec(), serve=self._serve, run=self._threads.submit, on_end=ended.set)
        try:
            ended.wait()
        finally:  # also by a signal: the process waits at its end for what still runs
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._closing.close()

    def _serve(self, method: str, params: Any, call: ServedCall) -> Any:
        if method == "begin":
            return self._begin(msgspec.convert(params, WorkerOrder))
        if method == "task":
            return self._run_task(msgspec.convert(params, TaskOrder))
        if method == "lease":
            return self._leases.carry_out(msgspec.convert(params, LeaseOrder), call)
        raise KeyError(method)

    def _begin(self, order: WorkerOrder) -> Ready:
        base, self._name = order.base, order.name
        self._run_agent = self._make_agent(order.model)
        pool = PoolKit(base.path, base.state, order.limits, prepared_at=base.prepared_at, settings=order.settings)
        self._closing.callback(pool.close)
        _warm_up(pool)
        self._pool, self._leases = pool, LeaseServer(pool)
        return _try_lease(pool, self._why_no_overlays)

    def _run_task(self, given: TaskOrder) -> FleetResult:
        with nullcontext() if given.task.agent else self._busy:
            result = run_task(given.task, self._pool.lease, self._run_agent)
        result.attempt, result.worker = given.attempt, self._name
        return result


def _warm_up(pool: PoolKit) -> None:
    pool.warm_up()
    gc.collect()
    gc.freeze()  # what all leases share stays, and need not be looked at again
    gc.set_threshold(_GARBAGE)


def _try_lease(pool: PoolKit, why_no_overlays: str) -> Ready:
    kit = pool.lease()
    kind = kit.kind
    kit.close()
    problems = [said] if (said := pool.find_problem()) else []
    if kind != "overlay":
        problems.append(f"leases are made by {kind}: {why_no_overlays or 'overlays do not work here'}")
    runs_commands = True
    try:
        if (tier := choose_sandbox(pool.policy.sandbox).tier) == "landlock" != pool.policy.sandbox:
            problems.append(f"commands are confined by {tier}, for bubblewrap does not work here")
    except ToolError as error:
        runs_commands = False
        problems.append(error.message)
    return Ready(kind, "; ".join(problems), runs_commands)
