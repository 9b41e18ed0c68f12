"""Apply hunks to a text. Every line outside of them, and every line that stays, is kept as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from toolroll.text.edit.model import AS_IT_IS, BLANKS, INDENT, Relation
from toolroll.text.lines import ending
from toolroll.text.patch import errors
from toolroll.text.patch.model import Hunk
from toolroll.text.patch.placement import Placed, choose
from toolroll.text.patch.search import FileLines, Side, keys

APPLIED = "is there already"
_BOM = "\ufeff"
_SHELL = (".bash", ".sh")
# Files in which indentation has no meaning outside of strings.
_FREE_FORM = (
    *_SHELL, ".c", ".cjs", ".css", ".go", ".java", ".js", ".json", ".jsonc", ".jsx", ".kt", ".less", ".mjs", ".scss",
    ".swift", ".ts", ".tsx",
)  # fmt: skip


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


def apply(text: str, hunks: Sequence[Hunk], *, reverse: bool = False, name: str = "the file") -> Applied:
    """The text with all hunks in it. Raises ToolError, naming the file, when one of them has no sure place."""
    if reverse:
        hunks = [hunk.reversed() for hunk in hunks]
    inside = any("\r" in line[:-1] for hunk in hunks for line in hunk.texts) if "\r" in text else True
    if not inside and "\n" not in text:  # the old Macintosh's line ends, which the patch has as line feeds
        found = apply(text.replace("\r", "\n"), hunks, name=name)
        return replace(found, text=found.text.replace("\n", "\r"))
    view = FileLines(text, name)
    out = _Output(view, "\r" in text and ending(text) == "\r\n")
    landed: dict[int, Landed] = {}
    placed = choose(view, _sides(hunks))
    exact = any(one.relation is AS_IT_IS for one in placed)
    for one in sorted(placed, key=lambda one: one.start):
        number, hunk, relation, note = one.side.number, one.side.hunk, one.relation, one.note
        if relation is None:
            landed[number] = Landed(one.start + 1, None, True, 0, 0, APPLIED)
            continue
        written = _written(view, one, exact)
        if relation is not AS_IT_IS:
            note = f"differed in: {relation.name}"
        if written is None and (written := _as_format_says(view, one)) is not None:
            note += "; all its lines are written as the patch has them, as the format says"
        if written is None:
            raise errors.not_certain(view, one.side, one.start, relation)
        out.keep(one.start)
        offset = one.start - one.side.hint if one.side.hint is not None else None
        exactly = relation is AS_IT_IS
        landed[number] = Landed(len(out.lines) + 1, offset, exactly, hunk.added, hunk.removed, note)
        out.put(one.side if written == hunk else one.side.with_hunk(written), exactly)
    out.keep(len(view.lines))
    return Applied(out.text(), tuple(landed[number] for number in sorted(landed)))


def is_quoted_once(text: str, hunks: Sequence[Hunk]) -> bool:
    """Whether the old lines of each hunk stand in the text once, to the letter."""
    view = FileLines(text)
    return all(side.old and len(view.places(side, 2)[0]) == 1 for side in _sides(hunks))


def _sides(hunks: Sequence[Hunk]) -> list[Side]:
    return [Side(hunk, at, len(hunks)) for at, hunk in enumerate(hunks, 1)]


def _written(view: FileLines, one: Placed, exact: bool) -> Hunk | None:
    """A hunk with its new lines written as the file would have them; None if that is not certain.

    `exact`: other hunks are to the letter, so one that is indented otherwise proves nothing.
    """
    hunk, relation = one.side.hunk, one.relation or AS_IT_IS
    if relation.cost <= BLANKS:
        return hunk
    ways = (
        _reindented(view, one, relation, exact) if "indentation" in relation.name else relation.rewrite(_new_text(hunk))
    )
    if len(ways) != 1:
        return None
    new = iter(ways[0].split("\n"))
    return hunk._replace(texts=tuple(text if mark == "-" else next(new) for mark, text in hunk.marked))


def _as_format_says(view: FileLines, one: Placed) -> Hunk | None:
    """A hunk of the Begin Patch form that also replaces the lines that stay, which are indented otherwise.

    The form means that. It is done where indentation has no meaning, and not in strings over several lines.
    """
    hunk, end = one.side.hunk, one.start + len(one.side.old)
    if not hunk.ordered or one.relation is None or one.relation.cost != INDENT or not view.name.endswith(_FREE_FORM):
        return None
    if any(view.source.in_text[one.start : end]) or (" " in hunk.marks and view.name.endswith(_SHELL)):
        return None
    old, new = hunk.old, hunk.new
    return hunk._replace(marks="-" * len(old) + "+" * len(new), texts=(*old, *new))


def _reindented(view: FileLines, one: Placed, relation: Relation, exact: bool) -> tuple[str, ...]:
    """The new lines of a hunk that is indented otherwise: only lines that stay prove how the new ones are meant."""
    hunk, own = one.side.hunk, iter(view.keys[one.start :])
    pairs = [(mark, text, next(own)) for mark, text in hunk.marked if mark != "+"]
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
        self._lent = view.open and crlf  # the last line has a carriage return here, which it does not have
        self._own = [*view.lines[:-1], view.lines[-1] + "\r"] if self._lent else view.lines

    def keep(self, end: int) -> None:
        """Take the file's own lines up to line `end`."""
        self.lines += self._own[self._at : end]
        self._at = max(self._at, end)

    def put(self, side: Side, exactly: bool) -> None:
        """Take a hunk that fits here: new lines as the patch has them, or in the manner of the file."""
        hunk, view = side.hunk, self._view
        verbatim = exactly and view.same(side, self._at) and (bool(side.old) or not view.lines)
        if verbatim:
            self.lines += hunk.new
        else:
            self._adapt(hunk, self._at)
        self._at += len(side.old)
        if self._at == len(view.lines):
            self._open = hunk.new_open if verbatim or hunk.old_open or hunk.new_open else view.open
            self._lent = not verbatim

    def _adapt(self, hunk: Hunk, at: int) -> None:
        """The hunk with each new line ended like the line of the file before it."""
        own = self._own
        first = at == 0 and bool(own) and own[0].startswith(_BOM)
        end = own[at].endswith("\r") if at < len(own) else self._crlf
        for mark, text in hunk.marked:
            if mark == "+":
                self.lines.append(text.removesuffix("\r").removeprefix(_BOM) + ("\r" if end else ""))
                continue
            end = own[at].endswith("\r")
            if mark == " ":
                self.lines.append(own[at])
            at += 1
        if first and self.lines:
            self.lines[0] = _BOM + self.lines[0].removeprefix(_BOM)

    def text(self) -> str:
        """All of it."""
        made = "\n".join(self.lines)
        if self._open:
            return made.removesuffix("\r") if self._lent else made
        return f"{made}\n" if self.lines else ""
