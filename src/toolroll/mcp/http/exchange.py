"""What is sent for one HTTP request: one JSON document, or a stream of events."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from toolroll.host.rpc.codecs import encode_json
from toolroll.mcp.http.gate import Headers, Receive, Send
from toolroll.mcp.wire import CANCELLED, Id, RpcError, make_error

PING_INTERVAL_S = 15.0  # between two signs of life of a stream that has nothing to say
_WATCH_AFTER_S = 0.05  # most answers are there before it is worth looking whether the client leaves
_MAX_QUEUED = 256  # notifications for a client that reads slowly
_EVENTS = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache, no-transform")]


class HttpExchange:
    """The messages for one request. `put` may be called from any thread; the rest is for the event loop."""

    def __init__(self, id: Id | None = None, statuses: dict[int, int] | None = None) -> None:
        """`id`: of the request; `statuses`: those of answers with an error, by its code."""
        self.headers: Headers = []
        self._id = id
        self._statuses = statuses or {}
        self._loop = asyncio.get_running_loop()
        self._messages: deque[tuple[bytes, int]] = deque()
        self._came = asyncio.Event()
        self._over = False

    def put(self, message: Any) -> None:
        """Send a message, the last one if it answers; None in place of the answer to a request that was cancelled."""
        if message is None:
            message = make_error(self._id, RpcError(CANCELLED, "Request cancelled"))
        answers = isinstance(message, list) or "method" not in message
        error = message.get("error") if answers and isinstance(message, dict) else None
        status = self._statuses.get(error["code"], 200) if error else 200
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._add, encode_json(message), status, answers)

    def end(self) -> None:
        """Send no more."""
        self._over = True
        self._came.set()

    def _add(self, message: bytes, status: int, answers: bool) -> None:
        if self._over or (not answers and len(self._messages) >= _MAX_QUEUED):
            return
        self._messages.append((message, status))
        self._over = answers
        self._came.set()

    async def answer(self, receive: Receive, send: Send, gone: Callable[[], None]) -> None:
        """Send the messages until the answer; `gone` is called when the client leaves before it."""
        watching: asyncio.Future[None] | None = None
        try:
            if not await self._wait(_WATCH_AFTER_S):
                watching = asyncio.ensure_future(self._watch(receive, gone))
                await self._wait(PING_INTERVAL_S)
            if self._over and len(self._messages) == 1:
                message, status = self._messages.popleft()
                await send_json(send, status, message, *self.headers)
            else:
                watching = watching or asyncio.ensure_future(self._watch(receive, gone))
                await self._stream(send)
        finally:
            if watching is not None:
                watching.cancel()

    async def _wait(self, seconds: float) -> bool:
        if not self._came.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._came.wait()
        return self._came.is_set()

    async def stream(self, receive: Receive, send: Send) -> None:
        """Send messages as events until `end`, or until the client leaves."""
        watching = asyncio.ensure_future(self._watch(receive, self.end))
        try:
            await self._stream(send)
        finally:
            watching.cancel()

    async def _stream(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [*_EVENTS, *self.headers]})
        while self._messages or not self._over:
            if self._messages:
                message, _ = self._messages.popleft()
                event = b"event: message\r\ndata: " + message + b"\r\n\r\n"
            else:
                self._came.clear()
                event = b"" if await self._wait(PING_INTERVAL_S) else b": ping\r\n\r\n"
            await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def _watch(self, receive: Receive, gone: Callable[[], None]) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        gone()
        self.end()


async def send_json(send: Send, status: int, message: bytes, *headers: tuple[bytes, bytes]) -> None:
    """Send one document as the whole response; an empty one says only the status."""
    own = (b"content-type", b"application/json"), (b"content-length", str(len(message)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*own, *headers]})
    await send({"type": "http.response.body", "body": message})
