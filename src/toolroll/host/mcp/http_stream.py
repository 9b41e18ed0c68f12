"""Incremental reader of an HTTP answer: one JSON message, or server-sent events that hold messages."""

from __future__ import annotations

import re

from toolroll.host.jsonrpc.framing import RpcDict, decode_messages

_EVENT_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_OVERLAP_BYTES = 3  # an end of an event may begin in the bytes that were searched already
_EVENT_ID = re.compile(rb"[!-~]{1,500}")
_MAX_RETRY_S = 60.0


class MessageStream:
    """Takes bytes as they arrive, and returns the messages that they complete."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._is_stream: bool | None = None
        self.last_event_id = ""
        """Where a stream that ended can be resumed; empty when events have no ids."""
        self.retry_s = 1.0
        """Seconds to wait before the stream is resumed, by the server's wish."""

    def feed(self, data: bytes) -> list[RpcDict]:
        searched = max(0, len(self._buffer) - _OVERLAP_BYTES)
        self._buffer += data
        if self._is_stream is None and (start := bytes(self._buffer[:64]).lstrip()):
            self._is_stream = start[:1] not in (b"{", b"[")
        messages: list[RpcDict] = []
        while self._is_stream and (end := _EVENT_END.search(self._buffer, searched)):
            messages += self._read_event(bytes(self._buffer[: end.start()]))
            del self._buffer[: end.end()]
            searched = 0
        return messages

    def finish(self) -> list[RpcDict]:
        """The messages at the end of the body."""
        text, self._buffer = bytes(self._buffer), bytearray()
        is_stream, self._is_stream = self._is_stream, None
        return self._read_event(text) if is_stream else decode_messages(text)

    def _read_event(self, text: bytes) -> list[RpcDict]:
        data = []
        for line in re.split(rb"\r\n|\n|\r", text):
            name, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if name == b"data":
                data.append(value)
            elif name == b"id" and _EVENT_ID.fullmatch(value):
                self.last_event_id = value.decode("ascii")
            elif name == b"retry" and value.isdigit():
                self.retry_s = min(int(value[:9]) / 1000, _MAX_RETRY_S)
        return decode_messages(b"\n".join(data)) if data else []
