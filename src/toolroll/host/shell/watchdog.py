"""A small process that kills our commands if this process is killed.

A program that ends normally, or by a signal that can be caught, kills its commands itself. After SIGKILL
only another can. It holds the other end of a pipe, which the kernel closes with us, and then looks for processes
that have our name in their environment. Those that have emptied it are not found.
"""

from __future__ import annotations

from contextlib import suppress

from toolroll.host.runtime.launcher import DEVNULL, PIPE, ChildProcess, start_process
from toolroll.result import ToolError

_SHELL = "/bin/sh"
# Looks again until no process is left, for one that is being killed may have started another.
_SCRIPT = """
trap '' HUP INT TERM QUIT
read -r line && exit 0
for round in 1 2 3 4 5 6 7 8 9 10; do
    found=$(grep -las "$1" /proc/[0-9]*/environ)  # its status also counts processes that ended during the search
    [ -n "$found" ] || exit 0
    for file in $found; do
        number=${file#/proc/}
        kill -9 "${number%/environ}" 2>/dev/null
    done
done
"""


class Watchdog:
    """Holds until it is closed. Where there is no shell there is none, and nothing else is lost."""

    def __init__(self, name: str) -> None:
        """`name` is part of a variable of every process that is to end with us, and of no other's."""
        self._watcher: ChildProcess | None = None
        # No tier can hold it: it must look at processes and kill them. So it runs nothing but this script.
        argv = [_SHELL, "-c", _SCRIPT, "toolroll-lifeline", name]
        with suppress(ToolError):
            self._watcher = start_process(argv, "/", {"PATH": "/usr/bin:/bin"}, (PIPE, DEVNULL, DEVNULL))

    @property
    def pid(self) -> int:
        return 0 if self._watcher is None else self._watcher.pid

    def close(self) -> None:
        """Let it go: nothing that it would have to end is left."""
        if self._watcher is not None:
            with suppress(BrokenPipeError):  # it was killed
                self._watcher.communicate(b"\n")
            self._watcher.wait()
            self._watcher = None
