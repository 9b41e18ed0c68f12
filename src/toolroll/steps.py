"""Steps around every call: guard, time limit, concurrency, path locks, journal, call log; audit and metrics."""

from __future__ import annotations

import copy
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

import msgspec

from toolroll.dialect import View
from toolroll.host.approval.auto_run import AutoRunCheck
from toolroll.host.approval.guard import Guard
from toolroll.host.context import Context
from toolroll.host.files.journal.journal import Journal
from toolroll.host.knowledge.call_log import CallLog
from toolroll.host.runtime.call import Call
from toolroll.host.runtime.cancellation import POLL_SECONDS, CancelToken
from toolroll.policy.effects import CHANGES, Effect
from toolroll.policy.limits import Limits
from toolroll.result import ErrorCode, Result, ToolError, as_tool_error
from toolroll.text.names import is_prose
from toolroll.text.tokens import estimate_tokens

if TYPE_CHECKING:
    from toolroll.host.code.verdicts import Verdicts

_CALL_SECONDS = Limits().call_seconds
_AFTER_SECONDS = 60  # of a call, after its command has ended

Proceed = Callable[[Context, dict[str, Any]], Any]
"""Runs the rest of a call: takes its context and the bound arguments."""
Step = Callable[[View, Proceed], Proceed]
"""Wraps the run of a view's tool, once; returns it unchanged where it has nothing to do for that tool."""


def build_chain(steps: Iterable[Step], view: View) -> Proceed:
    """Wrap a view's tool in all steps, the first one outermost."""
    proceed: Proceed = view.tool.run
    for step in reversed(tuple(steps)):
        proceed = step(view, proceed)
    return proceed


class Authorization:
    """Refuses calls that the guard does not allow."""

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
            does = tool.effects_of(arguments, effects)
            guard.authorise(call.name, does, given, action, editable=True)
            paths = (ctx.files.key(one) for one in tool.paths_in(arguments))
            guard.authorise_paths(call.name, does, given, lambda: paths, action)
            return proceed(ctx, arguments)

        return authorised


class WhileOpen:
    """Refuses calls after the kit was closed: they would open engines that are never closed."""

    def __init__(self, closed: threading.Event, start: Callable[[], None]) -> None:
        """`start` is called at the first call, and begins what goes on beside the calls."""
        self._closed, self._starts = closed, [start]

    def __call__(self, _view: View, proceed: Proceed) -> Proceed:
        is_closed, starts = self._closed.is_set, self._starts

        def checked(ctx: Context, arguments: dict[str, Any]) -> Any:
            if is_closed():
                raise ToolError(ErrorCode.CANCELLED, "This Kit is closed. Open another one for more calls.")
            while starts:
                starts.pop()()
            return proceed(ctx, arguments)

        return checked


def ask_before_sending(view: View, proceed: Proceed) -> Proceed:
    """Make a custom tool that uses the network ask after a secret was read; our own tools check each request.

    A program that calls a tool may have read anything by itself, so that its calls ask always.
    """
    module = view.tool.module
    if Effect.NETWORK not in view.effects:
        return proceed
    is_custom = bool(module) and not module.startswith("toolroll.tools.")

    def checked(ctx: Context, arguments: dict[str, Any]) -> Any:
        if ctx.call.is_inner:
            ctx.secrets.check_program(ctx.call)
        if is_custom:
            ctx.secrets.check_call(ctx.call, view.effects)
        return proceed(ctx, arguments)

    return checked


def time_limit(_view: View, proceed: Proceed) -> Proceed:
    """Give the call its deadline, which engines check wherever they could take long.

    A call with a longer `timeout` of its own gets that, unless the operator has shortened calls.
    """

    def limited(ctx: Context, arguments: dict[str, Any]) -> Any:
        call = ctx.call
        seconds = call.limits.call_seconds
        if seconds >= _CALL_SECONDS and (own := arguments.get("timeout") or 0) + _AFTER_SECONDS > seconds:
            seconds = own + _AFTER_SECONDS
        call.token.limit(seconds)
        return proceed(ctx, arguments)

    return limited


class ConcurrencyLimit:
    """Limits how many calls run at once; others wait."""

    def __init__(self, most: int) -> None:
        self._places: SimpleQueue[None] = SimpleQueue()  # threading.Semaphore costs several times as much
        for _ in range(most):
            self._places.put(None)

    def __call__(self, _view: View, proceed: Proceed) -> Proceed:
        places = self._places

        def in_turn(ctx: Context, arguments: dict[str, Any]) -> Any:
            if ctx.call.is_inner:  # the call that waits for it has a place
                return proceed(ctx, arguments)
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


