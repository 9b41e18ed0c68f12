"""What a command writes: both ends in memory, the whole in a kept file when memory is not enough."""

from __future__ import annotations

import threading

from toolroll.host.files.spill import Spill, SpillWriter

END_BYTES = 64 * 1024
FILE_BYTES = 64 << 20
_NOTICE_BYTES = 100  # room in the file for the line that says what is missing


class CapturedOutput:
    """One stream of output. Any thread may read it while another adds to it; the memory it takes is bounded."""

    def __init__(
        self, spill: Spill | None, *, head: int = END_BYTES, tail: int = END_BYTES, most: int = FILE_BYTES
    ) -> None:
        self.total = 0
        """How many bytes have been written in all."""
        self.note = ""
        """Why something is not in the kept file, in words for the model; empty when all is well."""
        self._lock = threading.Lock()
        self._spill = spill
        self._head_size, self._tail_size = head, tail
        self._body = max(0, most - 2 * tail - _NOTICE_BYTES)
        self._most = most
        self._head = bytearray()
        self._tail = bytearray()  # up to twice its size, so that it is not moved for every line
        self._writer: SpillWriter | None = None
        self._writing = spill is not None
        self._finished = False
        self._kept = 0  # so many bytes from the beginning are in the file

    def add(self, data: bytes) -> None:
        """More output. An error of the disk ends the keeping, never the command."""
        with self._lock:
            too_much = self.total + len(data) > self._head_size + self._tail_size
            if self._writing and (too_much or self._writer is not None):
                self._write(data)
            self.total += len(data)
            room = self._head_size - len(self._head)
            if room > 0:
                self._head += data[:room]
                data = data[room:]
            if len(data) >= self._tail_size:
                self._tail = bytearray(data[len(data) - self._tail_size :])
                return
            self._tail += data
            if len(self._tail) > 2 * self._tail_size:
                del self._tail[: -self._tail_size]

    def finish(self) -> None:
        """There is no more. The kept file, if it could not take everything, gets the last part."""
        with self._lock:
            again, self._writing, self._finished = self._finished, False, True
            if self._writer is not None and not again:
                try:
                    self._write_end(self._writer)
                except OSError as error:
                    self._stop(error)
                self._writer.close()

    def _write_end(self, writer: SpillWriter) -> None:
        if self._kept == self.total or self.note:
            return
        start = max(self._kept, self.total - len(self._tail))
        tail = _from_character(self._tail[len(self._tail) - (self.total - start) :])
        missing = self.total - self._kept - len(tail)
        if missing:
            writer.write(f"\n[... {missing} bytes are missing here ...]\n".encode())
        writer.write(tail)

    def handle(self, *, make: bool = False) -> str | None:
        """The name under which `read` and `grep` find the output, or None while memory holds all of it.

        With `make` the file is made now; None then means that it cannot be, and `note` says why.
        """
        with self._lock:
            if make and self._spill is not None and not self.note:
                self._write(b"")
            return None if self._writer is None else self._writer.handle

    def ends(self, most: int) -> tuple[bytes, int, bytes]:
        """The beginning and the end within `most` bytes, and how many are left out between them.

        Neither is cut inside a character. When all of it fits, it is the first part.
        """
        with self._lock:
            if self.total <= most:
                whole = self._read(0, most)
                if len(whole) == self.total:
                    return whole, 0, b""
            head = _to_character(self._read(0, most - most // 2))
            start = max(len(head), self.total - most // 2)
            tail = self._read(start, self.total - start)
            if len(tail) < self.total - start:  # there is a gap, and the end is what comes after it
                start = max(start, self.total - len(self._tail))
                tail = self._read(start, self.total - start)
            tail = _from_character(tail)
            return head, self.total - len(head) - len(tail), tail

    def read(self, offset: int, most: int) -> bytes:
        """Up to `most` bytes from `present(offset)` on; nothing when there is nothing more yet.

        A character whose rest comes later is left for then, unless there is room for nothing else.
        """
        with self._lock:
            at = self._present(max(0, offset))
            found = self._read(at, most)
            end = at + len(found)
            if end == self.total:
                return found if self._finished else _to_character(found)
            return (_to_character(found) if self._present(end) == end else b"") or found

    def present(self, offset: int) -> int:
        """The first offset from this one on whose byte was kept; beyond the end, the end."""
        with self._lock:
            return self._present(offset)

    def _present(self, offset: int) -> int:
        if offset < max(self._kept, len(self._head)):
            return offset
        return min(max(offset, self.total - len(self._tail)), self.total)

    def _read(self, offset: int, most: int) -> bytes:
        """Bytes from an offset that is present, up to where some are missing."""
        found = bytearray()
        while len(found) < most:
            at, room = offset + len(found), most - len(found)
            tail = self.total - len(self._tail)
            if at < len(self._head):
                part: bytes | bytearray = self._head[at : at + room]
            elif at >= tail:
                part = self._tail[at - tail : at - tail + room]
            elif at < self._kept:
                part = self._from_file(at, min(room, self._kept - at))
            else:
                break
            if not part:
                break
            found += part
        return bytes(found)

    def _from_file(self, offset: int, most: int) -> bytes:
        assert self._writer is not None
        try:
            return self._writer.read(offset, most)
        except OSError as error:
            self._stop(error)
            self._kept = 0
            return b""

    def _write(self, data: bytes) -> None:
        """Add to the file, which is made here and gets what memory has held so far."""
        assert self._spill is not None
        try:
            if self._writer is None:
                self._writer = self._spill.writer(self._most)
                self._kept = self._writer.write((self._head + self._tail)[: self._body])
                if self._finished:
                    self._writer.close()
            if not data:
                return
            room = self._body - self._kept
            if len(data) > room:
                data = _to_character(data[:room])
                self._writing = False
            self._kept += self._writer.write(data)
        except OSError as error:
            self._stop(error)

    def _stop(self, error: OSError) -> None:
        self._writing = False
        self.note = f"Not all of the output could be kept: {error.strerror}."


def _to_character(data: bytes | bytearray) -> bytes:
    """Without the beginning of a UTF-8 character at the end that lacks its rest."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            wanted = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return bytes(data[:-back]) if wanted > back else bytes(data)
        if byte < 0x80:
            break
    return bytes(data)


def _from_character(data: bytes | bytearray) -> bytes:
    """Without the rest of a UTF-8 character at the start that lacks its beginning."""
    start = 0
    while start < min(3, len(data)) and 0x80 <= data[start] < 0xC0:
        start += 1
    return bytes(data[start:])
