"""One call from its name to its result: find, check, authorise, run, render, bound."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from operator import attrgetter
from time import perf_counter, time
from typing import Any, NamedTuple

import msgspec

from toolroll.dialect import Bundle, Entry, Faults, Profile, Relay, View
from toolroll.host.approval.auto_run import note
from toolroll.host.approval.guard import Guard, StoppedByApproverError, run_changed
from toolroll.host.approval.request import CallChangedError
from toolroll.host.context import Context
from toolroll.host.files.spill import Spill
from toolroll.host.runtime.call import Call
from toolroll.policy.rules import MODES
from toolroll.result import (
    ErrorCode,
    Fault,
    Result,
    Suggestion,
    ToolError,
    as_tool_error,
    check_whole,
    next_step,
)
from toolroll.schema.check import parse_arguments
from toolroll.steps import Authorization, Hooks, Observer, Proceed, Record, Step, build_chain
from toolroll.text import names
from toolroll.text.truncate import bound as cut
from toolroll.tool import WHOLE, describe_fault
from toolroll.wording import DialectWording

Arguments = Mapping[str, Any] | str | None
"""An object, or its JSON text."""
_OBJECT = (dict, Mapping)  # isinstance of dict is faster
CallReader = Callable[[str, Mapping[str, Any], Collection[str]], tuple[str, dict[str, Any]] | None]
"""Gives the known tool and the arguments that a call of an unknown one means."""
_JSON = (dict, list, int, float, bool)
_PLAIN = frozenset({str, int, float, bool, type(None)})
# What an output says of itself beside its data; see `Tool`.
_SAID = ("status", "control", "images", "meta", "note", "more", "whole", "looked", "shorter")
ASIDE = frozenset({*_SAID, "form"})
"""Fields of an output that are no data."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What a call would be, without being made: as the tool takes it, what was read otherwise, what is wrong."""

    ok: bool
    name: str
    arguments: Mapping[str, Any]
    coerced: Sequence[str] = ()
    faults: Sequence[str] = ()


class _Chains(dict[View, Proceed]):
    """The steps around a view's tool, put together for its first call."""

    def __init__(self, around: tuple[Step, ...]) -> None:
        self._around = around

    def __missing__(self, view: View) -> Proceed:
        return self.setdefault(view, build_chain(self._around, view))


def _answer_faults(view: View, proceed: Proceed) -> Proceed:
    """Make whatever the tool itself raises an error of the call, also what is no error of the model."""

    def answered(ctx: Context, arguments: dict[str, Any]) -> Any:
        try:
            return proceed(ctx, arguments)
        except (ToolError, CallChangedError, StoppedByApproverError):
            raise
        except Exception as error:
            if as_tool_error(error) is not None:
                raise
            if isinstance(error, OSError):
                raise ToolError(ErrorCode.IO, f"{type(error).__name__}: {error}.{next_step(error)}") from error
            raise describe_fault(view.tool.name, error) from error

    return answered


def _answer_own_faults(view: View, proceed: Proceed) -> Proceed:
    """The same for somebody's own tool; what goes wrong in ours is raised."""
    return proceed if view.tool.is_ours else _answer_faults(view, proceed)


_FAULTS: dict[Faults, tuple[Step, ...]] = {
    "raise": (),
    "answer own": (_answer_own_faults,),
    "answer": (_answer_faults,),
}

_REPEATS = 3  # of a call that fails in the same way, until that is said


