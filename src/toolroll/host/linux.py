"""What only Linux has, under one name each. Elsewhere a call fails as on a kernel without it, and its user goes on.

Each user tries it and has an answer to the OSError, so that nothing depends on the name of the system but `IS_LINUX`,
which saves a trial where the answer is known.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

IS_LINUX = sys.platform == "linux"
IS_DARWIN = sys.platform == "darwin"


def fail(*_: Any, **__: Any) -> Any:
    """Stand in for a call that is missing."""
    raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))


listxattr: Callable[..., list[str]] = getattr(os, "listxattr", fail)
getxattr: Callable[..., bytes] = getattr(os, "getxattr", fail)
setxattr: Callable[..., None] = getattr(os, "setxattr", fail)
removexattr: Callable[..., None] = getattr(os, "removexattr", fail)
pidfd_open: Callable[[int], int] = getattr(os, "pidfd_open", fail)
memfd_create: Callable[[str, int], int] = getattr(os, "memfd_create", fail)
eventfd: Callable[[int, int], int] = getattr(os, "eventfd", fail)
waitid: Callable[[int, int, int], Any] = getattr(os, "waitid", fail)
O_PATH: int = getattr(os, "O_PATH", 0)
# Numbers of Linux on all machines that it is built for here.
AF_NETLINK, SO_PEERCRED = 16, 17
F_SETPIPE_SZ = 1031
F_ADD_SEALS, EVERY_SEAL = 1033, 0xF
MFD_CLOEXEC, MFD_ALLOW_SEALING = 1, 2


def send_signal(process: int, number: int) -> None:
    """Send a signal to a process by its descriptor."""
    send: Callable[[int, int], None] = getattr(signal, "pidfd_send_signal", fail)
    send(process, number)


def run_before_others() -> None:
    """Schedule the calling thread before those of ordinary processes."""
    schedule: Callable[..., None] = getattr(os, "sched_setscheduler", fail)
    schedule(0, getattr(os, "SCHED_RR", 2), getattr(os, "sched_param", int)(1))
