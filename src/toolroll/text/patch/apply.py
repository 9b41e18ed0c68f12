"""Apply hunks to a text. Every line outside of them, and every line that stays, is kept as it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from toolroll.text.lines import ending
from toolroll.text.patch.model import Hunk
from toolroll.text.patch.placement import choose
from toolroll.text.patch.search import FileLines, Side

_BOM = "\ufeff"


class Landed(NamedTuple):
    """Where a hunk went."""

    line: int
    """Its first line, in the file as it is afterwards."""
    offset: int | None
    """How far that is from where its header says; None if it says nothing."""
    exact: bool
    """No blank at the end of a line was passed over to make it fit."""
    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class Applied:
    """The new text, and where each hunk went, in the order of the patch."""

    text: str
    hunks: tuple[Landed, ...]


def apply(text: str, hunks: Sequence[Hunk], *, reverse: bool = False, name: str = "the file") -> Applied:
    """The text with all hunks in it. Raises ToolError, naming the file, when one of them has no sure place."""
    if reverse:
        hunks = [hunk.reversed() for hunk in hunks]
    sides = [Side(hunk, at) for at, hunk in enumerate(hunks, 1)]
    view = FileLines.of(text)
    out = _Output(view, "\r" in text and ending(text) == "\r\n")
    landed: dict[int, Landed] = {}
    placed = zip(sides, choose(view, sides, name), strict=True)
    for side, (start, exact) in sorted(placed, key=lambda pair: pair[1][0]):
        out.keep(start)
        first = len(out.lines)
        out.put(side)
        offset = start - side.hint if side.hint is not None else None
        landed[side.number] = Landed(first + 1, offset, exact, side.hunk.added, side.hunk.removed)
    out.keep(len(view.lines))
    return Applied(out.text(), tuple(landed[number] for number in sorted(landed)))


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

    def put(self, side: Side) -> None:
        """Take a hunk that fits here: new lines as the patch has them, or in the manner of the file."""
        at, end = self._at, self._at + len(side.old)
        hunk, view = side.hunk, self._view
        verbatim = view.same(side, at) and (bool(side.old) or not view.lines)
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
