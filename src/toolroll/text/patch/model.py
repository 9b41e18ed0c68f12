"""What a patch says, before any file is looked at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, NoReturn

from toolroll.result import ErrorCode, ToolError

Kind = Literal["change", "create", "delete", "rename", "copy"]
_SWAPPED = str.maketrans("-+", "+-")


class Hunk(NamedTuple):  # of which a patch may have many, and which are made in half the time of a dataclass
    """Some lines that belong together. The numbers are hints: what counts is that the lines fit."""

    marks: str
    """What each line begins with: a blank, "-" or "+"."""
    texts: tuple[str, ...]
    """What follows it, without the line feed; a carriage return before that is kept."""
    old_start: int | None = None
    new_start: int | None = None
    section: str = ""
    """What the header says the hunk lies under. A hunk that fits where its number says needs no section."""
    anchors: tuple[str, ...] = ()
    """Lines that must stand above the hunk, each beneath the one before it."""
    at_end: bool = False
    """It must reach the end of the file."""
    old_open: bool = False
    """The last old line ends the file without a line feed."""
    new_open: bool = False
    counted: bool = False
    """Its header says rightly how many lines it has, as a program does that makes patches."""
    ordered: bool = False
    """It means the first place that fits behind the hunk before it."""
    line: int = 0
    """Where it begins in the patch."""

    @property
    def marked(self) -> Iterator[tuple[str, str]]:
        """Each line with its mark."""
        return zip(self.marks, self.texts, strict=True)

    @property
    def old(self) -> list[str]:
        """The lines that must stand in the file."""
        return [text for mark, text in self.marked if mark != "+"]

    @property
    def new(self) -> list[str]:
        """The lines that stand there afterwards."""
        return [text for mark, text in self.marked if mark != "-"]

    @property
    def only_new(self) -> list[str]:
        """The lines that are added."""
        return [text for mark, text in self.marked if mark == "+"]

    @property
    def context(self) -> tuple[int, int]:
        """How many lines are shown before the first change, and after the last."""
        size = len(self.marks)
        return size - len(self.marks.lstrip(" ")), size - len(self.marks.rstrip(" "))

    @property
    def added(self) -> int:
        return self.marks.count("+")

    @property
    def removed(self) -> int:
        return self.marks.count("-")

    def reversed(self) -> Hunk:
        """The hunk that takes this one back."""
        return self._replace(
            marks=self.marks.translate(_SWAPPED),
            old_start=self.new_start,
            new_start=self.old_start,
            old_open=self.new_open,
            new_open=self.old_open,
        )


@dataclass(frozen=True, slots=True)
class BinaryPatch:
    """What makes the new content of the old one, and the way back if the patch has it."""

    there: tuple[str, bytes]
    back: tuple[str, bytes] | None
    old_id: str = ""
    """What git calls the old content by; empty if the patch does not say it in full."""
    new_id: str = ""

    def reversed(self) -> BinaryPatch:
        """The patch that takes this one back."""
        if self.back is None:
            raise ToolError(ErrorCode.UNSUPPORTED, "The patch does not say how a binary file of it was before.")
        return BinaryPatch(self.back, self.there, self.new_id, self.old_id)


@dataclass(frozen=True, slots=True)
class FilePatch:
    """What is to happen to one file. A name is None where the patch says no more than /dev/null."""

    kind: Kind
    old: str | None
    new: str | None
    hunks: tuple[Hunk, ...] = ()
    old_mode: int | None = None
    new_mode: int | None = None
    git: bool = False
    """It has a `diff --git` header, so what it says about creating, deleting and renaming is certain."""
    bare_names: bool = False
    """The names carry no a/ and b/: they come from rename or copy lines, or from the Begin/End Patch form."""
    blind: bool = False
    """A deletion that does not show what is deleted."""
    binary: BinaryPatch | None = None
    """What happens to the bytes of a file that is no text."""
    line: int = 0

    def reversed(self) -> FilePatch:
        """The patch that takes this one back; a copy stays one, for there is no kind that undoes it."""
        swap: dict[Kind, Kind] = {"create": "delete", "delete": "create"}
        return replace(
            self,
            kind=swap.get(self.kind, self.kind),
            old=self.new,
            new=self.old,
            old_mode=self.new_mode,
            new_mode=self.old_mode,
            hunks=tuple(hunk.reversed() for hunk in self.hunks),
            binary=self.binary.reversed() if self.binary else None,
        )


def unreadable(line: int, message: str) -> NoReturn:
    """The patch itself is faulty at this line of it."""
    raise ToolError(ErrorCode.VALIDATION, f"Line {line} of the patch: {message}", details={"line": line})
