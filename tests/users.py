"""Tests that need another user, or a root whom the kernel refuses files as it does everybody else."""

import ctypes
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_PR_SET_SECUREBITS, _NO_ROOT = 28, 1  # a program that root starts gains no capability
_OVERRIDE, _SEARCH = 1 << 1, 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
_REPOSITORY = Path(__file__).parents[1]


def need_another_user() -> None:
    """Skip the test unless this process can become another user who can still enter the folders of the test."""
    if os.geteuid() != 0:
        pytest.skip("needs root: only root can become another user")
    for folder in (Path(tempfile.gettempdir()).resolve(), _REPOSITORY.resolve()):
        for one in (folder, *folder.parents):
            if not one.stat().st_mode & 0o001:
                pytest.skip(f"needs a folder that another user may enter: {str(one)!r} is private")


@contextmanager
def bound_by_modes() -> Iterator[None]:
    """Let the modes of files bind this thread, and all that it starts, also when it is root's."""
    if os.geteuid() != 0:
        yield
        return
    if sys.platform != "linux":
        pytest.skip("needs Linux, where root can give up its rights to files for a while")
    libc = ctypes.CDLL(None, use_errno=True)
    header, held, less = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(), (ctypes.c_uint32 * 6)()
    assert libc.capget(header, held) == 0
    less[:] = held[:]
    less[0] &= ~(_OVERRIDE | _SEARCH)  # of those in effect; they stay permitted
    if libc.prctl(_PR_SET_SECUREBITS, _NO_ROOT, 0, 0, 0):
        pytest.skip(f"needs the right to give up root's rights to files: {os.strerror(ctypes.get_errno())}")
    assert libc.capset(header, less) == 0
    try:
        yield
    finally:
        assert libc.capset(header, held) == 0
        assert libc.prctl(_PR_SET_SECUREBITS, 0, 0, 0, 0) == 0
