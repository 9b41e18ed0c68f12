"""Bounds on the events of a stream: the SDKs copy an event for each of its lines, without a bound."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx2

_MAX_EVENT_BYTES = 4_000_000
_MAX_EVENT_LINES = 1_000
_EVENT_END = re.compile(rb"\n\n|\r\r|\r\n\r\n")
_LINE_END = re.compile(rb"[\r\n]")


class EventGuard(httpx2.SyncByteStream):
    """The body of an answer; ValueError for an event that is too long."""

    def __init__(self, body: httpx2.SyncByteStream) -> None:
        self._body = body
        self._bytes = 0
        self._lines = 0

    def __iter__(self) -> Iterator[bytes]:
        tail = b""
        for piece in self._body:
            joined = tail + piece  # the end of an event may be in two pieces
            first, *others = _EVENT_END.split(joined)
            self._count(first)
            for other in others:
                self._bytes = self._lines = 0
                self._count(other)
            tail = joined[-3:]
            yield piece

    def _count(self, part: bytes) -> None:
        self._bytes += len(part)
        self._lines += len(_LINE_END.findall(part))
        if self._bytes > _MAX_EVENT_BYTES or self._lines > _MAX_EVENT_LINES:
            raise ValueError("an event is too long")

    def close(self) -> None:
        self._body.close()


def guard_events(response: httpx2.Response) -> None:
    """Bound the events of an answer that is not yet read."""
    if isinstance(response.stream, httpx2.SyncByteStream) and "json" not in response.headers.get("content-type", ""):
        response.stream = EventGuard(response.stream)
