"""Messages and suggested calls in the words of a dialect: its names of tools and parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

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
        self,
        find_entries: Callable[[str], Iterable[Entry]],
        is_hidden: Callable[[Entry], bool] = lambda _: False,
        relay: str = "",
    ) -> None:
        """`find_entries`: those that may be called and may have the tool of this name; hidden ones by `relay`."""
        self._find_entries = find_entries
        self._is_hidden = is_hidden
        self._relay = relay
        self._found: dict[str, tuple[Entry, View, str | None] | None] = {}

    def _find(self, tool: str) -> tuple[Entry, View, str | None] | None:
        """How a tool, by its own name, is called here. Only what may have it is looked at: others are not imported."""
        if tool not in self._found:
            entries = sorted(self._find_entries(tool), key=self._is_hidden)
            rows = ((entry, *row) for entry in entries for row in _actions(entry).items())
            calls = ((entry, view, action or None) for entry, action, view in rows if view.tool.name == tool)
            self._found[tool] = next(calls, None)
        return self._found[tool]

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
            return self._called(word) or self._elsewhere(word) or match[0]

        if "`" in text:
            said, line, rest = text.partition("\n")
            text = _advised(said, self._absent(view, names, said)) + line + rest
        return _QUOTED.sub(shown, text)

    def _absent(self, view: View | None, names: Mapping[str, str], said: str) -> frozenset[str]:
        """The tools, the parameters of this one and those of others in the text that a model cannot use here."""
        hidden = {one.name for one in view.tool.parameters} - names.keys() if view else set()
        known = modules_in("toolroll.tools")
        tools = {word for word in _QUOTED.findall(said) if word.partition(".")[0] in known}
        absent = {word for word in tools if (self._elsewhere(word) if "." in word else self._called(word)) is None}
        return frozenset(absent | hidden) - names.keys()

    def _elsewhere(self, word: str) -> str | None:
        """What `tool.parameter` is called here; None when it is not there."""
        tool, dot, parameter = word.partition(".")
        found = self._find(tool) if dot else None
        name = found[1].names().get(parameter) if found is not None else None
        return f"`{name}` of {self._called(tool)}" if name is not None else None

    def _called(self, tool: str) -> str | None:
        """What a tool is called here, with its action if it is one of several; None when it is not there."""
        if (found := self._find(tool)) is None:
            return None
        entry, view, action = found
        views = [one for one in entry.views() if one.tool is view.tool]
        called = f"`{entry.name}` (action `{action}`)" if action and len(views) == 1 else f"`{entry.name}`"
        return f"`{self._relay}` of {called}" if self._is_hidden(entry) else called

    def suggestion(self, call: Suggestion, called: View | None = None) -> Suggestion | None:
        """A call of a tool as the model would make it here; None when it cannot. The one that it called is at hand."""
        if (found := self._find(call.name)) is None:
            return None
        entry, view, action = found
        arguments = view.present(call.arguments)
        if arguments is None:
            return None
        if isinstance(entry, Bundle):
            arguments = {entry.selector: action, **arguments}
        if self._is_hidden(entry) and (called is None or called.tool is not view.tool):
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
