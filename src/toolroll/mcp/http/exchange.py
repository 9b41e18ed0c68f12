"""The messages for one HTTP request: one JSON document, or a stream of events."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from toolroll.host.rpc.codecs import encode_json
from toolroll.mcp.http.connection import Headers, HttpConnection
from toolroll.mcp.wire import CANCELLED, Id, RpcError, make_error

PING_INTERVAL_S = 15.0  # between two signs of life of a stream that has nothing to say
JSON = (b"content-type", b"application/json")
_EVENTS = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache, no-transform")]
_PING = b": ping\r\n\r\n"


class HttpExchange:
    """The messages for one request. Any thread may `put` them; they are sent at once."""

    def __init__(
        self,
        connection: HttpConnection,
        gone: Callable[[], None],
        id: Id | None = None,
        statuses: dict[int, int] | None = None,
    ) -> None:
        """`gone` is called when the client leaves before the answer. `id`: of the request; `statuses`: those of
        answers with an error, by its code.
        """
        self.headers: Headers = []
        self._connection, self._gone, self._id, self._statuses = connection, gone, id, statuses or {}
        self._lock = threading.Lock()
        self._streams = self._is_over = False
        self._ended: threading.Event | None = None
        self._last = time.monotonic()

    def put(self, message: Any) -> None:
        """Send a message, the last one if it answers; None in place of the answer to a request that was cancelled."""
        if message is None:
            message = make_error(self._id, RpcError(CANCELLED, "Request cancelled"))
        answers = isinstance(message, list) or "method" not in message
        with self._lock:
            if self._is_over:
                return
            self._last = time.monotonic()
            try:
                self._send(message, answers)
            except OSError:  # the client is gone, which `look` notices
                self._connection.shut()
            if answers:
                result = message.get("result") if isinstance(message, dict) else None
                if self._ended is None and isinstance(result, dict) and result.get("resultType") == "input_required":
                    self._connection.hand_over()  # the call keeps its thread until the client's next request
                self._end()

    def stream(self) -> None:
        """Begin a stream for what is no answer: a client that does not read it loses its connection."""
        with self._lock:
            self._begin_stream()

    def wait(self) -> None:
        """Return when the answer was sent, or the client has left."""
        with self._lock:
            if self._is_over:
                return
            self._ended = threading.Event()
        self._ended.wait()

    def end(self) -> None:
        """Send no more."""
        with self._lock:
            self._end()

    def look(self) -> bool:
        """End it if the client has left, and give a silent stream a sign of life; False if it has ended."""
        if self._is_over:
            return False
        if self._connection.has_left():
            self._gone()
            self._connection.shut()  # a thread may wait for it to read
            self.end()
        elif time.monotonic() - self._last > PING_INTERVAL_S and self._lock.acquire(blocking=False):
            try:
                self._last = time.monotonic()
                if not self._is_over:
                    self._begin_stream()
                    self._connection.offer_part(_PING)
            except OSError:
                self._connection.shut()
            finally:
                self._lock.release()
        return True

    def _send(self, message: Any, answers: bool) -> None:
        data = encode_json(message)
        if answers and not self._streams:
            error = message.get("error") if isinstance(message, dict) else None
            status, headers = (self._statuses.get(error["code"], 200), []) if error else (200, self.headers)
            self._connection.respond(status, [JSON, *headers], data)
            return
        event = b"event: message\r\ndata: " + data + b"\r\n\r\n"
        if self._id is None:
            if not self._connection.offer_part(event):
                self._connection.shut()
            return
        self._begin_stream()
        self._connection.send_part(event)
        if answers:
            self._connection.end_stream()

    def _begin_stream(self) -> None:
        if not self._streams:
            self._streams = True
            self._connection.begin_stream([*_EVENTS, *self.headers])

    def _end(self) -> None:
        self._is_over = True
        if self._ended is not None:
            self._ended.set()
