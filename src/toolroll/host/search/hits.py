"""The rows of a search as they come in, by file, up to a limit."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from toolroll.host.search.query import AGAIN, Row
from toolroll.text import names

if TYPE_CHECKING:
    from toolroll.host.search.index.live import Sight
    from toolroll.host.search.query import Ground, Hit
    from toolroll.policy.limits import Limits

_CONTEXT = 5  # lines around matches that are kept, for each matching line that may be
_MOST_NAMED = 2_500  # files that ripgrep is given by name; of more it finds them quicker by itself
_MANY = 1_000  # files of which it is worth while to look at the newest first, though it may be in vain
_FIRST, _MORE = 4, 8  # files that are searched at first when few rows are asked for, and how many times more then
FIRST_HERE, _MORE_HERE = 16, 2  # the same if no program has to be started


class Gathered:
    """The rows of each file with a match."""

    def __init__(self, ground: Ground, limits: Limits, most: int | None = None) -> None:
        """At most as many matching lines as the limits allow, or `most` if that is less."""
        self._ground = ground
        self._width = limits.line_chars
        self._most = limits.search_rows if most is None else min(most, limits.search_rows)
        self._most_rows = _CONTEXT * self._most
        self._count = 0
        self.matches = 0
        self.hits: dict[str, list[Row]] = {}

    def take(self, rows: Iterable[Hit]) -> bool:
        """Take in rows, file by file; False if there are more than may be kept."""
        hits, width, last, name, found = self.hits, self._width, None, "", []
        for path, line, byte, raw in rows:
            if line < 0:  # BINARY or AGAIN
                self._drop(None if line == AGAIN else path)
                last = None
                continue
            if byte:
                self.matches += 1
            self._count += 1
            if self.matches > self._most or self._count > self._most_rows:
                return False
            if path != last:
                last, name = path, shown(self._ground, path)
                found = hits.setdefault(path, [])
            if len(raw) <= width and raw.isascii():  # nearly all
                text, column = raw.decode("ascii").removesuffix("\r"), byte
            else:
                text, column = _cut(raw, byte, width)
            found.append(Row(name, line, column, text))
        return True

    def _drop(self, path: str | None) -> None:
        """Forget the rows of a file, or all."""
        if path is not None:
            self.hits.pop(path, None)
        else:
            self.hits.clear()
            self.matches = self._count = 0


def shown(ground: Ground, path: str) -> str:
    """The path from the workspace, as text that can be written down whatever bytes the name has."""
    return writable("/".join((*ground.parts, path)) if path else "/".join(ground.parts))


def all_shown(ground: Ground, paths: list[str]) -> str:
    """The same of many, a line each."""
    above = "".join(f"{part}/" for part in ground.parts)
    return "\n".join([names.show_name(writable(above + path)) for path in paths])


def writable(text: str) -> str:
    """The same text with the bytes of names that are not UTF-8 spelt out."""
    return text if text.isascii() else os.fsencode(text).decode("utf-8", "backslashreplace")


def _cut(raw: bytes, column: int, width: int) -> tuple[str, int]:
    """A line as text, of a long one what is around the match; and the column in characters."""
    text = raw.decode("utf-8", "backslashreplace").removesuffix("\r")
    if column > 1 and not raw.isascii():
        column = len(raw[: column - 1].decode("utf-8", "backslashreplace")) + 1
    if len(text) <= width:
        return text, column
    width = max(1, width - 2)
    start = max(0, min(column - 1 - width // 4, len(text) - width))
    end = start + width
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}", column


def batches(sight: Sight | None, limit: int | None) -> Iterator[list[str] | None]:
    """The files to look at one after the other, newest first; None for a look at all that there are."""
    files = [] if sight is None or sight.few else sight.files
    narrowed = sight is not None and sight.narrowed
    here = sight is not None and sight.glance is not None
    first, more = (FIRST_HERE, _MORE_HERE) if here else (_FIRST, _MORE)
    plenty = sight is not None and sight.plenty
    if not (narrowed or plenty) or (limit is None and len(files) > _MOST_NAMED):
        if limit is not None and len(files) > _MANY:
            yield files[: _FIRST * _MORE]
        yield None
    elif files:
        size, at = first if limit is not None and len(files) > first else _MOST_NAMED, 0
        while at < len(files):
            yield files[at : at + size]
            at, size = at + size, min(more * size, _MOST_NAMED)
    elif not here:
        yield []  # so that a pattern that cannot be read is told