class Executor:
    """Runs calls of one set of entries. Errors become results; the profile says whether those of the system do."""

    def __init__(
        self,
        entries: Mapping[str, Entry],
        profile: Profile,
        guard: Guard,
        spill: Spill,
        steps: tuple[Step, ...],
        observers: tuple[Observer, ...],
        wording: Callable[[str], DialectWording],
        hooks: Hooks,
        read_call: CallReader | None = None,
    ) -> None:
        """`wording`: for each choice of tools that a model is shown; `read_call` understands other names of tools."""
        self.entries = entries
        self._called: dict[str, View | Bundle] = {}  # a look into the entries takes longer
        self._read_call = read_call
        self._keep = profile.keep
        self._wire = profile.wire
        self._notes_repeats = profile.notes_repeats
        self._last: dict[str, tuple[str, Any, str, int]] = {}  # failed call of each session, and how often
        self._spill = spill
        self._observers = observers
        self._wording = wording
        self._hooks = hooks
        self._guard = guard
        self._around: tuple[Step, ...] = (Authorization(guard), *steps, *_FAULTS[profile.faults])
        self._chains = _Chains(self._around)

    def call(self, name: str, given: Arguments, ctx: Context) -> Result:
        """Carry out one call."""
        started = perf_counter()
        call = ctx.call
        call.name = name
        status, code, ended = "raised", None, None
        ends = self._hooks.begin(call, given)
        try:
            result = self._run(given, ctx)
            if self._notes_repeats and result.error is not None:
                self._note_repeat(result, call)
            if result.meta or len(result.text) > call.limits.output_chars:  # else there is nothing to cut
                self._bound(result, call)
            self._hooks.report(call, result)
            result.wire = self._wire(result)
            status, code, ended = result.status, result.error.code if result.error else None, result
        finally:
            seconds = perf_counter() - started
            for end in ends:
                end(ended, seconds)
            self._observe(ctx, given, status, code, seconds, ended)
        result.meta["seconds"] = seconds
        return result

    def _note_repeat(self, result: Result, call: Call) -> None:
        """Say when the same call has failed in the same way several times, with no other failure between."""
        name, arguments, text, times = self._last.get(call.session, ("", None, "", 0))
        same = (name, text) == (call.name, result.text) and arguments == call.arguments
        self._last[call.session] = call.name, call.arguments, result.text, times + 1 if same else 1
        if same and times + 1 >= _REPEATS:
            result.text += f"\n[The same call has failed {times + 1} times in the same way: try another.]"

    def run(self, view: View, arguments: dict[str, Any], ctx: Context) -> Any:
        """Run a view for a program, with all steps around it: its output as it is; ToolError for an error."""
        started = perf_counter()
        ctx.call.name, ctx.call.arguments = view.name, arguments
        status, code = "raised", None
        try:
            if self._hooks.change(ctx.call) is not None:
                raise ToolError(ErrorCode.UNSUPPORTED, f"A hook cannot change the arguments of {view.name!r}.")
            output = build_chain(self._around, view)(ctx, view.bind(arguments))
        except Exception as error:
            if (failed := as_tool_error(error)) is None:
                raise
            status, code = "error", failed.code
            self._hooks.report(ctx.call, Result("error", failed.message, error=Fault(code, failed.message)))
            raise failed from error
        else:
            status = "success"
            self._hooks.report(ctx.call, Result("success", ""))
            return output
        finally:
            self._observe(ctx, arguments, status, code, perf_counter() - started)

    def _observe(
        self,
        ctx: Context,
        given: Arguments,
        status: str,
        code: str | None,
        seconds: float,
        result: Result | None = None,
    ) -> None:
        call, arguments = ctx.call, given if isinstance(given, _OBJECT) else {"": given} if given else {}
        chars = len(result.text) if result is not None else 0
        began = time() - seconds
        record = Record(call.name, arguments, call.session, call.message, status, code, seconds, chars, began)
        for observe in self._observers:
            observe(record)

    def _run(self, given: Arguments, ctx: Context) -> Result:
        """Run the call that the context names; an error that the model can act on is a result too."""
        call = ctx.call
        renamed: list[str] = []
        view: View | None = None
        bound: dict[str, Any] = {}
        coerced: list[str] = []
        files = ctx.files
        try:
            entry = self._called.get(call.name)
            if entry is None:
                call.is_relayed = isinstance(self.entries.get(call.name), Relay)
                entry, call.name, given, renamed = self._find(call.name, given)
            if not isinstance(given, dict):
                given = parse_arguments(given, renamed)
            call.arguments, coerced = entry.checker.check(given, call.name)
            coerced = renamed + coerced
            if (changed := self._hooks.change(call)) is not None:
                call.arguments, _ = entry.checker.check(changed, call.name)
            view = entry if isinstance(entry, View) else entry.pick(call.arguments)
            bound = view.bind(call.arguments)
            is_bounded = not WHOLE.keys().isdisjoint(bound)
            bound = {**view.tool.unbounded(), **bound} if call.is_whole else bound
            if view.may_stand_for_another(bound) and (meant := self._read_command(view, bound, ctx)):
                return self._run_meant(meant, coerced, ctx)
            ctx.secrets.notice_paths(map(ctx.files.key, view.tool.paths_in(bound)))
            result = render(self._chains[view](ctx, bound), view, lambda: self._wording(call.tools))
            looked = view.tool.looked(bound) if view.data is None and isinstance(result.data, dict) else None
            if looked is not None:
                result.data.setdefault("looked", looked.data)
            ctx.secrets.notice_result(view.effects)
            result = check_whole(result, self._spill.keep, is_bounded=is_bounded) if call.is_whole else result
        except CallChangedError as changed:
            ctx.files = files
            return self._run_changed(changed.arguments, ctx)
        except Exception as error:
            failed = as_tool_error(error)
            if failed is None:
                raise
            result = self._failure(failed, view, bound, call)
        if coerced:
            result.meta["coerced"] = coerced
        return _add_notes(result, ctx)

    def _read_command(self, view: View, bound: Mapping[str, Any], ctx: Context) -> Suggestion | None:
        """The call of another tool, if the model has that, which a command is instead of one for a shell."""
        shell = ctx.shell.memory.get(ctx.session, bound.get("session", ""))
        folder = bound.get("cwd") or (os.path.join(ctx.files.root.path, shell.cwd) if shell else "")
        meant = view.command_reader[1](bound, folder) if view.command_reader else None
        return meant and self._wording(ctx.call.tools).suggestion(meant)

    def _run_meant(self, meant: Suggestion, coerced: list[str], ctx: Context) -> Result:
        """Run the call that another one stands for: it is checked and judged as what it is."""
        notes = [*coerced, f"{ctx.call.name} read as {meant.name}"]
        ctx.call.name = meant.name
        result = self._run(dict(meant.arguments), ctx)
        result.meta["coerced"] = [*notes, *result.meta.get("coerced", ())]
        return result

    def _run_changed(self, arguments: Mapping[str, Any], ctx: Context) -> Result:
        """Run the call as the user has changed it: it is checked and judged from the start."""
        found = self.check(ctx.call.name, arguments)
        result = run_changed(found.arguments, self._run, dict(arguments), ctx)
        shown = msgspec.json.encode(arguments, enc_hook=repr).decode()
        result.text = f"{result.text}\n[The user changed the call: {ctx.call.name} {shown}]"
        return result

    def check(self, name: str, given: Arguments) -> Checked:
        """What the call would be; nothing runs, and no file needs to exist."""
        arguments: Mapping[str, Any] = {}
        notes: list[str] = []
        try:
            arguments = parse_arguments(given, notes)
            entry, found, given, renamed = self._find(name, arguments)
            arguments, coerced = entry.checker.check(parse_arguments(given), found)
            if isinstance(entry, Bundle):
                entry.pick(arguments)
        except ToolError as error:
            faults = error.details if isinstance(error.details, list) else [error.message]
            return Checked(False, name, arguments, faults=faults)
        return Checked(True, found, arguments, notes + renamed + coerced)

    def _find(self, name: str, given: Arguments) -> tuple[View | Bundle, str, Arguments, list[str]]:
        """The entry, name and arguments that a call stands for, relayed or by another name, which is noted."""
        notes: list[str] = []
        relay: Relay | None = None
        entry = self.entries.get(name)
        if isinstance(entry, Relay):
            relay = entry
            name, given = relay.read_call(parse_arguments(given, notes))
            entry = self.entries.get(name)
        if entry is None and self._read_call is not None:
            given = parse_arguments(given, notes)
            meant = self._read_call(name, given, self.entries)
            if meant is not None:
                notes.append(f"{name} read as {meant[0]}")
                name, given = meant
                entry = self.entries[name]
        if entry is None or isinstance(entry, Relay):
            raise self._unknown(name)
        if relay is not None:
            relay.check(entry)
        self._called[name] = entry
        return entry, name, given, notes

    def _names(self) -> Iterable[str]:
        """The tools that may be called in this mode; their effects are looked at only where that leaves some out."""
        effects = MODES[self._guard.mode] & ~self._guard.policy.deny
        if effects == MODES["code"]:
            return self.entries
        return [name for name, entry in self.entries.items() if entry.within(effects) is not None]

    def _unknown(self, name: str) -> ToolError:
        import difflib

        there = [one for one in self._names() if one != name]  # the name itself is one that cannot be relayed to
        near = difflib.get_close_matches(str(name).lower(), there, n=3, cutoff=0.6)
        names = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"There are: {', '.join(there)}."
        return ToolError(ErrorCode.NOT_FOUND, f"Tool not found: there is no tool {name!r}. {names}")

    def _failure(self, error: ToolError, view: View | None, bound: Mapping[str, Any], call: Call) -> Result:
        """The result of a call that failed, and what gives it shorter where it holds an output."""
        result = self._describe(error, view, bound, call)
        if (shorter := error.shorter) is not None:
            result.meta["shorter"] = len(result.text), lambda over: self._describe(shorter(over), view, bound, call)
        return result

    def _describe(self, error: ToolError, view: View | None, bound: Mapping[str, Any], call: Call) -> Result:
        message, wording = error.message, self._wording(call.tools)
        if view is None:  # before there is a view, all was said in the words of the dialect
            others = (one if one.name == call.name else wording.suggestion(one) for one in error.suggest)
            return Result(
                "error", message, error=Fault(error.code, message, error.details, tuple(filter(None, others)))
            )
        message = wording.message(message, view)
        meant = [_with_paths(one, view, bound) for one in error.suggest]
        own = None if call.is_relayed else view  # called by its own name, it is suggested by that
        suggest = tuple(shown for one in meant if (shown := wording.suggestion(one, own)) is not None)
        first, _, advice = message.partition("\n")
        if view is None or first not in view.errors:
            return Result("error", message, error=Fault(error.code, message, error.details, suggest))
        said = view.errors[first].format_map(bound)
        fault = Fault(error.code, said, error.details, suggest)
        return Result("error", f"{said}\n{advice}", error=fault, meta={"advice": advice})

    def _bound(self, result: Result, call: Call) -> None:
        """Cut the text to the limit; the whole text is spilled to a file that the result names."""
        most_chars = call.limits.output_chars
        whole = result.meta.pop("whole", None)
        shorter = result.meta.pop("shorter", None)
        if shorter is not None and len(result.text) > most_chars:
            data = result.data
            _shorten(result, most_chars, *shorter)
            result.data = data if call.is_whole else result.data
            return
        if whole is None and len(result.text) <= most_chars:
            return
        shown = cut(result.text, most_chars, self._keep if result.ok else "middle")
        handle = self._spill.keep(whole if whole is not None else result.text)
        result.meta |= {"spill": handle, "truncated": True}
        note = self._wording(call.tools).message(f"[Cut. The whole text is kept: `read` or `grep` {handle!r}.]", None)
        result.text = f"{shown.text}\n{note}"
        return


