"""A worker of the fleet: a process with many leases, told by lines of JSON what to run."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import Any

import msgspec

from toolroll.fleet.lease_orders import LeaseAnswer, LeaseDesk, LeaseOrder
from toolroll.fleet.pool import PoolKit
from toolroll.fleet.tasks import FleetResult, FleetTask, RunAgent, run_task
from toolroll.host.sandbox.choose import choose_sandbox
from toolroll.host.settings import Settings
from toolroll.result import ToolError

# Tasks without an agent at once: they do not wait for a model, but for each other's turn to run Python. With 8 in
# place of 3 a lease takes 10 to 30 % more CPU.
MAX_BUSY = 3

# Objects that are made until cycles are looked for. A call makes some thousands that are needed until its end.
_GARBAGE = 20_000


class FrozenPlace(msgspec.Struct, frozen=True):
    """Where a frozen base is, and the folder of its state."""

    path: str
    state: str
    prepared_at: str = ""
    """Where its recipe ran, if that was on another machine."""


class WorkerOrder(msgspec.Struct, frozen=True):
    """The first line that a worker reads."""

    name: str
    width: int
    base: FrozenPlace
    limits: dict[str, Any] = {}
    settings: Settings = Settings()
    """The user's for the base."""
    model: str = ""
    """For the tasks of agents."""


class TaskOrder(msgspec.Struct, frozen=True, tag="task", tag_field="order"):
    """A further line: a task."""

    task: FleetTask
    attempt: int = 1


class Ready(msgspec.Struct, frozen=True):
    """The first line that a worker writes: how its leases are made, and what is not as it should be."""

    ready: str
    problem: str = ""
    runs_commands: bool = True
    """False where commands cannot be confined, so that none is run."""


def serve(
    lines: Iterable[bytes],
    write: Callable[[bytes], None],
    why_no_overlays: str,
    make_agent: Callable[[str], RunAgent],
) -> None:
    """Run the tasks that come in, each in a lease of its own, and end all with the last line.

    `make_agent` gets the name of a model.
    """
    source, lock = iter(lines), threading.Lock()
    if not (first := next(source, b"")):
        return
    order = msgspec.json.decode(first, type=WorkerOrder)
    run_agent = make_agent(order.model)

    def say(row: Ready | FleetResult | LeaseAnswer) -> None:
        with lock:
            write(msgspec.json.encode(row) + b"\n")

    def run(given: TaskOrder, claim: Callable[[], bool], why_not: str = "") -> None:
        if not claim():
            return
        if why_not:
            result = FleetResult(given.task.id, "error", why_not)
        else:
            result = run_task(given.task, pool.lease, run_agent)
        result.attempt, result.worker = given.attempt, order.name
        say(result)

    with ExitStack() as closing:
        base = order.base
        pool = PoolKit(base.path, base.state, order.limits, prepared_at=base.prepared_at, settings=order.settings)
        closing.callback(pool.close)
        _warm_up(pool)
        desk = LeaseDesk(pool, say)
        closing.callback(desk.close)
        say(_try_lease(pool, why_no_overlays))
        _take_orders(source, order.width, run, desk, closing)


def _warm_up(pool: PoolKit) -> None:
    pool.warm_up()
    gc.collect()
    gc.freeze()  # what all leases share stays, and need not be looked at again
    gc.set_threshold(_GARBAGE)


def _take_orders(
    source: Iterable[bytes], width: int, run: Callable[..., None], desk: LeaseDesk, closing: ExitStack
) -> None:
    """Carry out the orders until there are no more. A task is answered also where no thread can be started."""
    with ThreadPoolExecutor(width) as patient, ThreadPoolExecutor(min(width, MAX_BUSY)) as busy:
        try:
            for line in source:
                given = msgspec.json.decode(line, type=TaskOrder | LeaseOrder)
                if isinstance(given, LeaseOrder):
                    desk.take(given)
                    continue
                claim = partial(threading.Lock().acquire, blocking=False)
                try:
                    (patient if given.task.agent else busy).submit(run, given, claim)
                except RuntimeError as error:  # it is in the queue all the same, and an earlier thread may take it
                    run(given, claim, f"The worker cannot start a thread for this task: {error}.")
        finally:  # all is done, or the other side has gone: what has begun ends with its kit
            for threads in (patient, busy):
                threads.shutdown(wait=False, cancel_futures=True)
            closing.close()


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


def encode_order(order: WorkerOrder | TaskOrder | LeaseOrder) -> bytes:
    """A line for a worker."""
    return msgspec.json.encode(order) + b"\n"


def decode_answer(line: bytes) -> Ready | FleetResult:
    """A line of a worker; msgspec.DecodeError for another one."""
    found = msgspec.json.decode(line, type=dict[str, Any])
    if "ready" in found:
        return msgspec.convert(found, Ready)
    return msgspec.convert(found, FleetResult)
