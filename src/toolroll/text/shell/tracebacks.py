"""Python tracebacks in an output, cut to the frames that matter."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from toolroll.text.lines import counted

_HEADER = "Traceback (most recent call last):"
_START = r"([ |+]*)(?:Exception Group )?Traceback \(most recent call last\):\s*"
_FRAME = r'  File "(.*)", line \d+(?:, in .*)?\s*'
_REPEATED = r"  \[Previous line repeated \d+ more times?\]\s*"
_LIBRARY = r"[/\\](?:site|dist)-packages[/\\]|[/\\]lib(?:64)?[/\\]python\d[\d.]*[/\\]|^<frozen "
_PYTEST = r"(?m)^=+ (?:test session starts|FAILURES|ERRORS|short test summary info) =+\s*$"


@dataclass(slots=True)
class _Frame:
    file: str
    lines: list[str] = field(default_factory=list)
    repeated: bool = False

    @property
    def is_library(self) -> bool:
        return re.search(_LIBRARY, self.file) is not None


def compact(text: str, *, frames: int = 5) -> str:
    """The text with every traceback cut to its last `frames` frames; those of libraries go first.

    Exceptions, chains and all other output stay as they are, and so does what pytest prints.
    """
    if _HEADER not in text or re.search(_PYTEST, text):
        return text
    lines = text.splitlines(keepends=True)
    shown: list[str] = []
    at = 0
    while at < len(lines):
        start = re.fullmatch(_START, lines[at])
        shown.append(lines[at])
        at += 1
        if start is not None:
            found, at = _frames(lines, at, start[1].replace("+", "|"))
            shown += _cut(found, max(1, frames), start[1].replace("+", "|"))
    return "".join(shown)


def _frames(lines: Sequence[str], at: int, margin: str) -> tuple[list[_Frame], int]:
    """The frames from here on, and where they end."""
    found: list[_Frame] = []
    while at < len(lines):
        line = lines[at]
        inner = line[len(margin) :] if line.startswith(margin) else ""
        if not inner.startswith("  "):
            break
        if frame := re.fullmatch(_FRAME, inner):
            found.append(_Frame(frame[1]))
        elif not found:
            break
        found[-1].lines.append(line)
        found[-1].repeated = found[-1].repeated or re.fullmatch(_REPEATED, inner) is not None
        at += 1
    return found, at


def _cut(found: Sequence[_Frame], most: int, margin: str) -> list[str]:
    kept = _kept(found, most)
    lines: list[str] = []
    left_out = 0
    for at, frame in enumerate(found):
        if at not in kept:
            left_out += 1
            continue
        if left_out:
            lines.append(f"{margin}  ... {counted(left_out, 'frame')} left out ...\n")
            left_out = 0
        lines += frame.lines
    return lines


def _kept(found: Sequence[_Frame], most: int) -> set[int]:
    """The last frame, those that tell of a repetition, the last of the program, then the last of libraries."""
    last = len(found) - 1

    def worth(at: int) -> tuple[bool, bool, bool, int]:
        return (at == last, found[at].repeated, not found[at].is_library, at)

    return set(sorted(range(len(found)), key=worth, reverse=True)[:most])
