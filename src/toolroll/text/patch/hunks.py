"""The hunks of a unified diff. The counts in a header are believed only when the lines agree with them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

from toolroll.text.patch.model import Hunk, unreadable

_HEADER = re.compile(r"@@ *-(\d{1,9})(?:,(\d{1,9}))? +\+(\d{1,9})(?:,(\d{1,9}))? *(?:@@(.*))?$")
_WORDLESS = re.compile(r"[-+@,.\s\d\u2026]*")
_VERSION = re.compile(r"\d+\.\d+|$")


@dataclass(slots=True)
class _Body:
    """The lines of one hunk while they are read, each with its mark."""

    lines: list[str] = field(default_factory=list)
    olds: int = 0
    news: int = 0
    lost: int = 0
    """How many of the last lines are blank ones without their leading space."""
    open_at: dict[str, int] = field(default_factory=dict)
    """The mark of each line without a line feed, and how many lines had been read by then."""
    next: int = 0
    agrees: bool = True
    """It has as many lines as its header says."""

    def add(self, text: str) -> None:
        blank = text in ("", "\r")
        self.lines.append(f" {text}" if blank else text)
        self.olds += not text.startswith("+")
        self.news += not text.startswith("-")
        self.lost = self.lost + 1 if blank else 0

    def no_newline(self, text: str, number: int) -> None:
        if not self.lines:
            unreadable(number, "it says 'No newline at end of file', but there is no line before it.")
        if text.endswith("\r"):  # the whole patch was written with carriage returns
            self.lines[-1] = self.lines[-1].removesuffix("\r")
        self.open_at[self.lines[-1][0]] = len(self.lines)
        self.lost = 0


def is_hunk(line: str) -> bool:
    """The line begins a hunk, with numbers or without."""
    return line.startswith("@@") and not line.startswith("@@@")


def read(lines: Sequence[str], at: int) -> tuple[Hunk, int]:
    """The hunk whose header is line `at` (from 0), and the line after it."""
    header = lines[at].rstrip("\r")
    begin = at + 1
    found = _HEADER.match(header)
    if found is None:
        section = "" if _WORDLESS.fullmatch(header) else header.strip("@ ")
        return _filled(Hunk("", (), section=section, line=begin), _body(lines, begin))
    starts, counts = (int(found[1]), int(found[3])), (int(found[2] or 1), int(found[4] or 1))
    section = (found[5] or "").strip()
    body = _body(lines, begin, counts)
    hunk = Hunk("", (), *starts, section, counted=body.agrees, line=begin)
    return _filled(hunk, body if body.agrees else _body(lines, begin))


def _filled(hunk: Hunk, body: _Body) -> tuple[Hunk, int]:
    if not body.lines:
        unreadable(hunk.line, "this hunk has no lines. Begin each with a blank, '-' or '+'.")
    marks, texts = "".join(line[0] for line in body.lines), tuple(line[1:] for line in body.lines)
    olds, news = _open(body, hunk.line)
    return hunk._replace(marks=marks, texts=texts, old_open=olds, new_open=news), body.next


def _open(body: _Body, number: int) -> tuple[bool, bool]:
    """Whether the last old and the last new line lack a line feed; no other line may."""
    if not body.open_at:
        return False, False
    flags = []
    for gone, side in (("+", "old"), ("-", "new")):
        marks = [at for mark, at in body.open_at.items() if mark != gone]
        last = max((at for at, line in enumerate(body.lines, 1) if line[0] != gone), default=0)
        if any(at != last for at in marks):
            unreadable(number, f"in this hunk a line without a newline is not the last of the {side} file.")
        flags.append(bool(marks))
    return flags[0], flags[1]


def _body(lines: Sequence[str], at: int, counts: tuple[int, int] | None = None) -> _Body:
    """The body as the header counts it, or without counts up to whatever cannot belong to it."""
    body = _Body()
    while at < len(lines) and (body.olds < counts[0] or body.news < counts[1] if counts else not _ends(lines, at)):
        if lines[at].startswith("\\"):
            body.no_newline(lines[at], at + 1)
        elif lines[at].startswith((" ", "+", "-")) or lines[at] in ("", "\r"):
            body.add(lines[at])
        else:
            if counts is None:
                _check_stray(lines, at)
            break
        at += 1
    if counts and at < len(lines) and lines[at].startswith("\\") and body.lines:
        body.no_newline(lines[at], at + 1)
        at += 1
    body.next = at
    body.agrees = (body.olds, body.news) == counts and not _goes_on(lines, at)
    if counts is None and body.lost:  # blank lines between this hunk and what follows
        del body.lines[-body.lost :]
    return body


def _goes_on(lines: Sequence[str], at: int) -> bool:
    """More lines of the hunk follow, though its counts are used up."""
    marks: tuple[str, ...] = (" ", "+", "-", "\\")
    while at < len(lines) and lines[at] in ("", "\r"):
        at += 1
        marks = ("+", "-")  # a blank and then an indented line may as well be prose
    return at < len(lines) and lines[at].startswith(marks) and not _ends(lines, at)


def _ends(lines: Sequence[str], at: int) -> bool:
    """The line begins another hunk, another file or the signature of a mail."""
    line = lines[at]
    return line.startswith(("@@", "diff --git ")) or is_file(lines, at) or _is_signature(lines, at)


def is_file(lines: Sequence[str], at: int) -> bool:
    """The line and the one after it name the old and the new file."""
    return (
        lines[at].startswith("--- ")
        and at + 1 < len(lines)
        and lines[at + 1].startswith("+++ ")
        and (at + 2 >= len(lines) or not lines[at + 2].startswith((" ", "+", "-")))
    )


def _is_signature(lines: Sequence[str], at: int) -> bool:
    if lines[at].rstrip() != "--":
        return False
    rest = [line for line in lines[at + 1 : at + 4] if line.strip()]
    return not rest or (_VERSION.match(rest[0]) is not None and (len(rest) == 1 or rest[1].startswith("From ")))


def _check_stray(lines: Sequence[str], at: int) -> None:
    """Raise if changed lines follow this one, which is no part of a hunk: then a mark was forgotten."""
    for line in islice(lines, at + 1, None):
        if line.startswith(("@@", "diff ", "--- ", "From ", "Index: ")) or line.rstrip() == "--":
            return
        if line.startswith(("+", "-")):
            unreadable(
                at + 1,
                f"{lines[at][:80]!r} stands inside a hunk, but does not begin with a blank, '-' or '+'. "
                "Put a blank before each line that stays.",
            )
