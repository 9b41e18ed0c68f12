"""Relations between a quoted block and lines of a file, and how each rewrites the text that replaces them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

from toolroll.text import code_tokens
from toolroll.text.edit import indent
from toolroll.text.edit.model import (
    AS_IT_IS,
    BLANKS,
    ESCAPED,
    EXACT,
    INDENT,
    PASTED,
    PLAIN_MARKS,
    TOKENS,
    TYPOGRAPHY,
    Relation,
    Rewrite,
    last_end_off,
    unchanged,
)

Place = TypeVar("Place")
_LINE_FEEDS = Relation("line endings", EXACT, lambda new: (new.replace("\r\n", "\n"),))


def readings(old: str) -> Iterator[tuple[str, Relation]]:
    """The quote with plain line feeds, and without what was put around it: numbers, a fence, escapes, blank lines."""
    quote = old.replace("\r\n", "\n")
    for plain, relation in _readings(quote):
        yield plain, relation if quote == old else _LINE_FEEDS.then(relation)


def _readings(old: str) -> Iterator[tuple[str, Relation]]:
    yield old, AS_IT_IS
    for number in (_NUMBER, _NUMBER_ALONE) if old.lstrip()[:1].isdigit() else ():
        if (plain := _without_numbers(old, number)) is not None:
            yield plain, Relation("line numbers taken off", PASTED, partial(_numbers_off, old, plain, number))
    core, lead, tail = _without_blank_lines(old)
    around = bool(core.strip()) and core + "\n" * min(1, tail) != old
    if not around and (inner := _without_fence(old)) is not None:
        yield inner, Relation("fence taken off", PASTED, _fence_off)
    if (undone := _unescaped(old)) != old:
        yield undone, Relation("escapes undone", ESCAPED, lambda new: _escapes_off(new, old))
    if around:
        off = Relation("blank lines around", PASTED, partial(_blank_lines_off, lead, max(0, tail - 1)))
        for plain, relation in _readings(core + "\n" * min(1, tail)):
            yield plain, off.then(relation)


def of_lines(quoted: Sequence[str], actual: Sequence[str], in_text: Sequence[bool]) -> Relation | None:
    """The cheapest relation by which these lines are those, or None. `in_text` marks lines where blanks count."""
    found = _of_lines(quoted, actual, in_text)
    if found is not None:
        return found
    plain = [line.translate(PLAIN_MARKS) for line in quoted]
    theirs = [line.translate(PLAIN_MARKS) for line in actual]
    found = _of_lines(plain, theirs, in_text) if plain != list(quoted) or theirs != list(actual) else None
    if found is None:
        return None
    # Where the file has typographic marks and the quote plain ones, a line that changes is written as it is given.
    off = partial(_marks_off, quoted) if plain != list(quoted) else unchanged
    kept = Relation("", EXACT, lambda new: (_keep_lines(new, plain, actual),))
    return Relation("typographic marks", TYPOGRAPHY, off).then(found).then(kept)


def cheapest(found: Mapping[Place, Relation]) -> dict[Place, Relation]:
    """The places of the cheapest relation; of one that is looser than blanks at line ends also its rivals."""
    best = min((relation.cost for relation in found.values()), default=0)
    return {at: relation for at, relation in found.items() if relation.cost == best or best > BLANKS}


def _of_lines(quoted: Sequence[str], actual: Sequence[str], in_text: Sequence[bool]) -> Relation | None:
    pairs = list(zip(quoted, actual, strict=True))
    if all(q == a for q, a in pairs):
        return AS_IT_IS
    if all(q.rstrip() == a.rstrip() for q, a in pairs):
        return Relation("trailing blanks or line endings", BLANKS, unchanged)
    if all(q.strip() == a.strip() for q, a in pairs):
        if (shift := indent.between(quoted, actual)) is not None:
            return _shifted(quoted, actual, shift)
        uneven = _by_lines(partial(indent.uneven, quoted=quoted, actual=actual))
        return _first_cut(quoted, actual) or Relation("uneven indentation", INDENT, uneven)
    loose = [q.strip() != a.strip() for q, a in pairs]
    if any(differs and inside for differs, inside in zip(loose, in_text, strict=True)):
        return None
    if not all(q.strip() == a.strip() or code_tokens.is_same_code(q, a) for q, a in pairs):
        return None
    tokens = Relation("blanks between tokens", TOKENS, lambda new: (_keep_lines(new, quoted, actual),))
    if all(indent.indent_of(q) == indent.indent_of(a) for q, a in pairs if q.strip()):
        return tokens
    shift = indent.between(quoted, actual)
    return None if shift is None else _shifted(quoted, actual, shift).then(tokens)


def _shifted(quoted: Sequence[str], actual: Sequence[str], shift: indent.IndentShift) -> Relation:
    ways = partial(indent.readings, quoted=quoted, actual=actual, shift=shift)
    return Relation("indentation" if shift.extend else "uneven indentation", INDENT, _by_lines(ways))


def _by_lines(ways: Callable[[list[str]], tuple[list[str], ...]]) -> Rewrite:
    return lambda new: tuple("\n".join(lines) for lines in ways(new.split("\n")))


def _first_cut(quoted: Sequence[str], actual: Sequence[str]) -> Relation | None:
    """The quote begins behind the indentation of its first line, and is right but for that."""
    if any(q.rstrip() != a.rstrip() for q, a in zip(quoted[1:], actual[1:], strict=True)) or quoted[0][:1].isspace():
        return None
    before = indent.indent_of(actual[0])
    return Relation("indentation", INDENT, lambda new: (before + new.removeprefix(before) if new.strip() else new,))


def _marks_off(quoted: Sequence[str], new: str) -> tuple[str, ...]:
    """The new text with plain marks; nothing if it has marks of a kind that the quote did not have."""
    known = {_kind(char) for line in quoted for char in line}
    return () if {_kind(char) for char in new} - known else (new.translate(PLAIN_MARKS),)


def _kind(char: str) -> str | None:
    """What a typographic mark stands for, all quote marks being one kind; empty for other characters."""
    plain = PLAIN_MARKS.get(ord(char), "")
    return '"' if plain == "'" else plain


def _keep_lines(new: str, quoted: Sequence[str], actual: Sequence[str]) -> str:
    """The new text with the file's own lines where it repeats quoted ones, at the depth that it gives them."""
    own: dict[str, set[str]] = {}
    for q, a in zip(quoted, actual, strict=True):
        own.setdefault(q.strip(), set()).add(a.removesuffix("\r").lstrip(" \t"))
    lines = new.split("\n")
    for at, line in enumerate(lines):
        found = own.get(line.strip(), set()) if line.strip() else set()
        if len(found) == 1:
            lines[at] = indent.indent_of(line) + next(iter(found))
    return "\n".join(lines)


