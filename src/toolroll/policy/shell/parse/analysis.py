"""Analyse a shell text: every command that it would run, also behind wrappers and in nested shells."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from toolroll.policy.shell.parse import tree
from toolroll.policy.shell.parse.grammar import read_plain
from toolroll.policy.shell.parse.normalise import prepare
from toolroll.policy.shell.parse.unwrap import unwrap
from toolroll.policy.shell.parse.words import FoundItem, SimpleCommand, UnclearPart, Word

MAX_NESTED_TEXTS = 6
"""Shell texts inside shell texts."""
MAX_WRAPPERS = 12
"""Wrappers around wrappers."""


@dataclass(slots=True)
class Analysis:
    """What was found, in its order, and whether all of it is plain: literal commands that two readers agree on."""

    found: list[FoundItem] = field(default_factory=list)
    functions: dict[str, int] = field(default_factory=dict)
    plain: bool = True

    def reached(self) -> set[str | None]:
        """The functions whose bodies run; None stands for the text itself."""
        reached: set[str | None] = {None}
        calls: dict[str | None, set[str]] = {}
        for one in self.found:
            if isinstance(one.item, SimpleCommand) and one.item.program in self.functions:
                calls.setdefault(one.owner, set()).add(str(one.item.program))
        waiting: list[str | None] = [None]
        while waiting:
            new = calls.get(waiting.pop(), set()) - reached
            reached |= new
            waiting += new
        return reached


def analyse(text: str) -> Analysis:
    """What a shell would run if it got `text`."""
    result = Analysis()
    if tree.ODD.search(text):
        result.found.append(FoundItem(UnclearPart(text, "it holds control characters or invisible ones")))
        result.plain = False
    _text(result, text, ".", None, 0)
    return result


def analyse_words(words: Sequence[Word]) -> Analysis:
    """What these words would run without a shell in between."""
    result = Analysis()
    command = SimpleCommand(tuple(words), " ".join(word.text for word in words))
    if any(tree.ODD.search(word.text.replace("\n", "").replace("\t", "")) for word in words):
        result.found.append(FoundItem(UnclearPart(command.text, "it holds control characters or invisible ones")))
    _simple(result, command, None, 0, 0)
    return result


def _text(result: Analysis, text: str, where: str | None, owner: str | None, depth: int) -> None:
    if depth > MAX_NESTED_TEXTS:
        result.plain = False
        result.found.append(FoundItem(UnclearPart(text, "shells are nested too deeply in it"), owner))
        return
    read = tree.read(text, where)
    result.plain = result.plain and not read.trouble and _agree(text, read)
    if read.trouble:
        result.found.append(FoundItem(UnclearPart(text, read.trouble), owner))
    for name in read.functions:
        result.functions.setdefault(name, len(result.found) + read.functions[name])
    for one in read.found:
        holder = one.owner if one.owner is not None else owner
        if isinstance(one.item, SimpleCommand):
            _simple(result, one.item, holder, depth, 0)
        else:
            result.found.append(FoundItem(one.item, holder))


def _simple(result: Analysis, command: SimpleCommand, owner: str | None, depth: int, chain: int) -> None:
    if len(result.found) > tree.MAX_ITEMS:
        result.plain = False
        return
    inside = unwrap(command) if chain < MAX_WRAPPERS else None
    if chain >= MAX_WRAPPERS:
        result.found.append(FoundItem(UnclearPart(command.text, "too many programs run each other in it"), owner))
    clear = inside is not None and inside.clear and bool(inside.items or inside.texts)
    result.found.append(FoundItem(replace(command, clear=True) if clear else command, owner))
    if inside is None:
        return
    for item in inside.items:
        if isinstance(item, SimpleCommand):
            _simple(result, item, owner, depth, chain + 1)
        else:
            result.found.append(FoundItem(item, owner))
    for text in inside.texts:
        if command.whole:
            _text(result, text, command.where, owner, depth + 1)


def _agree(text: str, read: tree.ShellText) -> bool:
    """Whether the plain reader finds the same commands."""
    prepared = prepare(text)
    if any(here.body and not here.quoted and re.search(r"[$`\\]", here.body) for here in prepared.here.values()):
        return False
    commands = read_plain(prepared.code)
    if commands is None:
        return False
    found = [_shape(one.item.words) for one in read.found if isinstance(one.item, SimpleCommand)]
    return found == [_shape(words) for words in commands]


def _shape(words: Sequence[Word]) -> list[tuple[str, bool]]:
    return [(word.text, word.literal) for word in words]
