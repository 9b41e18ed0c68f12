"""A guarded transport for SDKs that take an httpx2 client: judged, pinned, bounded and cancellable."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import httpx2

from toolroll.host.http.connection import connected
from toolroll.host.http.deadline import SILENCE, Patience
from toolroll.host.http.response import Head, Reply

if TYPE_CHECKING:
    from toolroll.host.http.client import Client
    from toolroll.host.runtime.cancellation import CancelToken


class GuardedTransport(httpx2.BaseTransport):
    """Sends the requests of one call through a `Client`. Every failure is a ToolError."""

    def __init__(self, client: Client, token: CancelToken, *, seconds: float = 30, silence: float = SILENCE) -> None:
        self._client = client
        self._patience = Patience(token, seconds, silence)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; the answer, whose body is read as it is iterated."""
        client = self._client
        verdict, target = client._judged(str(request.url), self._patience)
        body = request.read()
        request.headers["connection"] = "close"
        lines = [f"{request.method} {target.path} HTTP/1.1".encode(), *(b": ".join(one) for one in request.headers.raw)]
        with ExitStack() as stack:
            wire = stack.enter_context(
                connected(target, verdict.addresses, self._patience, client._route, client._trust)
            )
            wire.send(b"\r\n".join([*lines, b"", body]))
            reply = Reply(wire, target.host, client._most)
            head = reply.head()
            stream = _Body(reply, head, stack.pop_all())
        headers = {name: value for name, value in head.headers.items() if name != "content-encoding"}
        return httpx2.Response(head.status, headers=headers, stream=stream)


class _Body(httpx2.SyncByteStream):
    def __init__(self, reply: Reply, head: Head, stack: ExitStack) -> None:
        self._reply = reply
        self._head = head
        self._stack = stack

    def __iter__(self) -> Iterator[bytes]:
        with self._stack:
            yield from self._reply.pieces(self._head)

    def close(self) -> None:
        self._stack.close()