_NUMBER = re.compile(r"[ \t]*(\d{1,9})(\u2192|\t|[ \t]?\|[ ]?|:[ ]?|$)")
_NUMBER_ALONE = re.compile(r"[ \t]*(\d{1,9})([ \t]?\||:|$)")  # a blank behind it is the line's own


def _without_numbers(old: str, number: re.Pattern[str]) -> str | None:
    """The quote without its line numbers, if each line has one and they count up by one."""
    lines = old.removesuffix("\n").split("\n")
    found = [number.match(line) for line in lines]
    numbers = [int(one[1]) for one in found if one is not None]
    if len(numbers) != len(lines) or numbers != list(range(numbers[0], numbers[0] + len(lines))):
        return None
    marks = _marks(found)
    if len(marks) != 1 or (len(lines) == 1 and not marks & {"\u2192", "\t"}):
        return None  # "12: x" alone may well be the text itself
    return _cut(lines, found) + ("\n" if old.endswith("\n") else "")


def _marks(found: Sequence[re.Match[str] | None]) -> set[str]:
    """What stands behind line numbers; of a blank line, nothing need be left."""
    return {one[2].strip(" ") for one in found if one is not None} - {""}


def _cut(lines: Sequence[str], found: Sequence[re.Match[str] | None]) -> str:
    return "\n".join(line[one.end() :] if one else line for line, one in zip(lines, found, strict=True))


def _numbers_off(old: str, plain: str, number: re.Pattern[str], new: str) -> tuple[str, ...]:
    """The new text without line numbers, if it has such as the quote had; nothing when that is not certain."""
    lines, quoted = new.split("\n"), [number.match(line) for line in old.removesuffix("\n").split("\n")]
    found = [number.match(line) for line in lines]
    marks = _marks(quoted)
    if marks == {"\u2192"}:  # used only to number lines
        return (_cut(lines, [one if one and one[2] == "\u2192" else None for one in found]),)
    if not _marks(found) & marks:
        return (new,)
    known = {int(one[1]) for one in quoted if one is not None}
    first = next((int(one[1]) for one in found if one is not None), None)
    own = any(_marks([number.match(line)]) & marks for line in plain.split("\n"))  # the file's lines look so as well
    whole = all(one or not line.strip() for one, line in zip(found, lines, strict=True)) and _marks(found) == marks
    return (_cut(lines, found),) if whole and first in known and not own else ()


_FENCE = re.compile(r"(```+|~~~+)[^`]*")


def _without_fence(text: str) -> str | None:
    lines = text.strip().split("\n")
    found = _FENCE.fullmatch(lines[0])
    return "\n".join(lines[1:-1]) if found and len(lines) > 1 and lines[-1].strip() == found[1] else None


def _fence_off(new: str) -> tuple[str, ...]:
    inner = _without_fence(new)
    return last_end_off(new) if inner is None else (inner,)


def _without_blank_lines(text: str) -> tuple[str, int, int]:
    """The text without blank lines before and behind it, and how many line ends each of them had."""
    start = text.rfind("\n", 0, len(text) - len(text.lstrip(" \t\n"))) + 1
    end = text.find("\n", max(start, len(text.rstrip(" \t\n"))))
    end = len(text) if end < 0 else end
    return text[start:end], text.count("\n", 0, start), text.count("\n", end)


def _blank_lines_off(lead: int, tail: int, new: str) -> tuple[str, ...]:
    """The new text without as many blank lines as were taken off the quote, where it has them; a line end stays."""
    body = new.replace("\r\n", "\n")
    core, before, behind = _without_blank_lines(body)
    if not core.strip():
        return (body,)
    start = body.index(core)
    head, ends = body[:start].split("\n"), body[start + len(core) :].split("\n")
    off = min(tail, max(0, behind - 1))
    kept = [*ends[: -off - 1], ""] if off else ends
    return ("\n".join(head[min(lead, before) :]) + core + "\n".join(kept),)


_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_ESCAPE = re.compile(r"\\([\"'`\\/nrt$])")


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda match: _ESCAPES.get(match[1], match[1]), text)


def _escapes_off(new: str, old: str) -> tuple[str, ...]:
    """The new text with one level of escapes undone; nothing if the quote does not show that they are too many."""
    known, used = set(_ESCAPE.findall(old)), set(_ESCAPE.findall(new))
    whole = "n" in known and "\n" not in old  # everything was escaped, so that no lines are left
    sure = "\n" not in new or not used if whole else used <= known
    return (_unescaped(new),) if sure else ()
