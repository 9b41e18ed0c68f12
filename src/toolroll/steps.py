"""What is done around every call: the guard, a time limit, how many run at once, locks, the journal, who watches."""

from __future__ import annotations

import copy
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from typing import Any

import msgspec

from toolroll.dialect import View
from toolroll.host.approval.auto_run import AutoRunCheck
from toolroll.host.approval.guard import Guard
from toolroll.host.context import Context
from toolroll.host.files.journal.journal import Journal
from toolroll.host.knowledge.call_log import Calls
from toolroll.host.runtime.cancellation import POLL_SECONDS, CancelToken
from toolroll.policy.effects import Effect
from toolroll.result import as_tool_error

Proceed = Callable[[Context, dict[str, Any]], Any]
"""Goes on with a call: its context, and the arguments as the tool's own, bound and decoded."""
Step = Callable[[View, Proceed], Proceed]
"""Lays itself around the way to a view's tool, once; where it has nothing to do for a tool, the way stays as it is."""


def chain(steps: Iterable[Step], view: View) -> Proceed:
    """The way to a view's tool through all the steps, the first one outermost."""
    proceed: Proceed = view.tool.run
    for step in reversed(tuple(steps)):
        proceed = step(view, proceed)
    return proceed


class Authorised:
    """Calls that the guard does not let pass end here."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    def __call__(self, view: View, proceed: Proceed) -> Proceed:
        guard, effects, tool = self._guard, view.effects, view.tool
        if guard.always_passes(effects, about_paths=bool(tool.paths)):
            return proceed

        def authorised(ctx: Context, arguments: dict[str, Any]) -> Any:
            # A copy that only this call has: what is asked about and what runs are the same arguments.
            call = ctx.call
            call.arguments = given = copy.deepcopy(dict(call.arguments))
            arguments = view.bind(given)
            action = "" if view.name == call.name else view.name
            guard.authorise(call.name, effects, given, action)
            paths = (ctx.files.key(one) for one in tool.paths_in(arguments))
            guard.authorise_paths(call.name, effects, given, lambda: paths, action)
            return proceed(ctx, arguments)

        return authorised


def outgoing(view: View, proceed: Proceed) -> Proceed:
    """A custom tool that talks to other machines asks after a secret was read; ours look at each request."""
    module = view.tool.module
    if Effect.NETWORK not in view.effects or not module or module.startswith("toolroll.tools."):
        return proceed

    def checked(ctx: Context, arguments: dict[str, Any]) -> Any:
        ctx.taint.check_call(ctx.call, view.effects)
        return proceed(ctx, arguments)

    return checked


def time_limit(_view: View, proceed: Proceed) -> Proceed:
    """Gives the call its deadline, which the host checks wherever it could stay long."""

    def limited(ctx: Context, arguments: dict[str, Any]) -> Any:
        call = ctx.call
        call.token.limit(call.limits.call_seconds)
        return proceed(ctx, arguments)

    return limited


class Concurrency:
    """At most so many calls at once; further ones wait their turn."""

    def __init__(self, most: int) -> None:
        self._places: SimpleQueue[None] = SimpleQueue()  # threading.Semaphore costs several times as much
        for _ in range(most):
            self._places.put(None)

    def __call__(self, _view: View, proceed: Proceed) -> Proceed:
        places = self._places

        def in_turn(ctx: Context, arguments: dict[str, Any]) -> Any:
            try:
                places.get_nowait()
            except Empty:
                self._wait(ctx.call.token)
            try:
                return proceed(ctx, arguments)
            finally:
                places.put(None)

        return in_turn

    def _wait(self, token: CancelToken) -> None:
        while True:
            try:
                return self._places.get(timeout=POLL_SECONDS)
            except Empty:
                token.check()


_CHANGES = Effect.WRITE | Effect.DELETE
_TELLING = Effect.SHELL | Effect.RUN | Effect.NETWORK | Effect.STATE


class Locks:
    """Reads run side by side; writes to one path queue, also behind writes to a folder above it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._given_back = threading.Condition(self._lock)
        self._waiting = 0
        self._read: list[Paths] = []
        self._changed: list[Paths] = []

    def __call__(self, view: View, proceed: Proceed) -> Proceed:
        tool = view.tool
        changes = bool(tool.effects & _CHANGES)
        if not tool.paths and not changes:
            return proceed
        taken, lock = self._changed if changes else self._read, self._lock

        def locked(ctx: Context, arguments: dict[str, Any]) -> Any:
            named = list(map(ctx.files.key, tool.paths_in(arguments)))
            named = named or [()]  # a change that names no path may be of any
            with lock:  # all at once or not at all, so that two calls can never wait for each other
                if changes or self._changed:  # reads alone bar nobody
                    self._wait(named, taken, ctx.call.token)
                taken.append(named)
            try:
                return proceed(ctx, arguments)
            finally:
                with lock:
                    taken.remove(named)  # or another call's that names the same, which is as good
                    if self._waiting:
                        self._given_back.notify_all()

        return locked

    def _wait(self, named: Paths, taken: list[Paths], token: CancelToken) -> None:
        while self._barred(named, taken):
            self._waiting += 1
            self._given_back.wait(POLL_SECONDS)
            self._waiting -= 1
            token.check()

    def _barred(self, named: Paths, taken: list[Paths]) -> bool:
        if any(_reaches(paths, named) for paths in self._changed):
            return True
        return taken is self._changed and any(_reaches(named, paths) for paths in (*self._read, *self._changed))


