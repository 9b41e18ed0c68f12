"""One connection: its patience with whoever does not finish the head of a request, and the short way of calls."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from toolroll.mcp.http.caller import nothing
from toolroll.mcp.http.short import HEAD, SHORT, Session, Short, ShortWay, split

SOON = 0.05
"""Seconds after which a call goes the usual way."""
_MOST_BYTES = 64 * 1024  # that wait, or that are a request of the short way


class Connection(H11Protocol):
    """A connection that is closed when the head of a request does not come to its end."""

    def __init__(self, way: ShortWay, patience: float, *arguments: Any, **options: Any) -> None:
        """`patience` is how many seconds the head of a request may take."""
        super().__init__(*arguments, **options)
        self._way = way
        self._patience = patience
        self._late: asyncio.TimerHandle | None = None
        self._short: Short | None = None
        self._handed: Short | None = None
        self._request = b""  # that takes the short way, or may when the rest of it is here
        self._next = b""  # what came after it
        self._soon: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._late = self.loop.call_later(self._patience, transport.close)

    def data_received(self, data: bytes) -> None:
        if self._short is not None:
            self._next += data
            if len(self._next) > _MOST_BYTES:
                self._hand_over()
            return
        before, self._request = self._request, b""
        if not self._takes(before + data, first=not before):
            self._usual(before + data)

    def connection_lost(self, exc: Exception | None) -> None:
        for short in (self._short, self._handed):
            if short is not None:
                short.end()
        self._forget()
        self._in_time()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        self._handed = None
        super().on_response_complete()

    def shutdown(self) -> None:
        if self._request:
            self._hand_over()
        super().shutdown()

    def _takes(self, data: bytes, *, first: bool) -> bool:
        """Whether this goes the short way; if it is the first part of a request, the rest may take a moment."""
        if self._soon is not None:
            self._soon.cancel()
        if not self._is_idle() or self._is_crowded() or self.flow.write_paused or len(data) > _MOST_BYTES:
            return False
        request = split(data)
        session = self._way.known(request) if request is not None else None
        if request is None or session is None or len(request.body) > request.length:
            return False
        whole = len(request.body) == request.length
        if not (self._begin(session, request.body) if whole else first):
            return False
        self._request = data
        self._unset_keepalive_if_required()
        self._in_time()
        self._soon = self.loop.call_later(SOON, self._hand_over)
        return True

    def _begin(self, session: Session, body: bytes) -> bool:
        self._short = self._way.begin(session, body, self._look)
        return self._short is not None

    def _look(self) -> None:
        """Give the answer to the call; without one, it has failed, or has something to ask or to tell."""
        assert self._short is not None
        answer = self._short.answer()
        if answer is None:
            self._hand_over()
            return
        self._short.end()
        head = self._head(len(answer), self._short.session.name)
        _, rest = self._forget()
        self.transport.write(head + answer)
        self.on_response_complete()
        if rest:
            self.data_received(rest)

    def _hand_over(self) -> None:
        """Let the request go the usual way, with the call that it has begun."""
        short = self._short
        request, rest = self._forget()
        if short is not None and self._is_crowded():
            short.end()
            short = None
        if request:
            self._usual(request)
        if short is not None:
            self._handed = short
            self._note(SHORT, short)
        if rest:
            self._usual(rest)

    def _forget(self) -> tuple[bytes, bytes]:
        """Be done with the short way; gives the request that took it, and what came after that."""
        if self._soon is not None:
            self._soon.cancel()
        if self._short is not None:
            self._short.call.caller.want = nothing
        request, rest = self._request, self._next
        self._short, self._request, self._next = None, b"", b""
        return request, rest

    def _usual(self, data: bytes) -> None:
        fresh, before = self._is_idle(), self.scope
        super().data_received(data)
        request = split(data) if fresh and self.scope is not before else None
        if request is not None:
            self._note(HEAD, request.head)
        unfinished = self.conn.their_state is h11.IDLE and bool(self.conn.trailing_data[0])
        if not unfinished:
            self._in_time()
        elif self._late is None:
            self._late = self.loop.call_later(self._patience, self.transport.close)

    def _note(self, name: str, value: object) -> None:
        """Write it down for the applications that answer the request."""
        cast(dict[str, Any], self.scope)[name] = value

    def _in_time(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _is_idle(self) -> bool:
        conn = self.conn
        return conn.our_state is h11.IDLE and conn.their_state is h11.IDLE and not conn.trailing_data[0]

    def _is_crowded(self) -> bool:
        """Whether a request would be refused for the number of those that there are."""
        most = self.limit_concurrency
        return most is not None and (len(self.connections) >= most or len(self.tasks) >= most)

    def _head(self, length: int, session: bytes) -> bytes:
        usual = b"".join(b"%b: %b\r\n" % one for one in self.server_state.default_headers)
        about = b"content-type: application/json\r\ncontent-length: %d\r\nmcp-session-id: %b" % (length, session)
        return b"HTTP/1.1 200 OK\r\n%b%b\r\n\r\n" % (usual, about)
