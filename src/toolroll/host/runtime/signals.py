"""Signal masks of threads."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # the C module behind `signal` has no stubs
from collections.abc import Iterable
from typing import cast


def mask(how: int, signals: Iterable[int]) -> set[int]:
    """Change which signals the calling thread blocks; return those that it blocked before, as plain numbers.

    `signal.pthread_sigmask` looks up the name of each of them, which takes longer than to start a thread.
    """
    return cast("set[int]", _signal.pthread_sigmask(how, signals))
