"""What is done around every call: locks, a limit on how many run at once, a time limit, and who watches."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from toolroll.dialect import View
from toolroll.host.context import Context
from toolroll.host.journal.journal import Journal
from toolroll.host.token import Token
from toolroll.host.tree import Tree
from toolroll.policy.effects import Effect


@dataclass(slots=True)
class Call:
    """One checked call on its way to its tool."""

    name: str
    view: View
    arguments: dict[str, Any]
    """The tool's own, bound and decoded."""
    ctx: Context


Proceed = Callable[[Call], Any]
Step = Callable[[Call, Proceed], Any]


def chain(steps: tuple[Step, ...], last: Proceed) -> Proceed:
    """One function that runs the steps around the last one, the first step outermost."""
    proceed = last
    for step in reversed(steps):
        proceed = _around(step, proceed)
    return proceed


def _around(step: Step, proceed: Proceed) -> Proceed:
    return lambda call: step(call, proceed)


def time_limit(call: Call, proceed: Proceed) -> Any:
    """Give the call its deadline; the host checks it wherever it could stay long."""
    call.ctx.token.limit(call.ctx.limits.call_seconds)
    return proceed(call)


class Concurrency:
    """At most so many calls at once; further ones wait their turn."""

    def __init__(self, most: int) -> None:
        self._places = threading.BoundedSemaphore(most)

    def __call__(self, call: Call, proceed: Proceed) -> Any:
        while not self._places.acquire(timeout=_TICK):
            call.ctx.token.check()
        try:
            return proceed(call)
        finally:
            self._places.release()


_TICK = 0.1  # seconds; how late a call that waits for its turn notices that it was cancelled
_CHANGES = Effect.WRITE | Effect.DELETE


class Locks:
    """Reads run side by side; writes to one path queue, also behind writes to a folder above it."""

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._shared: Counter[str] = Counter()
        self._alone: set[str] = set()

    def __call__(self, call: Call, proceed: Proceed) -> Any:
        tool = call.view.tool
        alone = bool(tool.effects & _CHANGES)
        if not tool.paths and not alone:
            return proceed(call)
        keys = self._keys(call, alone) or {"": alone}  # a change that names no path may be of any
        with self._held(keys, call.ctx.token):
            return proceed(call)

    def _keys(self, call: Call, alone: bool) -> dict[str, bool]:
        """Each path the call names, held alone if it changes things, and the folders above it, shared."""
        keys: dict[str, bool] = {}
        for path in call.view.tool.paths_in(call.arguments):
            steps = call.ctx.files.key(path)
            for depth in range(len(steps)):
                keys.setdefault("/".join(steps[:depth]), False)
            keys["/".join(steps)] = keys.get("/".join(steps), False) or alone
        return keys

    @contextmanager
    def _held(self, keys: Mapping[str, bool], token: Token) -> Iterator[None]:
        alone = {key for key, wanted in keys.items() if wanted}
        shared = keys.keys() - alone
        # All at once or not at all, so that two calls can never wait for each other.
        with self._lock:
            while not self._lock.wait_for(lambda: self._free(alone, shared), timeout=_TICK):
                token.check()
            self._alone |= alone
            self._shared.update(shared)
        try:
            yield
        finally:
            with self._lock:
                self._alone -= alone
                self._shared.subtract(shared)
                self._shared += Counter()
                self._lock.notify_all()

    def _free(self, alone: set[str], shared: set[str]) -> bool:
        return not (self._alone & shared) and not any(key in self._alone or self._shared[key] for key in alone)


class Journalled:
    """What a call changes becomes one entry of the journal; what a failed call changed is taken back."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def __call__(self, call: Call, proceed: Proceed) -> Any:
        tool, ctx = call.view.tool, call.ctx
        if not tool.effects & _CHANGES:
            return proceed(call)
        with self._journal.entry(tool.name, ctx.session, ctx.message) as recorder:
            ctx.files = ctx.files.recording(recorder)
            ctx.tree = Tree(ctx.files)
            try:
                return proceed(call)
            except BaseException:
                for change in recorder.changes:  # they are about to be taken back, so we no longer know these files
                    ctx.files.records.forget(change.path)
                raise


@dataclass(frozen=True, slots=True)
class Record:
    """What is remembered of one call."""

    name: str
    arguments: Mapping[str, Any]
    session: str
    message: str
    status: str
    """"success", "partial", "error", or "raised" for a system error."""
    code: str | None
    seconds: float


Observer = Callable[[Record], None]


class Audit:
    """The last calls, newest last."""

    def __init__(self, most: int = 1000) -> None:
        self._records: deque[Record] = deque(maxlen=most)

    def __call__(self, record: Record) -> None:
        self._records.append(record)

    def records(self) -> list[Record]:
        return list(self._records)


@dataclass(slots=True)
class Measured:
    """Counts and time of the calls of one tool."""

    calls: int = 0
    errors: int = 0
    seconds: float = 0.0
    codes: Counter[str] = field(default_factory=Counter)


class Metrics:
    """Calls, errors and time by tool."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tools: dict[str, Measured] = {}

    def __call__(self, record: Record) -> None:
        with self._lock:
            one = self._tools.get(record.name)
            if one is None:
                one = self._tools[record.name] = Measured()
            one.calls += 1
            one.seconds += record.seconds
            if record.code is not None:
                one.errors += 1
                one.codes[record.code] += 1

    def by_tool(self) -> dict[str, Measured]:
        with self._lock:
            return dict(self._tools)
