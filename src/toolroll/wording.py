"""Messages and suggested calls in the words of a dialect: its names of tools and parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property

from toolroll.dialect import Bundle, Entry, Relay, View
from toolroll.registry import modules_in
from toolroll.result import Suggestion

_QUOTED = re.compile(r"`(\w+(?:\.\w+)?)`")
_OTHERWISE = (
    re.compile(r"(?:,? or (?:set|give|use|leave out)|;[^.;`]*) `(\w+)`[^.;`\n]*(?=\.)"),
    re.compile(r" or `(\w+)`"),
    re.compile(r"`(\w+)` or (?=`)"),
)
_SENTENCES = re.compile(r"(?<=[.?!]) (?=[A-Z`])")


class DialectWording:
    """Speaks of the tools that a model can call, in its words: others are left out of what is said."""

    def __init__(
        self, entries: Callable[[], Iterable[Entry]], hidden: Callable[[], Collection[str]] = tuple, relay: str = ""
    ) -> None:
        """`entries`: those that may be called; `hidden`: the names of those that are called through `relay`."""
        self._entries = entries
        self._hidden_names = hidden
        self._relay = relay

    @cached_property
    def _hidden(self) -> Collection[str]:
        return self._hidden_names()

    @cached_property
    def _tools(self) -> dict[str, tuple[Entry, View, str | None]]:
        """By the tools' own names. Made when something is to be said: it needs every tool."""
        tools: dict[str, tuple[Entry, View, str | None]] = {}
        for entry in sorted(self._entries(), key=lambda one: one.name in self._hidden):
            for action, view in _actions(entry).items():
                tools.setdefault(view.tool.name, (entry, view, action or None))
        return tools

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
        tools = modules_in("toolroll.tools").keys()
        others = {word for word in _QUOTED.findall(said) if word.partition(".")[0] in tools and "." in word}
        hidden |= {word for word in others if self._elsewhere(word) is None}
        return frozenset(tools - self._tools.keys() | hidden) - names.keys()

    def _elsewhere(self, word: str) -> str | None:
        """What `tool.parameter` is called here; None when it is not there."""
        tool, _, parameter = word.partition(".")
        name = self._tools[tool][1].names().get(parameter) if tool in self._tools else None
        return f"`{name}` of {self._called(tool)}" if name is not None else None

    def _called(self, tool: str) -> str:
        """What a tool is called here, with its action if it is one of several."""
        entry, view, action = self._tools[tool]
        views = [one for one in entry.views() if one.tool is view.tool]
        called = f"`{entry.name}` (action `{action}`)" if action and len(views) == 1 else f"`{entry.name}`"
        return f"`{self._relay}` of {called}" if entry.name in self._hidden else called

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
        if entry.name in self._hidden:
            return Suggestion(self._relay, {"name": entry.name, "arguments": arguments})
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
