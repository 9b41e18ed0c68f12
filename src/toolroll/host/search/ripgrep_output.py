"""Parse the output of ripgrep: rows and counts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from toolroll.host.search.query import BINARY

_MAX_LINE_BYTES = 8 << 20
# A name may hold line ends but no NUL; a line may not hold a NUL either, or the file would be binary.
# No column is written for an empty match at the end of a line.
_ROW = re.compile(rb"([^\0]+)\0(\d+)(?:(:)(?:(\d+):)?|-)([^\n]*)\n")
_COUNT = re.compile(rb"([^\0]+)\0(\d+)\r?\n")
_NOTICE = re.compile(rb": (?:WARNING: stopped searching binary file|binary file matches)[^\n]*\n")


def read_rows(chunks: Iterable[bytes]) -> Iterator[tuple[bytes, int, int, bytes]]:
    """File, line, column and text of each row, as in a `query.Hit`; line BINARY for a binary file."""
    last, tail = b"", b""
    for block in whole_lines(chunks):
        data = tail + block
        for name, line, match, column, text in _ROW.findall(data):
            if name != last:
                notice = _NOTICE.match(name, len(last)) if name.startswith(last) else None
                if notice:
                    yield last, BINARY, 0, b""
                last = name[notice.end() :] if notice else name
            at = int(column) if column else len(text.removesuffix(b"\r")) + 1 if match else 0
            yield last, int(line), at, text
        tail = data[data.find(b"\n", data.rfind(b"\0")) + 1 :] if b"\0" in data else data
    if tail:
        yield last, BINARY, 0, b""


def fix_columns(rows: Iterator[tuple[bytes, int, int, bytes]]) -> Iterator[tuple[bytes, int, int, bytes]]:
    """Set the column of the further lines of a match to 1: ripgrep repeats the column of the first."""
    above = (b"", 0, 0)
    for name, line, column, text in rows:
        goes_on = column > 0 and above == (name, line - 1, column)
        yield name, line, 1 if goes_on else column, text
        above = (name, line, column)


def read_counts(chunks: Iterable[bytes]) -> Iterator[tuple[bytes, int]]:
    """Each file with its number of matching lines."""
    tail = b""
    for block in whole_lines(chunks):
        data, end = tail + block, 0
        for found in _COUNT.finditer(data):
            end = found.end()
            yield found[1], int(found[2])
        tail = data[end:]


def whole_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in blocks of whole lines. Of a line over 8 MB only the start is kept."""
    held: list[bytes] = []
    size = 0
    for chunk in chunks:
        end = chunk.rfind(b"\n") + 1
        if end:
            yield b"".join((*held, chunk[:end]))
            held, size = [chunk[end:]], len(chunk) - end
        elif size < _MAX_LINE_BYTES:
            held.append(chunk)
            size += len(chunk)
    if any(held):
        yield b"".join(held)
