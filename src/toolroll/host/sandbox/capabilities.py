"""Drop all capabilities: uid 0 is an ordinary user afterwards."""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterator
from contextlib import contextmanager

from toolroll.host.sandbox.syscalls import Kernel

_PR_CAPBSET_DROP = 24
_PR_SET_SECUREBITS = 28
_PR_CAP_AMBIENT = 47
_AMBIENT_CLEAR_ALL = 4
_VERSION_3 = 0x20080522
# Root has no special rights, changes of user give nothing, no capability is kept or raised; and all that for good.
_SECUREBITS = 0b11101111
_MOST = 64


READ_SEARCH = 2
"""CAP_DAC_READ_SEARCH: to read what the modes of files deny. Landlock confines a process that has it all the same."""


def drop(kernel: Kernel, *, keep: int | None = None) -> None:
    """Take every capability but `keep` from the calling thread and from what it will start.

    A thread that has not got that one keeps none. Without the right to narrow the bounding set there is nothing to
    narrow: then no_new_privileges, which must be set, keeps a new program from gaining what the thread has not.
    """
    with _denied(errno.EINVAL, errno.EPERM):  # beyond the last one; not ours to narrow
        for capability in range(_MOST):
            if capability != keep:
                kernel.prctl(_PR_CAPBSET_DROP, capability)
    if keep is None:
        with _denied(errno.EPERM):
            kernel.prctl(_PR_SET_SECUREBITS, _SECUREBITS)
    kernel.prctl(_PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL)
    if keep is not None:
        with _denied(errno.EPERM):  # not ours to keep
            _set(kernel, 1 << keep)
            return
    _set(kernel, 0)


@contextmanager
def _denied(*numbers: int) -> Iterator[None]:
    """These errors of the kernel end the block and no more."""
    try:
        yield
    except OSError as error:
        if error.errno not in numbers:
            raise


def _set(kernel: Kernel, mask: int) -> None:
    kernel.call("capset", struct.pack("=Ii", _VERSION_3, 0), struct.pack("=6I", mask, mask, 0, 0, 0, 0))
