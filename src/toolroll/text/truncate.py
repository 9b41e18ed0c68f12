"""The one function that holds an output to a budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Keep = Literal["head", "tail", "middle"]


@dataclass(frozen=True, slots=True)
class Bounded:
    """What is shown, and how many characters of the whole are not."""

    text: str
    cut: int = 0


def bound(text: str, most: int, keep: Keep = "head") -> Bounded:
    """The text within `most` characters, cut at line ends where one is near.

    `keep` says which part stays: the head, the tail, or ("middle") both ends.
    """
    if len(text) <= most:
        return Bounded(text)
    room = max(0, most - 80)  # for the notice itself
    ends = {"head": (room, 0), "tail": (0, room), "middle": (room - room // 2, room // 2)}[keep]
    head, tail = _head(text, ends[0]), _tail(text, ends[1])
    cut = len(text) - len(head) - len(tail)
    notice = f"[Output truncated...] {cut} of {len(text)} characters left out."
    return Bounded("\n".join(part for part in (head.rstrip("\n"), notice, tail) if part), cut)


def bound_lines(text: str, most: int) -> str:
    """Both ends of a text, within `most` lines."""
    lines = text.split("\n")
    if len(lines) <= most:
        return text
    tail = (most - 1) // 2
    return "\n".join([*lines[: most - 1 - tail], "[Output truncated...] The middle is left out.", *lines[-tail:]])


def _head(text: str, room: int) -> str:
    end = text.rfind("\n", room - room // 4, room)
    return text[: end + 1 if end >= 0 else room]


def _tail(text: str, room: int) -> str:
    if room == 0:
        return ""
    start = len(text) - room
    line = text.find("\n", start, start + room // 4)
    return text[line + 1 if line >= 0 else start :]
