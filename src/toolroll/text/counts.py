"""Numbers with the word for what they count."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def lines(first: int, last: int) -> str:
    """`line 3`, `lines 3-5`."""
    return f"line {first}" if first == last else f"lines {first}-{last}"
