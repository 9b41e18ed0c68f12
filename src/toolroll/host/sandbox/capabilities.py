"""Giving up root's powers: what is left of uid 0 afterwards is an ordinary user with that number."""

from __future__ import annotations

import errno
import struct

from toolroll.host.sandbox.kernel import Kernel

_PR_CAPBSET_DROP = 24
_PR_SET_SECUREBITS = 28
_PR_CAP_AMBIENT = 47
_AMBIENT_CLEAR_ALL = 4
_VERSION_3 = 0x20080522
# Root is nobody special, changes of user give nothing, no capability is kept or raised; and all that for good.
_SECUREBITS = 0b11101111
_MOST = 64


def drop(kernel: Kernel) -> None:
    """Take every capability from the calling thread and from what it will start.

    Without the right to narrow the bounding set there is nothing to narrow: then no_new_privileges, which must be
    set, keeps a new program from gaining what the thread has not.
    """
    try:
        for capability in range(_MOST):
            kernel.prctl(_PR_CAPBSET_DROP, capability)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EPERM):  # beyond the last one; not ours to narrow
            raise
    try:
        kernel.prctl(_PR_SET_SECUREBITS, _SECUREBITS)
    except OSError as error:
        if error.errno != errno.EPERM:
            raise
    kernel.prctl(_PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL)
    kernel.call("capset", struct.pack("=Ii", _VERSION_3, 0), bytes(24))
