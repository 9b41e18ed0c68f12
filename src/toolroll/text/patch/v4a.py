"""Parse the form between `*** Begin Patch` and `*** End Patch`, as codex writes it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from toolroll.text.patch.model import FilePatch, Hunk, Kind, unreadable
from toolroll.text.patch.unified import strip_fence

_BEGIN, _END, _EOF = "*** Begin Patch", "*** End Patch", "*** End of File"
_ADD, _DELETE, _UPDATE = "*** Add File: ", "*** Delete File: ", "*** Update File: "
_MOVE = "*** Move to: "
_FIRST = re.compile(
    rf"^[^\S\n]*(?:{re.escape(_BEGIN)}[^\S\n]*$|\*\*\* (?:Add|Delete|Update) File: |diff --git |--- |@@)", re.MULTILINE
)


def is_v4a(text: str) -> bool:
    """The text is a patch of this form: it begins with it, or with the command that it was wrapped in."""
    found = _FIRST.search(strip_fence(text))
    return found is not None and found[0].lstrip().startswith("*")


def parse(text: str) -> list[FilePatch]:
    """The files of the patch in their order."""
    lines = [_unpadded(line) for line in strip_fence(text).split("\n")]
    marks = [line.rstrip() for line in lines]
    if _BEGIN not in marks:  # then the last line ends it
        at = next(number for number, line in enumerate(lines) if line.startswith((_ADD, _DELETE, _UPDATE)))
        marks = [*marks, _END]
    else:
        at = marks.index(_BEGIN) + 1
    if _END not in marks[at:]:
        unreadable(len(lines), f"{_END!r} is missing: the patch may have been cut off. Send all of it.")
    end = marks.index(_END, at)
    files: list[FilePatch] = []
    while at < end:
        if not marks[at]:
            at += 1
            continue
        file, at = _file(lines, at, end)
        files.append(file)
    if not files:
        unreadable(end + 1, f"the patch names no file. Begin with {_UPDATE + 'name'!r}.")
    return files


def _unpadded(line: str) -> str:
    """A line of the form without blanks before it; lines of files begin with a mark."""
    bare = line.lstrip()
    return bare if bare.startswith((_BEGIN, _END, _ADD, _DELETE, _UPDATE, _MOVE)) else line


def _file(lines: Sequence[str], at: int, end: int) -> tuple[FilePatch, int]:
    line = lines[at].rstrip()
    if line.startswith(_ADD):
        return _added(lines, at, end)
    if line.startswith(_DELETE):
        name = line[len(_DELETE) :].strip()
        return FilePatch("delete", name, None, bare_names=True, blind=True, line=at + 1), at + 1
    if line.startswith(_UPDATE):
        return _updated(lines, at, end)
    return unreadable(
        at + 1, f"{line[:80]!r} is not expected here. Begin a file with {_UPDATE + 'name'!r}, Add or Delete."
    )


def _added(lines: Sequence[str], at: int, end: int) -> tuple[FilePatch, int]:
    name = lines[at].rstrip()[len(_ADD) :].strip()
    found, after = _marked(
        lines, at + 1, end, "+", f"is in the new file {name!r}, of which each line must begin with '+'."
    )
    content = tuple(line[1:] for line in found)
    hunks = (Hunk("+" * len(content), content, 0, 1, line=at + 2),) if content else ()
    return FilePatch("create", None, name, hunks, bare_names=True, line=at + 1), after


def _marked(lines: Sequence[str], at: int, end: int, marks: str, advice: str) -> tuple[Sequence[str], int]:
    """The lines that begin with a mark or are blank, and the line after them; blank ones at the end are left out."""
    start = last = at
    while at < end and not lines[at].startswith(("@@", "*** ")):
        if lines[at][:1] and lines[at][0] in marks:
            last = at + 1
        elif lines[at].strip():
            unreadable(at + 1, f"{lines[at][:80]!r} {advice}")
        at += 1
    return lines[start:last], at


def _updated(lines: Sequence[str], at: int, end: int) -> tuple[FilePatch, int]:
    name = lines[at].rstrip()[len(_UPDATE) :].strip()
    start = at
    at += 1
    new = name
    if at < end and lines[at].startswith(_MOVE):
        new = lines[at].rstrip()[len(_MOVE) :].strip()
        at += 1
    hunks: list[Hunk] = []
    while at < end and not lines[at].startswith((_ADD, _DELETE, _UPDATE)):
        hunk, at = _chunk(lines, at, end)
        if hunk is not None:
            hunks.append(hunk)
    if not hunks and new == name:
        unreadable(start + 1, f"nothing is said about {name!r}. Give lines with '-' and '+', or delete it.")
    kind: Kind = "rename" if new != name else "change"
    return FilePatch(kind, name, new, tuple(hunks), bare_names=True, line=start + 1), at


def _chunk(lines: Sequence[str], at: int, end: int) -> tuple[Hunk | None, int]:
    """One chunk: the `@@` lines above it, its lines, and whether it ends the file."""
    start = at
    anchors = []
    while at < end and lines[at].startswith("@@"):
        if text := lines[at].strip("@ \t\r"):
            anchors.append(text)
        at += 1
    advice = "does not begin with a blank, '-' or '+'. Put a blank before it if it stays."
    found, at = _marked(lines, at, end, " +-", advice)
    at_end = at < end and lines[at].rstrip() == _EOF
    if not at_end and at < end and not lines[at].startswith(("@@", _ADD, _DELETE, _UPDATE)):
        unreadable(at + 1, f"{lines[at][:80]!r} is not expected here.")
    at += at_end
    if not found and not anchors:
        return None, at
    if not found:
        unreadable(start + 1, "no lines follow this '@@'. Give the lines to change beneath it.")
    body = [line if line.startswith((" ", "+", "-")) else f" {line}" for line in found]
    marks, texts = "".join(line[0] for line in body), tuple(line[1:] for line in body)
    return Hunk(marks, texts, anchors=tuple(anchors), at_end=at_end, ordered=True, line=start + 1), at