Paths = Sequence[tuple[str, ...]]


def _reaches(changed: Paths, named: Paths) -> bool:
    """Whether a change of some paths is one of others too: they are the same, or beneath them."""
    return any(one[: len(path)] == path for path in changed for one in named)


class AutoRunAsked:
    """A call that changes a file which other programs run by themselves asks first, or says so in its result."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    def __call__(self, view: View, proceed: Proceed) -> Proceed:
        guard, effects = self._guard, view.effects & _CHANGES
        if not view.tool.effects & _CHANGES:
            return proceed

        def asked(ctx: Context, arguments: dict[str, Any]) -> Any:
            check = AutoRunCheck(guard, ctx.call.name, effects, ctx.call.arguments)
            ctx.files = ctx.files.asking(check)
            output = proceed(ctx, arguments)
            ctx.auto_run = check.written
            return output

        return asked


class Journalled:
    """What a call changes becomes one entry of the journal; what a failed call changed is taken back."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def __call__(self, view: View, proceed: Proceed) -> Proceed:
        tool = view.tool
        if not tool.effects & _CHANGES:
            return proceed

        def journalled(ctx: Context, arguments: dict[str, Any]) -> Any:
            with self._journal.entry(tool.name, ctx.call.session, ctx.call.message) as recorder:
                ctx.files = ctx.files.recording(recorder)
                try:
                    return proceed(ctx, arguments)
                except BaseException:
                    for change in recorder.changes:  # they are about to be taken back: we no longer know these files
                        ctx.files.records.forget(change.path)
                    raise

        return journalled


class Remembered:
    """Calls that do something and are not in the journal are kept, so that they can be searched later."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def __call__(self, view: View, proceed: Proceed) -> Proceed:
        effects = view.tool.effects
        if effects & _CHANGES or not effects & _TELLING:
            return proceed

        def remembered(ctx: Context, arguments: dict[str, Any]) -> Any:
            try:
                output = proceed(ctx, arguments)
            except Exception as error:
                known = as_tool_error(error)
                self._calls.keep(ctx.call, str(known.code) if known else type(error).__name__)
                raise
            self._calls.keep(ctx.call, "success")
            return output

        return remembered


class Record(msgspec.Struct, frozen=True):
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
        self.add: Observer = self._records.append
        """Keep a call."""

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

    def add(self, record: Record) -> None:
        """Count a call."""
        with self._lock:
            one = self._tools.get(record.name)
            if one is None:
                one = self._tools[record.name] = Measured()
            one.calls += 1
            one.seconds += record.seconds
            one.errors += record.status in ("error", "raised")
            if record.code is not None:
                one.codes[record.code] += 1

    def by_tool(self) -> dict[str, Measured]:
        """The counts as they are now; later calls do not change them."""
        with self._lock:
            return {name: replace(one, codes=one.codes.copy()) for name, one in self._tools.items()}
