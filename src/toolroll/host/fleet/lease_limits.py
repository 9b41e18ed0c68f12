"""What one lease may take: time, and disk in its upper folder. Commands have their own limits of memory and CPU."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolroll.policy.limits import Limits
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.runtime.cancellation import CancelToken

_LOOK_SECONDS = 0.25  # between two looks at the disk of running calls
_BLOCK = 512


@dataclass(frozen=True, slots=True)
class LeaseLimits(Limits):
    """The limits of the calls of a lease, and of the lease as a whole. None is no limit."""

    disk_bytes: int | None = None
    """Of all that the lease has written."""
    seconds: float | None = None
    """From the start of the lease until its last call ends."""
    cpus: float | None = None
    """Processors that its commands may use together. Only a control group can hold that."""
    enforced: str = "per process"
    """How: by rlimits and a watch on the processes of each command, and a watch on the folder of the lease.

    Where control groups are used, it names the limits that they enforce. The fleet sets it.
    """


class DiskWatch:
    """Ends calls that write more than their lease may hold. One thread for all leases, while some call runs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[int, tuple[CancelToken, str, int]] = {}
        self._is_looking = False

    @contextmanager
    def watching(self, token: CancelToken, folder: str, most: int) -> Iterator[None]:
        """Around a call: it is cancelled when the folder holds more than `most` bytes, and than it did before.

        A call that begins above the limit may remove something.
        """
        most = max(most, measure_disk(folder))
        with self._lock:
            self._running[id(token)] = token, folder, most
            if not self._is_looking:
                self._is_looking = True
                threading.Thread(target=self._look, name="toolroll disk", daemon=True).start()
        try:
            yield
        finally:
            with self._lock:
                self._running.pop(id(token), None)

    def _look(self) -> None:
        while True:
            time.sleep(_LOOK_SECONDS)
            with self._lock:
                running = list(self._running.values())
                if not running:
                    self._is_looking = False
                    return
            for token, folder, most in running:
                if measure_disk(folder) > most:
                    token.cancel()


def measure_disk(folder: str) -> int:
    """The bytes that a folder takes on disk."""
    total, above = 0, [folder]
    while above:
        with suppress(OSError), os.scandir(above.pop()) as entries:
            for entry in entries:
                with suppress(OSError):
                    about = entry.stat(follow_symlinks=False)
                    total += about.st_blocks * _BLOCK
                    if stat.S_ISDIR(about.st_mode):
                        above.append(entry.path)
    return total


def over_disk(used: int, most: int) -> ToolError:
    """The error for a lease that holds too much."""
    said = f"The lease has written {used:,} bytes, and its limit is {most:,}. Delete what is not needed."
    return ToolError(ErrorCode.TOO_LARGE, said)
