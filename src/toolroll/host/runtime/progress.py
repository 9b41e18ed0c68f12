"""Progress of a call, as its caller sees it."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[float, float | None, str], None]  # takes what is done, the total if it is known, and a short note


def silent(_done: float, _total: float | None, _note: str) -> None:
    """Report nothing: the caller did not ask for progress."""


def go_on_from(progress: Progress, start: float) -> Progress:
    """Report a further part of a call above what was reported before: clients take growing values only."""
    return lambda done, total, note: progress(start + done, total if total is None else start + total, note)
