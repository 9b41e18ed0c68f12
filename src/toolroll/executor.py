"""One call from its name to its result: find, check, authorise, run, render, bound."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any

from toolroll import formats
from toolroll.dialect import Bundle, Entry, Profile, Relay, View
from toolroll.host.approval.auto_run import note
from toolroll.host.approval.guard import Guard
from toolroll.host.context import Context
from toolroll.host.files.spill import Spill
from toolroll.render import Speech, render
from toolroll.result import ErrorCode, Fault, Result, Suggestion, ToolError, as_tool_error
from toolroll.steps import Authorised, Observer, Proceed, Record, Step, chain
from toolroll.text.truncate import bound as cut

Arguments = Mapping[str, Any] | str | None
"""An object, or its JSON text."""
_OBJECT = (dict, Mapping)  # the first is quicker to tell


class Executor:
    """Runs calls of one set of entries. Errors the model can act on become results; all others are raised."""

    def __init__(
        self,
        entries: Mapping[str, Entry],
        profile: Profile,
        guard: Guard,
        spill: Spill,
        steps: tuple[Step, ...],
        observers: tuple[Observer, ...],
    ) -> None:
        self.entries = entries
        self._keep = profile.keep
        self._wire = profile.wire
        self._spill = spill
        self._steps: tuple[Step, ...] = (Authorised(guard), *steps)
        self._observers = observers
        self._speech = Speech(entries)
        self._ways: dict[View, Proceed] = {}

    def call(self, name: str, given: Arguments, ctx: Context) -> Result:
        """Carry out one call."""
        started = perf_counter()
        ctx.name = name
        status, code = "raised", None
        try:
            result = self._performed(given, ctx)
            if result.meta or len(result.text) > ctx.limits.output_chars:  # else there is nothing to cut
                self._bound(result, ctx)
            result.wire = self._wire(result)
            status, code = result.status, result.error.code if result.error else None
        finally:
            seconds = perf_counter() - started
            arguments = given if isinstance(given, _OBJECT) else {"": given}
            record = Record(ctx.name, arguments, ctx.session, ctx.message, status, code, seconds)
            for observe in self._observers:
                observe(record)
        result.meta["seconds"] = seconds
        return result

    def _performed(self, given: Arguments, ctx: Context) -> Result:
        """The call that the context names, as it ended, also in an error that the model can act on."""
        view: View | None = None
        bound: dict[str, Any] = {}
        coerced: list[str] = []
        try:
            entry = self.entries.get(ctx.name)
            if entry is None or isinstance(entry, Relay):
                entry, given = self._meant(entry, given, ctx)
            if not isinstance(given, dict):
                given = formats.arguments(given)
            ctx.arguments, coerced = entry.checker.check(given)
            view = entry if isinstance(entry, View) else entry.pick(ctx.arguments)
            bound = view.bind(ctx.arguments)
            way = self._ways.get(view) or self._lay(view)
            result = render(way(ctx, bound), view, self._speech)
            ctx.taint.notice_result(view.effects, view.tool.paths_in(bound), ctx.arguments, result.text)
        except Exception as error:
            failed = as_tool_error(error)
            if failed is None:
                raise
            result = self._failure(failed, view, bound)
        if coerced:
            result.meta["coerced"] = coerced
        if ctx.auto_run:
            result.text = f"{result.text}\n{note(ctx.auto_run)}"
            result.meta["auto_run"] = ctx.auto_run
        return result

    def _meant(self, relay: Relay | None, given: Arguments, ctx: Context) -> tuple[View | Bundle, Arguments]:
        """What a call that stands for another one is, which the context then names."""
        if relay is None:
            raise self._unknown(ctx.name)
        name, given = relay.opened(formats.arguments(given))
        entry = self.entries.get(name)
        if entry is None or isinstance(entry, Relay):
            raise self._unknown(name)
        ctx.name = name
        return entry, given

    def _lay(self, view: View) -> Proceed:
        """The steps around the view's tool; done when it is first called."""
        way = self._ways[view] = chain(self._steps, view)
        return way

    def _unknown(self, name: str) -> ToolError:
        import difflib

        there = [one for one in self.entries if one != name]  # the name itself is one that cannot be relayed to
        near = difflib.get_close_matches(str(name).lower(), there, n=3, cutoff=0.6)
        names = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"There are: {', '.join(there)}."
        return ToolError(ErrorCode.NOT_FOUND, f"Tool not found: there is no tool {name!r}. {names}")

    def _failure(self, error: ToolError, view: View | None, bound: Mapping[str, Any]) -> Result:
        message = error.message  # before there is a view, all was said in the words of the dialect
        if view is not None:
            message = self._speech.message(message, view)
        shown = (self._speech.suggestion(_with_paths(call, view, bound)) for call in error.suggest)
        suggest = tuple(call for call in shown if call is not None)
        fault = Fault(error.code, message, error.details, suggest)
        return Result("error", message, error=fault)

    def _bound(self, result: Result, ctx: Context) -> None:
        """Hold the text to the limit; what is cut is kept and named, so that it can be read on."""
        whole = result.meta.pop("whole", None)
        if whole is None and len(result.text) <= ctx.limits.output_chars:
            return
        shown = cut(result.text, ctx.limits.output_chars, self._keep)
        handle = self._spill.keep(whole if whole is not None else result.text)
        result.meta |= {"spill": handle, "truncated": True}
        note = self._speech.message(f"[Cut. The whole text is kept: `read` or `grep` {handle!r}.]", None)
        result.text = f"{shown.text}\n{note}"


def _with_paths(call: Suggestion, view: View | None, bound: Mapping[str, Any]) -> Suggestion:
    """A suggestion for the tool that was called is about the same files, unless it names others."""
    if view is None or call.name != view.tool.name:
        return call
    paths = {name: bound[name] for name in view.tool.paths if name in bound}
    return Suggestion(call.name, {**paths, **call.arguments})
