"""Keep numpy to one thread."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

_NAMES = ("scipy_openblas_{}_num_threads64_", "openblas_{}_num_threads64_", "openblas_{}_num_threads")


@contextmanager
def one_thread() -> Iterator[None]:
    """Let numpy multiply matrices without threads of its own, as far as that can be asked of it.

    The matrices here are small, and threads that wait for each other on a busy machine take many times as long.
    """
    get, put = _threads()
    before = get()
    put(1)
    try:
        yield
    finally:
        put(before)


@cache
def _threads() -> tuple[Callable[[], int], Callable[[int], object]]:
    """Getter and setter of the thread count of numpy's OpenBLAS; without one, functions that do nothing."""
    import ctypes

    import numpy

    folder = os.path.join(os.path.dirname(os.path.dirname(numpy.__file__)), "numpy.libs")
    found = [name for name in os.listdir(folder) if "openblas" in name] if os.path.isdir(folder) else []
    for library in (ctypes.CDLL(os.path.join(folder, name)) for name in found):
        for name in _NAMES:
            if hasattr(library, name.format("set")):
                return getattr(library, name.format("get")), getattr(library, name.format("set"))
    return (lambda: 1), (lambda _count: None)
