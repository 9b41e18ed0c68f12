"""Apply hunks to a text. Every line outside of them, and every line that stays, is kept as it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from toolroll.text.edit.model import AS_IT_IS, BLANKS, Relation
from toolroll.text.lines import ending
from toolroll.text.patch import errors
from toolroll.text.patch.model import Hunk
from toolroll.text.patch.placement import Placed, choose
from toolroll.text.patch.search import FileLines, Side, keys

_BOM = "\ufeff"


class Landed(NamedTuple):
    """Where a hunk went."""

    line: int
    """Its first line, in the file as it is afterwards."""
    offset: int | None
    """How far that is from where its header says; None if it says nothing."""
    exact: bool
    """Its lines stood there to the letter."""
    added: int
    removed: int
    note: str = ""
    """What is to be said of it."""


@dataclass(frozen=True, slots=True)
class Applied:
    """The new text, and where each hunk went, in the order of the patch."""

    text: str
    hunks: tuple[Landed, ...]

    @property
    def before(self) -> bool:
        """All that the hunks do was done before."""
        done = [hunk.note == APPLIED for hunk in self.hunks if hunk.note == APPLIED or hunk.added or hunk.removed]
        return bool(done) and all(done)


APPLIED = "is there already"


def apply(text: str, hunks: Sequence[Hunk], *, reverse: bool = False, name: str = "the file") -> Applied:
    """The text with all hunks in it. Raises ToolError, naming the file, when one of them has no sure place."""
    if reverse:
        hunks = [hunk.reversed() for hunk in hunks]
    inside = any("\r" in line[:-1] for hunk in hunks for line in hunk.texts) if "\r" in text else True
    if not inside and "\n" not in text:  # the old Macintosh's line ends, which the patch has as line feeds
        found = apply(text.replace("\r", "\n"), hunks, name=name)
        return replace(found, text=found.text.replace("\n", "\r"))
    sides = [Side(hunk, at) for at, hunk in enumerate(hunks, 1)]
    view = FileLines(text)
    out = _Output(view, "\r" in text and ending(text) == "\r\n")
    landed: dict[int, Landed] = {}
    placed = choose(view, sides, name)
    exact = any(one.relation is AS_IT_IS for one in placed)
    for one in sorted(placed, key=lambda one: one.start):
        side, hunk = one.side, one.side.hunk
        if one.relation is None:
            landed[side.number] = Landed(one.start + 1, None, True, 0, 0, APPLIED)
            continue
        written = _written(view, one, exact)
        if written is None:
            raise errors.not_certain(view, side, sides, one.start, one.relation, name)
        out.keep(one.start)
        first = len(out.lines)
        out.put(Side(hunk._replace(texts=written), side.number) if written != hunk.texts else side, one.relation)
        offset = one.start - side.hint if side.hint is not None else None
        note = one.note if one.relation is AS_IT_IS else f"differed in: {one.relation.name}"
        landed[side.number] = Landed(first + 1, offset, one.relation is AS_IT_IS, hunk.added, hunk.removed, note)
    out.keep(len(view.lines))
    return Applied(out.text(), tuple(landed[number] for number in sorted(landed)))


def is_quoted_once(text: str, hunks: Sequence[Hunk]) -> bool:
    """Whether the old lines of each hunk stand in the text once, to the letter."""
    view = FileLines(text)
    sides = [Side(hunk, at) for at, hunk in enumerate(hunks, 1)]
    return all(side.old and len(view.places(side, 2)[0]) == 1 for side in sides)


def _written(view: FileLines, one: Placed, exact: bool) -> tuple[str, ...] | None:
    """The lines of a hunk with the new ones written as the file would have them; None if that is not certain.

    `exact`: other hunks are to the letter, so one that is indented otherwise proves nothing.
    """
    hunk, relation = one.side.hunk, one.relation or AS_IT_IS
    if relation.cost <= BLANKS:
        return hunk.texts
    ways = (
        _reindented(view, one, relation, exact) if "indentation" in relation.name else relation.rewrite(_new_text(hunk))
    )
    if len(ways) != 1:
        return None
    new = iter(ways[0].split("\n"))
    return tuple(text if mark == "-" else next(new) for mark, text in zip(hunk.marks, hunk.texts, strict=True))


def _reindented(view: FileLines, one: Placed, relation: Relation, exact: bool) -> tuple[str, ...]:
    """The new lines of a hunk that is indented otherwise: only lines that stay prove how the new ones are meant."""
    hunk, own = one.side.hunk, iter(view.keys[one.start :])
    pairs = [(mark, text, next(own)) for mark, text in zip(hunk.marks, hunk.texts, strict=True) if mark != "+"]
    kept = [text.rstrip() == actual.rstrip() for mark, text, actual in pairs if mark == " " and text.strip()]
    if kept and all(kept):
        return (_new_text(hunk),)
    return () if not kept or exact or "uneven" in relation.name else relation.rewrite(_new_text(hunk))


def _new_text(hunk: Hunk) -> str:
    return "\n".join(keys(hunk.new))


class _Output:
    """The new lines while they are put together."""

    def __init__(self, view: FileLines, crlf: bool) -> None:
        self.lines: list[str] = []
        self._view = view
        self._crlf = crlf
        self._at = 0
        self._open = view.open

    def keep(self, end: int) -> None:
        """Take the file's own lines up to line `end`."""
        if self._at < end:
            self.lines += self._view.lines[self._at : end]
            self._at = end

    def put(self, side: Side, relation: Relation) -> None:
        """Take a hunk that fits here: new lines as the patch has them, or in the manner of the file."""
        at, end = self._at, self._at + len(side.old)
        hunk, view = side.hunk, self._view
        verbatim = relation is AS_IT_IS and view.same(side, at) and (bool(side.old) or not view.lines)
        if verbatim:
            self.lines += self._written(hunk, at)
        else:
            self._adapted(hunk, at)
        self._at = end
        if end == len(view.lines):
            self._open = hunk.new_open if verbatim or hunk.old_open or hunk.new_open else view.open
            if self._open and not verbatim and self.lines:
                self.lines[-1] = self.lines[-1].removesuffix("\r")

    def _written(self, hunk: Hunk, at: int) -> Iterator[str]:
        for mark, text in zip(hunk.marks, hunk.texts, strict=True):
            if mark != "-":
                yield text if mark == "+" else self._view.lines[at]
            at += mark != "+"

    def _adapted(self, hunk: Hunk, at: int) -> None:
        """The hunk with each new line ended like the line of the file before it."""
        own = self._view.lines
        first = at == 0 and bool(own) and own[0].startswith(_BOM)
        if at == len(own) and self._view.open and self._crlf and self.lines:
            self.lines[-1] += "\r"
        end = self._line(at).endswith("\r") if at < len(own) else self._crlf
        for mark, text in zip(hunk.marks, hunk.texts, strict=True):
            if mark != "+":
                line = self._line(at)
                end = line.endswith("\r")
                at += 1
            if mark == " ":
                self.lines.append(line)
            elif mark == "+":
                self.lines.append(text.removesuffix("\r").removeprefix(_BOM) + ("\r" if end else ""))
        if first and self.lines:
            self.lines[0] = _BOM + self.lines[0].removeprefix(_BOM)

    def _line(self, at: int) -> str:
        """A line of the file; the last one as if it had a line feed."""
        line = self._view.lines[at]
        alone = self._view.open and at == len(self._view.lines) - 1
        return f"{line}\r" if alone and self._crlf else line

    def text(self) -> str:
        """All of it."""
        return "\n".join(self.lines) + ("\n" if self.lines and not self._open else "")
