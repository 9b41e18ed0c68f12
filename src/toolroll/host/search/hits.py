"""Collect the rows of a search by file, up to a limit, and put files in the order of the answer."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from toolroll.host.search.query import RESTART, FileEntry, GrepRow, Hit, SearchRoot, Sort
from toolroll.text import names

if TYPE_CHECKING:
    from toolroll.policy.limits import Limits

_MAX_ROWS_PER_MATCH = 5  # lines of context and the match, on average


class HitCollector:
    """The rows of each file with a match."""

    def __init__(self, root: SearchRoot, limits: Limits, max_matches: int | None = None) -> None:
        """Takes as many matching lines as the limits allow, or `max_matches` if that is less."""
        self._root = root
        self._width = limits.line_chars
        self._max_matches = limits.search_rows if max_matches is None else min(max_matches, limits.search_rows)
        self._max_rows = _MAX_ROWS_PER_MATCH * self._max_matches
        self._count = 0
        self.matches = 0
        self.hits: dict[str, list[GrepRow]] = {}

    def take(self, rows: Iterable[Hit]) -> bool:
        """Take rows, file by file; False if there are more than may be kept."""
        hits, width, last, name, found = self.hits, self._width, None, "", []
        for path, line, byte, raw in rows:
            if line < 0:  # BINARY or RESTART
                self._drop(None if line == RESTART else path)
                last = None
                continue
            if byte:
                self.matches += 1
            self._count += 1
            if self.matches > self._max_matches or self._count > self._max_rows:
                return False
            if path != last:
                last, name = path, shown_path(self._root, path)
                found = hits.setdefault(path, [])
            if len(raw) <= width and raw.isascii():  # nearly all
                text, column = raw.decode("ascii").removesuffix("\r"), byte
            else:
                text, column = _cut(raw, byte, width)
            found.append(GrepRow(name, line, column, text))
        return True

    def _drop(self, path: str | None) -> None:
        """Drop the rows of a file, or all."""
        if path is not None:
            self.hits.pop(path, None)
        else:
            self.hits.clear()
            self.matches = self._count = 0


def shown_path(root: SearchRoot, path: str) -> str:
    """A path relative to the workspace, as text that can be written whatever bytes the name has."""
    return writable("/".join((*root.parts, path)) if path else "/".join(root.parts))


def shown_paths(root: SearchRoot, paths: list[str]) -> str:
    """Many paths relative to the workspace, one per line."""
    above = "".join(f"{part}/" for part in root.parts)
    return "\n".join([names.show_name(writable(above + path)) for path in paths])


def writable(text: str) -> str:
    """The same text with the bytes of names that are not UTF-8 spelt out."""
    return text if text.isascii() else os.fsencode(text).decode("utf-8", "backslashreplace")


def stat_file(root: SearchRoot, path: str) -> os.stat_result | None:
    """The status of a file or link; None if it is gone."""
    try:
        return os.stat(path, dir_fd=root.fd, follow_symlinks=False)
    except OSError:
        return None


def sort_paths(root: SearchRoot, paths: Iterable[str], sort: str) -> list[str]:
    """Sort the paths of files, newest first or by path."""

    def age(path: str) -> tuple[int, str]:
        known = root.ages.get(path)
        if known is not None:
            return known, path
        found = stat_file(root, path)
        return -found.st_mtime_ns if found else 0, path

    return sorted(paths) if sort == "path" or root.is_file else sorted(paths, key=age)


def sort_entries(entries: Sequence[FileEntry], sort: Sort) -> list[FileEntry]:
    """Sort entries as asked for."""
    if sort == "modified":
        return sorted(entries, key=lambda entry: (-entry.mtime, entry.path))
    if sort == "size":
        return sorted(entries, key=lambda entry: (-entry.size, entry.path))
    if sort == "name":
        return sorted(entries, key=lambda entry: (entry.path.rpartition("/")[2], entry.path))
    return sorted(entries, key=lambda entry: entry.path)


def _cut(raw: bytes, column: int, width: int) -> tuple[str, int]:
    """A line as text, of a long line the part around the match; and the column in characters."""
    text = raw.decode("utf-8", "backslashreplace").removesuffix("\r")
    if column > 1 and not raw.isascii():
        column = len(raw[: column - 1].decode("utf-8", "backslashreplace")) + 1
    if len(text) <= width:
        return text, column
    width = max(1, width - 2)
    start = max(0, min(column - 1 - width // 4, len(text) - width))
    end = start + width
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}", column