class PathLocks:
    """Locks paths: reads run in parallel; a write excludes others of the same path and of those beneath it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._given_back = threading.Condition(self._lock)
        self._waiting = 0
        self._read: list[Paths] = []
        self._changed: list[Paths] = []

    def __call__(self, view: View, proceed: Proceed) -> Proceed:
        tool = view.tool
        changes = tool.changes_files
        if not tool.paths and not changes:
            return proceed
        taken, lock = self._changed if changes else self._read, self._lock

        def locked(ctx: Context, arguments: dict[str, Any]) -> Any:
            named = list(map(ctx.files.key, tool.paths_in(arguments)))
            named = named or [()]  # a change that names no path may be of any
            with lock:  # all at once or not at all, so that two calls can never wait for each other
                if changes or self._changed:  # reads do not exclude each other
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
    """Whether a change of some paths affects others: the same paths, or paths beneath them."""
    return any(one[: len(path)] == path for path in changed for one in named)


class AutoRunApproval:
    """Asks before a call changes a file that other programs run by themselves, or notes it in the result."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    def __call__(self, view: View, proceed: Proceed) -> Proceed:
        if not view.tool.changes_files:
            return proceed
        guard, effects = self._guard, view.effects & CHANGES

        def asked(ctx: Context, arguments: dict[str, Any]) -> Any:
            check = AutoRunCheck(guard, ctx.call.name, effects, ctx.call.arguments)
            ctx.files = ctx.files.asking(check)
            output = proceed(ctx, arguments)
            ctx.auto_run = check.written
            return output

        return asked


class JournalEntryStep:
    """Records what a call changes as one journal entry; undoes what a failed call changed."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def __call__(self, view: View, proceed: Proceed) -> Proceed:
        tool = view.tool
        if not tool.changes_files:
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


class VerdictStep:
    """Adds a line about what a change of files has caused to the result of the call."""

    def __init__(self, verdicts: Verdicts) -> None:
        self._verdicts = verdicts

    def __call__(self, view: View, proceed: Proceed) -> Proceed:
        if not view.tool.changes_files:
            return proceed

        def judged(ctx: Context, arguments: dict[str, Any]) -> Any:
            output, recorder = proceed(ctx, arguments), ctx.files.recorder
            touches_code = recorder is not None and not all(is_prose(one.path) for one in recorder.changes)
            if touches_code and (said := self._verdicts.judge(ctx.files.changed())):
                ctx.call.notes.append(said)
            return output

        return judged


class CallLogging:
    """Logs calls that have an effect and are not in the journal, for later search."""

    def __init__(self, calls: CallLog) -> None:
        self._calls = calls

    def __call__(self, view: View, proceed: Proceed) -> Proceed:
        if view.tool.changes_files or view.tool.safe:
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


def hold_changes(view: View, proceed: Proceed) -> Proceed:
    """Run a call that starts commands in a fork, where the policy looks at changes before they land."""
    if Effect.SHELL not in view.effects or view.tool.holds:
        return proceed

    looks = view.tool.looks

    def held(ctx: Context, arguments: dict[str, Any]) -> Any:
        if ctx.commands.policy.commit == "auto" or (looks is not None and looks(arguments)):
            return proceed(ctx, arguments)
        return ctx.forks.run(ctx, lambda inner: proceed(inner, dict(arguments)))

    return held


@dataclass(frozen=True, slots=True)
class HookCall:
    """A call as a hook sees it: a copy."""

    name: str
    arguments: Mapping[str, Any]
    session: str
    message: str
    id: str

    @classmethod
    def of(cls, call: Call) -> HookCall:
        return cls(call.name, copy.deepcopy(dict(call.arguments)), call.session, call.message, call.id)


BeforeHook = Callable[[HookCall], Mapping[str, Any] | str | None]
"""Returns None to let the call run, a text to refuse it with that reason, or other arguments, which are checked."""
AfterHook = Callable[[HookCall, Result], str | None]
"""Sees the result; a text that it returns is added to it."""


CallWatcher = Callable[[Call, Any], Callable[[Result | None, float], None]]
"""Sees a call and its arguments as it begins; what it returns gets the result, None if the call raised, and seconds."""


class Hooks:
    """Functions before and after every call of a kit.

    `before`, `after` and `watchers` are added by programs. They also run for the calls of forks, not the reverse.
    """

    def __init__(
        self, before: Iterable[BeforeHook] = (), after: Iterable[AfterHook] = (), base: Hooks | None = None
    ) -> None:
        """`before` and `after` run first, for this kit alone; of a fork, `base` has the hooks of its base."""
        self._first_before, self._first_after = tuple(before), tuple(after)
        self._above: tuple[Hooks, ...] = () if base is None else (*base._above, base)
        self.before: list[BeforeHook] = []
        self.after: list[AfterHook] = []
        self.watchers: list[CallWatcher] = []  # must not raise

    def _line(self) -> tuple[Hooks, ...]:
        """Those of the base's base, of the base, and these."""
        return (*self._above, self)

    def begin(self, call: Call, given: Any) -> list[Callable[[Result | None, float], None]]:
        """Show the call to all watchers: what to call at its end."""
        return [watch(call, given) for one in self._line() for watch in one.watchers]

    def change(self, call: Call) -> Mapping[str, Any] | None:
        """Ask all hooks about a call, each with the arguments of the one before: other arguments, or None.

        ToolError if one of them refuses it.
        """
        changed: Mapping[str, Any] | None = None
        for hook in (*self._first_before, *[hook for one in self._line() for hook in one.before]):
            seen = HookCall.of(call)
            said = hook(seen if changed is None else replace(seen, arguments=copy.deepcopy(dict(changed))))
            if isinstance(said, str):
                raise ToolError(
                    ErrorCode.PERMISSION, f"A hook refused {call.name!r}: {said.strip() or 'no reason given'}"
                )
            changed = changed if said is None else said
        return changed

    def report(self, call: Call, result: Result) -> None:
        """Show the result to all hooks, and add what they say to it, or that one failed: the call was made."""
        hooks = (*self._first_after, *[hook for one in self._line() for hook in one.after])
        said = [_ask_after(hook, call, result) for hook in hooks]
        result.text = "\n".join(filter(None, [result.text, *said])) if any(said) else result.text


