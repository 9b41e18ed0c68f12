"""Progress of a call, as its caller sees it."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[float, float | None, str], None]  # takes what is done, the total if it is known, and a short note


def silent(_done: float, _total: float | None, _note: str) -> None:
    """Report nothing: the caller did not ask for progress."""
