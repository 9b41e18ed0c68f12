"""One call from its name to its result: find, check, authorise, run, render, bound."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolroll import formats
from toolroll.dialect import Entry, Profile, Relay, View
from toolroll.host.context import Context
from toolroll.host.guard import Guard
from toolroll.host.spill import Spill
from toolroll.render import Speech, render
from toolroll.result import ErrorCode, Fault, Result, Suggestion, ToolError, as_tool_error
from toolroll.steps import Authorised, Observer, Proceed, Record, Step, chain
from toolroll.text.bound import bound


@dataclass(slots=True)
class _Progress:
    """How far a call got, for what is told of it when it fails."""

    name: str
    """Of the entry, also where another one stands for it."""
    view: View | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """The tool's own."""
    coerced: Sequence[str] = ()


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
        self._entries = entries
        self._profile = profile
        self._spill = spill
        self._steps: tuple[Step, ...] = (Authorised(guard), *steps)
        self._observers = observers
        self._speech = Speech(entries)
        self._ways: dict[View, Proceed] = {}

    def knows(self, name: str) -> bool:
        """Whether there is an entry of this name."""
        return name in self._entries

    def call(self, name: str, given: Mapping[str, Any] | str | None, ctx: Context) -> Result:
        """Carry out one call."""
        started = time.perf_counter()
        so_far = _Progress(name)
        status, code = "raised", None
        try:
            try:
                result = self._perform(given, ctx, so_far)
            except Exception as error:
                failed = as_tool_error(error)
                if failed is None:
                    raise
                result = self._failure(failed, so_far)
            if so_far.coerced:
                result.meta["coerced"] = list(so_far.coerced)
            self._bound(result, ctx)
            result.wire = self._profile.wire(result)
            status, code = result.status, result.error.code if result.error else None
        finally:
            seconds = time.perf_counter() - started
            arguments = given if isinstance(given, (dict, Mapping)) else {"": given}
            record = Record(so_far.name, arguments, ctx.session, ctx.message, status, code, seconds)
            for observe in self._observers:
                observe(record)
        result.meta["seconds"] = seconds
        return result

    def _perform(self, given: Mapping[str, Any] | str | None, ctx: Context, so_far: _Progress) -> Result:
        name = so_far.name
        entry = self._entries.get(name)
        if isinstance(entry, Relay):
            name, given = entry.opened(formats.arguments(given))
            entry = self._entries.get(name)
        if entry is None or isinstance(entry, Relay):
            raise self._unknown(name)
        so_far.name = name
        arguments, so_far.coerced = entry.checker.check(formats.arguments(given))
        view = so_far.view = entry.pick(arguments)
        so_far.arguments = bound = view.bind(arguments)
        ctx.name, ctx.arguments = name, arguments
        way = self._ways.get(view) or self._lay(view)
        return render(way(ctx, bound), view, self._speech)

    def _lay(self, view: View) -> Proceed:
        """The steps around the view's tool; done when it is first called."""
        way = self._ways[view] = chain(self._steps, view)
        return way

    def _unknown(self, name: str) -> ToolError:
        import difflib

        there = [one for one in self._entries if one != name]  # the name itself is one that cannot be relayed to
        near = difflib.get_close_matches(str(name).lower(), there, n=3, cutoff=0.6)
        names = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"There are: {', '.join(there)}."
        return ToolError(ErrorCode.NOT_FOUND, f"Tool not found: there is no tool {name!r}. {names}")

    def _failure(self, error: ToolError, so_far: _Progress) -> Result:
        message = self._speech.message(error.message, so_far.view)
        shown = (self._speech.suggestion(_with_paths(call, so_far)) for call in error.suggest)
        suggest = tuple(call for call in shown if call is not None)
        fault = Fault(error.code, message, error.details, suggest)
        return Result("error", message, error=fault)

    def _bound(self, result: Result, ctx: Context) -> None:
        """Hold the text to the limit; what is cut is kept and named, so that it can be read on."""
        whole = result.meta.pop("whole", None)
        if whole is None and len(result.text) <= ctx.limits.output_chars:
            return
        shown = bound(result.text, ctx.limits.output_chars, self._profile.keep)
        handle = self._spill.keep(whole if whole is not None else result.text)
        result.meta |= {"spill": handle, "truncated": True}
        note = self._speech.message(f"[Cut. The whole text is kept: `read` or `grep` {handle!r}.]", None)
        result.text = f"{shown.text}\n{note}"


def _with_paths(call: Suggestion, so_far: _Progress) -> Suggestion:
    """A suggestion for the tool that was called is about the same files, unless it names others."""
    view = so_far.view
    if view is None or call.name != view.tool.name:
        return call
    paths = {name: so_far.arguments[name] for name in view.tool.paths if name in so_far.arguments}
    return Suggestion(call.name, {**paths, **call.arguments})
