"""Some lines of a file of any size, without holding more of it than a chunk and those lines."""

from __future__ import annotations

import os
from dataclasses import dataclass

from toolroll.host.token import Token
from toolroll.result import ErrorCode, ToolError
from toolroll.text import lines as text_lines
from toolroll.text.encoding import Encoding

WHOLE = 8_000_000
"""Files up to this many bytes are read at once: quicker, and their content is then known exactly."""
_CHUNK = 1 << 20  # bytes passed over at a time
_SHOWN = 1 << 16  # bytes taken apart into lines at a time
_COUNTED = 32_000_000  # bytes of a file up to which the lines behind the window are counted as well
_LINE = 64_000  # bytes of one line that are kept


@dataclass(frozen=True, slots=True)
class Window:
    """Lines without their endings. `total` is None when counting all of them would take too long."""

    lines: tuple[str, ...]
    start: int
    total: int | None
    encoding: Encoding
    ended: bool = False
    """The file was read to its end, and a line feed ends it."""


def of_bytes(data: bytes, start: int, count: int, encoding: Encoding) -> Window:
    """The window of a file that was read whole."""
    text = encoding.decode(data)
    found = text_lines.split(text)
    shown = tuple(line.removesuffix("\n").removesuffix("\r") for line in found[start - 1 : start - 1 + count])
    whole = start - 1 + count >= len(found) and text.endswith("\n")
    return Window(shown, start, len(found), encoding, whole)


def of_file(fd: int, start: int, count: int, encoding: Encoding, token: Token) -> Window:
    """The window of a large file, read in chunks."""
    if encoding.codec.startswith(("utf-16", "utf-32")):
        raise ToolError(ErrorCode.TOO_LARGE, f"A {encoding.codec} file of this size cannot be read in part.")
    reader = _Reader(fd, len(encoding.bom), token)
    before = reader.skip(start - 1)
    raw = reader.take(count) if before == start - 1 else []
    if len(raw) < count:
        counted: int | None = 0  # that was the end
    else:
        counted = reader.rest() if os.fstat(fd).st_size <= _COUNTED else None
    total = None if counted is None else before + len(raw) + counted
    plain = Encoding(encoding.codec)
    shown = tuple(plain.decode(line.removesuffix(b"\r")) for line in raw)
    return Window(shown, start, total, encoding)


class _Reader:
    """Goes forward through a file, line by line or many lines at a time."""

    def __init__(self, fd: int, at: int, token: Token) -> None:
        self._fd = fd
        self._at = at
        self._token = token

    def _chunk(self, size: int = _CHUNK) -> bytes:
        self._token.check()
        return os.pread(self._fd, size, self._at)

    def skip(self, count: int) -> int:
        """Pass over lines; how many there were, at most `count`."""
        passed = 0
        while passed < count and (chunk := self._chunk()):
            found = chunk.count(b"\n")
            if passed + found < count:
                passed += found
                self._at += len(chunk)
                continue
            end = -1
            for _ in range(count - passed):
                end = chunk.index(b"\n", end + 1)
            passed = count
            self._at += end + 1
        return passed

    def take(self, count: int) -> list[bytes]:
        """The next lines, each cut to what can be shown of it at all."""
        lines: list[bytes] = []
        current = bytearray()
        open_line = False
        while len(lines) < count and (chunk := self._chunk(_SHOWN)):
            *ended, last = chunk.split(b"\n")
            used = 0
            for piece in ended[: count - len(lines)]:
                current += piece[: max(0, _LINE - len(current))]
                lines.append(bytes(current))
                current.clear()
                used += len(piece) + 1
            if len(lines) < count:
                current += last[: max(0, _LINE - len(current))]
                open_line = bool(current)
                used = len(chunk)
            self._at += used
        if open_line and current and len(lines) < count:
            lines.append(bytes(current))
        return [_whole_characters(line) for line in lines]

    def rest(self) -> int:
        """How many lines follow."""
        found, last = 0, b"\n"
        while chunk := self._chunk():
            found += chunk.count(b"\n")
            last = chunk[-1:]
            self._at += len(chunk)
        return found + (last != b"\n")


def _whole_characters(line: bytes) -> bytes:
    """A line that was cut, without the piece of a UTF-8 character that the cut left at its end."""
    if len(line) < _LINE:
        return line
    end = len(line)
    while end and line[end - 1] & 0xC0 == 0x80:
        end -= 1
    return line[: end - 1] if end and line[end - 1] >= 0xC0 else line
