"""The guarded client as a transport of httpx2, for SDKs that take an httpx2 client."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import httpx2

from toolroll.host.http.deadline import SILENCE_S, Deadline
from toolroll.host.http.request import CONNECTION_HEADERS, Request

if TYPE_CHECKING:
    from toolroll.host.http.client import Client
    from toolroll.host.runtime.cancellation import CancelToken


class _Body(httpx2.SyncByteStream):
    """A body that is read while the exchange is open."""

    def __init__(self, pieces: Iterator[bytes], closing: ExitStack) -> None:
        self._pieces = pieces
        self._closing = closing

    def __iter__(self) -> Iterator[bytes]:
        return self._pieces

    def close(self) -> None:
        self._closing.close()


class GuardedTransport(httpx2.BaseTransport):
    """Sends the requests of one call through a guarded client, whose connections outlive the transport.

    Every failure is a ToolError. `seconds` bound the whole call, `silence` each wait for the server; timeouts that
    are set on a request are ignored. Redirects are not followed.
    """

    def __init__(self, client: Client, token: CancelToken, *, seconds: float, silence: float = SILENCE_S) -> None:
        self._client = client
        self._deadline = Deadline(token, seconds, silence)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        headers = {name: value for name, value in request.headers.items() if name not in CONNECTION_HEADERS}
        asked = Request(request.method, str(request.url), headers, request.read() or None)
        with ExitStack() as closing:
            answer = closing.enter_context(self._client.open(asked, self._deadline))
            # The body is decoded already.
            kept = {
                name: text
                for name, text in answer.headers.items()
                if name not in ("content-encoding", "content-length")
            }
            return httpx2.Response(answer.status, headers=kept, stream=_Body(answer.pieces, closing.pop_all()))
