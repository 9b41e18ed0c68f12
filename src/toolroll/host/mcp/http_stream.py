"""The body of an answer over HTTP, piece by piece: one message of JSON, or a stream of events that hold messages."""

from __future__ import annotations

import re
from typing import Any

from toolroll.host.mcp.stdio import read

_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_OVERLAP = 3
_ID = re.compile(rb"[!-~]{1,500}")
_LONGEST_PAUSE = 60.0


class Body:
    """Takes bytes as they come, and gives the messages that are complete."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._stream: bool | None = None
        self.last = ""
        """What the last event was called, if events have names: where a stream that ended can be taken up again."""
        self.pause = 1.0
        """Seconds after which the server wants to be asked for the rest."""

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """The messages that these bytes complete."""
        looked = max(0, len(self._buffer) - _OVERLAP)
        self._buffer += data
        if self._stream is None and (start := bytes(self._buffer[:64]).lstrip()):
            self._stream = start[:1] not in (b"{", b"[")
        messages: list[dict[str, Any]] = []
        while self._stream and (end := _END.search(self._buffer, looked)):
            messages += self._event(bytes(self._buffer[: end.start()]))
            del self._buffer[: end.end()]
            looked = 0
        return messages

    def rest(self) -> list[dict[str, Any]]:
        """The messages at the end of the body."""
        text, self._buffer = bytes(self._buffer), bytearray()
        stream, self._stream = self._stream, None
        return self._event(text) if stream else read(text)

    def _event(self, text: bytes) -> list[dict[str, Any]]:
        """The messages in the data of one event."""
        data = []
        for line in re.split(rb"\r\n|\n|\r", text):
            name, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if name == b"data":
                data.append(value)
            elif name == b"id" and _ID.fullmatch(value):
                self.last = value.decode("ascii")
            elif name == b"retry" and value.isdigit():
                self.pause = min(int(value[:9]) / 1000, _LONGEST_PAUSE)
        return read(b"\n".join(data)) if data else []
