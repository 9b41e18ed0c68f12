"""A child that runs one module of this package alone, and is asked over pipes with frames of four bytes of length."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from toolroll.host.runtime.cancellation import POLL_SECONDS, CancelToken
from toolroll.host.runtime.launcher import PACKAGE, PIPE, AccessRules, ChildProcess, Launcher, module_paths, wait_for

_MAX_FRAME_BYTES = 256 << 20
# A bare package module: a child needs little of what toolroll/__init__ imports.
START_CODE = """
import importlib, sys, types
here, name, count = sys.argv[1:4]
package = sys.modules["toolroll"] = types.ModuleType("toolroll")
package.__path__ = [here]
words = sys.argv[4 + int(count):]
sys.path[:] = sys.argv[4:4 + int(count)]
importlib.import_module(name).main(*words)
"""


def start_module(
    launcher: Launcher, name: str, words: Sequence[str] = (), access: AccessRules | None = None, **how: Any
) -> ChildProcess:
    """Start our own Python on `main(*words)` of a module of ours; `how` is that of `Launcher.start`."""
    paths = module_paths()
    argv = [PACKAGE, name, str(len(paths)), *paths, *words]
    return launcher.start_python(START_CODE, argv, access, **how)


class FrameTooLargeError(Exception):
    """A child has more to say than is taken."""


class PythonChild:
    """A running child. It is closed after an error, for it may be in the middle of an answer."""

    def __init__(
        self, launcher: Launcher, name: str, words: Sequence[str] = (), access: AccessRules | None = None
    ) -> None:
        self._process = start_module(launcher, name, words, access, stdin=PIPE, stdout=PIPE)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout
        self._events = select.poll()
        self._events.register(self._out.fileno(), select.POLLIN)

    def send(self, head: bytes, rest: bytes = b"") -> None:
        """Send a frame, and bytes that belong to it; EOFError if the child has ended."""
        data = memoryview(b"".join((len(head).to_bytes(4, "big"), head, rest)))
        try:
            while data:
                data = data[os.write(self._in.fileno(), data) :]
        except BrokenPipeError:
            raise EOFError from None

    def receive_frame(self, token: CancelToken | None, deadline: float | None = None) -> bytes:
        return self.receive(int.from_bytes(self.receive(4, token, deadline), "big"), token, deadline)

    def receive(self, count: int, token: CancelToken | None, deadline: float | None = None) -> bytes:
        """Exactly `count` bytes; EOFError if the child has ended, TimeoutError after the deadline."""
        if count > _MAX_FRAME_BYTES:
            raise FrameTooLargeError
        parts: list[bytes] = []
        while count > 0:
            if token is not None:
                token.check()
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError
            if self._events.poll(1000 * POLL_SECONDS):
                part = os.read(self._out.fileno(), min(count, 1 << 20))
                if not part:
                    raise EOFError
                parts.append(part)
                count -= len(part)
        return b"".join(parts)

    def close(self) -> int:
        """End the child; its exit status, which says why if it had ended by itself."""
        process = self._process
        status = process.poll()
        if status is None and any(event & select.POLLHUP for _, event in self._events.poll(0)):
            status = wait_for(process, 0.2)  # it is about to exit
        if status is None:
            process.kill()
        for pipe in (self._in, self._out):
            with suppress(OSError):
                pipe.close()
        ended = process.wait()
        return status if status is not None else ended
