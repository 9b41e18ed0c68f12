"""Server-sent events, read from bytes that may be cut anywhere."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass

_LINE_END = re.compile(r"\r\n|\n|\r")
_MOST_LINE = 4_000_000  # characters; what is longer is no event of a model


class OverlongError(ValueError):
    """A line without an end."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its type, "message" unless it says otherwise, and its data."""

    name: str
    data: str


class Events:
    """Feed it bytes; it gives the events that they complete."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._text = ""
        self._name = ""
        self._data: list[str] = []
        self._begun = False

    def feed(self, data: bytes) -> Iterator[Event]:
        """The events that are complete with these bytes."""
        self._text += self._decoder.decode(data)
        if not self._begun and self._text:
            self._begun, self._text = True, self._text.removeprefix("\ufeff")
        at = 0
        while (end := _LINE_END.search(self._text, at)) is not None:
            if end[0] == "\r" and end.end() == len(self._text):
                break  # perhaps the first half of \r\n
            line, at = self._text[at : end.start()], end.end()
            if (event := self._line(line)) is not None:
                yield event
        self._text = self._text[at:]
        if len(self._text) > _MOST_LINE:
            raise OverlongError(f"a line of it has more than {_MOST_LINE} characters")

    def _line(self, line: str) -> Event | None:
        if not line:
            event = Event(self._name or "message", "\n".join(self._data)) if self._data else None
            self._name, self._data = "", []
            return event
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._name = value
        return None
