"""Talk to the control socket of a process of this user."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any, Self

import msgspec

from toolroll.control.server import MAX_LINE_BYTES, PREFIX
from toolroll.host.runtime import user_sockets

_CONNECT_TIMEOUT_S = 2.0
_ANSWER_TIMEOUT_S = 60.0


class ControlError(Exception):
    """The process refused a request; the message says why."""


class ControlClient:
    """One connection to a process, for one thread. Also a context manager.

    OSError where the process is gone or does not answer.
    """

    def __init__(self, name: str, timeout: float = _ANSWER_TIMEOUT_S) -> None:
        self.name = name
        self._socket = user_sockets.connect(name, _CONNECT_TIMEOUT_S)
        self._socket.settimeout(timeout)
        self._lines = self._socket.makefile("rb")
        self._numbers = itertools.count(1)
        self._events: deque[tuple[str, Any]] = deque()

    def request(self, method: str, **params: Any) -> Any:
        """The result of a method; ControlError if it was refused."""
        id = next(self._numbers)
        self._socket.sendall(msgspec.json.encode({"id": id, "method": method, "params": params}) + b"\n")
        while True:
            found = self._read()
            if "event" in found:
                self._events.append((found["event"], found["data"]))
            elif found.get("id") in (id, None):
                if "error" in found:
                    raise ControlError(found["error"])
                return found["result"]

    def act(self, process: Mapping[str, Any], method: str, **params: Any) -> Any:
        """The result of a method that changes something in this process, as `hello` described it; others refuse it."""
        meant = {"id": process["id"], "started": process["started"]}
        return self.request(method, **params, process=meant)

    def events(self) -> Iterator[tuple[str, Any]]:
        """The events after `subscribe`, as they come, until the process ends."""
        self._socket.settimeout(None)
        while True:
            while self._events:
                yield self._events.popleft()
            try:
                found = self._read()
            except OSError:
                return
            if "event" in found:
                yield found["event"], found["data"]

    def close(self) -> None:
        """End the connection; another thread that waits for events returns."""
        with suppress(OSError):
            self._socket.shutdown(2)
        self._lines.close()
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self) -> dict[str, Any]:
        line = self._lines.readline(MAX_LINE_BYTES + 1)
        if not line.endswith(b"\n"):
            raise ConnectionResetError(f"The process of {self.name!r} has ended.")
        found: dict[str, Any] = msgspec.json.decode(line)
        return found


def find_processes(workspace: str | None = None, *, skip: Collection[str] = ()) -> list[dict[str, Any]]:
    """What each running process says of itself (`hello`), the oldest first: all, or those of a workspace.

    Those to skip are not asked.
    """
    found = []
    for name in user_sockets.sockets():
        if name.startswith(PREFIX) and name not in skip:
            with suppress(OSError, ControlError), ControlClient(name, _CONNECT_TIMEOUT_S) as client:
                found.append(client.request("hello"))
    return sorted((one for one in found if workspace in (None, one["workspace"])), key=lambda one: one["started"])