def _shorten(result: Result, most_chars: int, framed: int, render_less: Callable[[int], Result]) -> None:
    """Cut what stands in the frame of a dialect, and nothing of the frame or of what was added behind it."""
    less = render_less(len(result.text) - most_chars)
    less.meta.pop("shorter", None)
    result.text = less.text + result.text[framed:]
    result.data, result.error, result.meta = less.data, less.error, result.meta | less.meta


def _add_notes(result: Result, ctx: Context) -> Result:
    if ctx.auto_run:
        result.text = f"{result.text}\n{note(ctx.auto_run)}"
        result.meta["auto_run"] = ctx.auto_run
    if ctx.call.changes or ctx.call.notes:
        _add_changes(result, ctx.call)
    return result


def _add_changes(result: Result, call: Call) -> None:
    """Say what the commands of a call have changed in the workspace."""
    from toolroll.text.files.changes import change_rows, describe_changes

    lines = [one for one in (describe_changes(call.changes), *call.notes) if one]
    result.text = "\n".join([result.text, *lines])
    if call.changes and isinstance(result.data, dict):
        result.data["changes"] = change_rows(call.changes)
        if len(call.changes) > len(result.data["changes"]):
            result.data["changes_total"] = len(call.changes)


def _with_paths(call: Suggestion, view: View, bound: Mapping[str, Any]) -> Suggestion:
    """A suggestion for the tool that was called is about the same files, unless it names others.

    Without a name it is the same call with other values in place of these.
    """
    if not call.name:
        return Suggestion(view.tool.name, {name: _swapped(value, call.arguments) for name, value in bound.items()})
    if call.name != view.tool.name:
        return call
    paths = {name: bound[name] for name in view.tool.paths if name in bound}
    return Suggestion(call.name, {**paths, **call.arguments})


