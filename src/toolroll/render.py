"""From what a tool returned to a result: text for the model, data for programs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from toolroll.dialect import Bundle, Entry, Relay, View
from toolroll.registry import names_in
from toolroll.result import Result, Suggestion
from toolroll.text import names

_JSON = (dict, list, int, float, bool)
_PLAIN = frozenset({str, int, float, bool, type(None)})
_QUOTED = re.compile(r"`(\w+(?:\.\w+)?)`")
_OTHERWISE = (
    re.compile(r"(?:,? or (?:set|give|use|leave out)|;[^.;`]*) `(\w+)`[^.;`\n]*(?=\.)"),
    re.compile(r" or `(\w+)`"),
    re.compile(r"`(\w+)` or (?=`)"),
)
_SENTENCES = re.compile(r"(?<=[.?!]) (?=[A-Z])")
# What an output says of itself beside its data; see `Tool`.
_SAID = ("status", "control", "images", "meta", "note", "more", "whole")
_ASIDE = frozenset({*_SAID, "form"})


def render(output: Any, view: View, speech: DialectWording) -> Result:
    """The result of a successful call in the view's own words and shape."""
    if output is None or isinstance(output, str):
        return Result("success", output or "")
    readable = names.show_names(output)
    text = view.text(readable) if view.text else _text(readable)
    result = Result("success", text, view.data(output) if view.data else _data(output))
    result.message = view.message.format(readable)
    said = {name: value for name in _asides(output.__class__) if (value := getattr(output, name, None))}
    if said:
        _take(result, said, view, speech)
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
    names = tuple(field.name for field in fields(kind) if field.name not in _ASIDE)
    if len(names) > 1:
        return _Fields(names, attrgetter(*names))
    return _Fields(names, lambda output: tuple(getattr(output, name) for name in names))


@cache
def _asides(kind: Any) -> tuple[str, ...]:
    """What outputs of this kind may say of themselves: to look for what is never there takes long."""
    return tuple(name for name in _SAID if kind.__dictoffset__ or hasattr(kind, name))


def _take(result: Result, said: Mapping[str, Any], view: View, speech: DialectWording) -> None:
    """Give the result what its output says of itself."""
    result.status = said.get("status", result.status)
    result.control = said.get("control")
    result.images = said.get("images", ())
    result.meta |= said.get("meta", {})
    if note := said.get("note"):
        said_here = speech.message(note, view)
        result.text = f"{result.text}\n{said_here}"
        result.message = result.message and f"{result.message} {said_here}"
    if more := said.get("more"):
        _add_more(result, more, speech)
    if whole := said.get("whole"):
        result.meta["whole"] = whole()


def _add_more(result: Result, more: Suggestion, speech: DialectWording) -> None:
    """Name the call that shows what was left out, if the model can make it."""
    if (shown := speech.suggestion(more)) is not None:
        result.meta["next"] = {"name": shown.name, "arguments": shown.arguments}
        arguments = msgspec.json.encode(shown.arguments).decode()
        result.text += f"\n[More: {shown.name} {arguments}]"


class DialectWording:
    """Speaks of tools and parameters in the words of the entries in use."""

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        self._tools: dict[str, tuple[Entry, View, str | None]] = {}
        for entry in entries.values():
            for action, view in _actions(entry).items():
                self._tools.setdefault(view.tool.name, (entry, view, action or None))

    def message(self, text: str, view: View | None) -> str:
        """The text with `backticked` names of tools and parameters as they are called here; `tool.parameter` is one
        of another tool.

        Advice that needs a tool or a parameter which is not there (", or set `x`.") is left away.
        """
        names = view.names() if view else {}

        def shown(match: re.Match[str]) -> str:
            word = match[1]
            if word in names:
                return f"`{names[word]}`"
            return self._called(word) if word in self._tools else self._elsewhere(word) or match[0]

        if "`" in text:
            said, line, rest = text.partition("\n")
            text = _advised(said, self._absent(view, names, said)) + line + rest
        return _QUOTED.sub(shown, text)

    def _absent(self, view: View | None, names: Mapping[str, str], said: str) -> frozenset[str]:
        """The tools, the parameters of this one and those of others in the text that a model cannot use here."""
        hidden = {one.name for one in view.tool.parameters} - names.keys() if view else set()
        tools = names_in("toolroll.tools")
        others = {word for word in _QUOTED.findall(said) if word.partition(".")[0] in tools and "." in word}
        hidden |= {word for word in others if self._elsewhere(word) is None}
        return (tools - self._tools.keys() | hidden) - names.keys()

    def _elsewhere(self, word: str) -> str | None:
        """What `tool.parameter` is called here; None when it is not there."""
        tool, _, parameter = word.partition(".")
        name = self._tools[tool][1].names().get(parameter) if tool in self._tools else None
        return f"`{name}` of {self._called(tool)}" if name is not None else None

    def _called(self, tool: str) -> str:
        """What a tool is called here, with its action if it is one of several."""
        entry, view, action = self._tools[tool]
        views = [one for one in entry.views() if one.tool is view.tool]
        return f"`{entry.name}` (action `{action}`)" if action and len(views) == 1 else f"`{entry.name}`"

    def suggestion(self, call: Suggestion) -> Suggestion | None:
        """A call of a tool as the model would make it here; None when it cannot."""
        if call.name not in self._tools:
            return None
        entry, view, action = self._tools[call.name]
        arguments = view.present(call.arguments)
        if arguments is None:
            return None
        if isinstance(entry, Bundle):
            arguments = {entry.selector: action, **arguments}
        return Suggestion(entry.name, arguments)


def _advised(text: str, absent: frozenset[str]) -> str:
    """The first sentence, and of the others those that name nothing absent, with what they say besides."""
    for way in _OTHERWISE:
        text = way.sub(lambda found: "" if found[1] in absent else found[0], text)
    first, *others = _SENTENCES.split(text)
    return " ".join((first, *(one for one in others if absent.isdisjoint(_QUOTED.findall(one)))))


def _actions(entry: Entry) -> Mapping[str, View]:
    if isinstance(entry, Relay):
        return {}
    return entry.actions if isinstance(entry, Bundle) else {"": entry}
