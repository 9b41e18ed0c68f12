"""Talk to the control socket of a process of this user."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Self

from toolroll.control.server import PREFIX
from toolroll.host.rpc.channel import Channel, RefusedError, SocketStream
from toolroll.host.rpc.codecs import LineCodec
from toolroll.host.runtime import user_sockets

_CONNECT_TIMEOUT_S = 2.0
_ANSWER_TIMEOUT_S = 60.0

Event = tuple[str, Any]


class ControlClient:
    """One connection to a process. Also a context manager.

    OSError where the process is gone or does not answer, RefusedError where it refuses a request.
    """

    def __init__(
        self, name: str, timeout: float = _ANSWER_TIMEOUT_S, on_event: Callable[[Event | None], None] | None = None
    ) -> None:
        """`on_event` gets each event after `subscribe`, in a thread of the connection, and None at the end."""
        self.name, self._timeout = name, timeout
        self._events = SimpleQueue[Event | None]()
        put = on_event or self._events.put
        stream = SocketStream(user_sockets.connect(name, _CONNECT_TIMEOUT_S))
        self.channel = Channel(stream, LineCodec(), on_notification=lambda *event: put(event), on_end=lambda: put(None))

    def request(self, method: str, **params: Any) -> Any:
        """The result of a method."""
        return self.channel.call(method, params, deadline=time.monotonic() + self._timeout)

    def act(self, process: Mapping[str, Any], method: str, **params: Any) -> Any:
        """The result of a method that changes something in this process, as `hello` described it; others refuse it."""
        meant = {"id": process["id"], "started": process["started"]}
        return self.request(method, **params, process=meant)

    def events(self) -> Iterator[Event]:
        """The events after `subscribe`, as they come, until the process ends."""
        while (event := self._events.get()) is not None:
            yield event
        self._events.put(None)

    def close(self) -> None:
        """End the connection; another thread that waits for events returns."""
        self.channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def find_processes(workspace: str | None = None, *, skip: Collection[str] = ()) -> list[dict[str, Any]]:
    """What each running process says of itself (`hello`), the oldest first: all, or those of a workspace.

    Those to skip are not asked.
    """
    found = []
    for name in user_sockets.sockets():
        if name.startswith(PREFIX) and name not in skip:
            with suppress(OSError, RefusedError), ControlClient(name, _CONNECT_TIMEOUT_S) as client:
                found.append(client.request("hello"))
    return sorted((one for one in found if workspace in (None, one["workspace"])), key=lambda one: one["started"])