def _swapped(value: Any, others: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        return others.get(value, value)
    return [_swapped(one, others) for one in value] if isinstance(value, (list, tuple)) else value


def render(output: Any, view: View, wording: Callable[[], DialectWording]) -> Result:
    """The result of a successful call in the view's own words and shape."""
    if output is None or isinstance(output, str):
        return Result("success", output or "")
    readable = names.show_names(output)
    text = view.text(readable) if view.text else _text(readable)
    result = Result("success", text, view.data(output) if view.data else _data(output))
    if view.message:
        result.message = view.message.format(readable)
    said = {name: value for name in _asides(output.__class__) if (value := getattr(output, name, None))}
    if said:
        _take(result, said, view, wording())
    return result


def _text(output: Any) -> str:
    if isinstance(output, _JSON):
        return msgspec.json.format(msgspec.json.encode(output), indent=2).decode()
    return str(output)


def _data(output: Any) -> Any:
    taken = _data_fields(output.__class__)
    if taken is None:
        return msgspec.to_builtins(output)
    values = taken.values(output)
    data = dict(zip(taken.names, values))  # noqa: B905 (they are the same fields, and to ask takes as long again)
    return data if _PLAIN.issuperset(map(type, values)) else msgspec.to_builtins(data)


class _Fields(NamedTuple):
    names: tuple[str, ...]
    values: Callable[[Any], tuple[Any, ...]]


@cache
def _data_fields(kind: Any) -> _Fields | None:
    """The fields that are data, and how to get them all at once; None for what is no dataclass."""
    if not is_dataclass(kind):
        return None
    names = tuple(field.name for field in fields(kind) if field.name not in ASIDE)
    if len(names) > 1:
        return _Fields(names, attrgetter(*names))
    return _Fields(names, lambda output: tuple(getattr(output, name) for name in names))


@cache
def _asides(kind: Any) -> tuple[str, ...]:
    """What outputs of this kind may say of themselves: to look for what is never there takes long."""
    return tuple(name for name in _SAID if kind.__dictoffset__ or hasattr(kind, name))


def _take(result: Result, said: Mapping[str, Any], view: View, wording: DialectWording) -> None:
    """Give the result what its output says of itself."""
    result.status = said.get("status", result.status)
    result.control = said.get("control")
    result.images = said.get("images", ())
    result.meta |= said.get("meta", {})
    looked = said.get("looked")
    if looked is not None and isinstance(result.data, dict):
        result.data["looked"] = looked.data
    if note := "\n".join(filter(None, [said.get("note"), looked and looked.note])):
        note = wording.message(note, view)
        result.text = f"{result.text}\n{note}"
        result.message = result.message and f"{result.message} {note}"
    if more := said.get("more"):
        _add_more(result, more, wording)
    if whole := said.get("whole"):
        result.meta["whole"] = whole()
    if shorter := said.get("shorter"):
        result.meta["shorter"] = len(result.text), lambda over: render(shorter(over), view, lambda: wording)


def _add_more(result: Result, more: Suggestion, wording: DialectWording) -> None:
    """Name the call that shows what was left out, if the model can make it."""
    if (shown := wording.suggestion(more)) is not None:
        result.meta["next"] = {"name": shown.name, "arguments": shown.arguments}
        arguments = msgspec.json.encode(shown.arguments).decode()
        result.text += f"\n[More: {shown.name} {arguments}]"