def _ask_after(hook: AfterHook, call: Call, result: Result) -> str | None:
    """What a hook says about a result; where it raises, a note, and the traceback in the log of the program."""
    try:
        said = hook(HookCall.of(call), result)
        if said and not isinstance(said, str):
            raise TypeError(f"it returned {type(said).__name__}; return a text or None")
    except Exception as error:
        import logging

        name = getattr(hook, "__qualname__", type(hook).__qualname__)
        logging.getLogger("toolroll").exception("The hook %r failed after a call of %r.", name, call.name)
        return f"[Hook {name!r} failed: {type(error).__name__}: {error}. The result above is valid; tell the user.]"
    return said


class Record(msgspec.Struct, frozen=True):
    """One call in the audit log."""

    name: str
    arguments: Mapping[str, Any]
    session: str
    message: str
    status: str
    """"success", "partial", "error", or "raised" for a system error."""
    code: str | None
    seconds: float
    chars: int = 0
    """Length of the text that the model gets."""
    began: float = 0.0
    """When it was made, in seconds since 1970."""


Observer = Callable[[Record], None]


class AuditLog:
    """The last calls, newest last."""

    def __init__(self, most: int = 1000) -> None:
        self._records: deque[Record] = deque(maxlen=most)
        self.add: Observer = self._records.append
        """Keep a call."""

    def records(self) -> list[Record]:
        return list(self._records)


@dataclass(slots=True)
class ToolMetrics:
    """Counts and time of the calls of one tool."""

    calls: int = 0
    errors: int = 0
    seconds: float = 0.0
    codes: Counter[str] = field(default_factory=Counter)
    chars: int = 0
    """Of the results' texts."""

    @property
    def tokens(self) -> int:
        """About how many tokens the results have cost the model."""
        return estimate_tokens(self.chars)


class Metrics:
    """Calls, errors and time by tool."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tools: dict[str, ToolMetrics] = {}

    def add(self, record: Record) -> None:
        """Count a call."""
        with self._lock:
            one = self._tools.get(record.name)
            if one is None:
                one = self._tools[record.name] = ToolMetrics()
            one.calls += 1
            one.seconds += record.seconds
            one.chars += record.chars
            one.errors += record.status in ("error", "raised")
            if record.code is not None:
                one.codes[record.code] += 1

    def by_tool(self) -> dict[str, ToolMetrics]:
        """The counts as they are now; later calls do not change them."""
        with self._lock:
            return {name: replace(one, codes=one.codes.copy()) for name, one in self._tools.items()}
