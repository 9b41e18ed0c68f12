"""JSON-RPC over two pipes, one message per line; several threads read and write."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from typing import Any

import msgspec

PARSE, INVALID_REQUEST, UNKNOWN_METHOD, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
BUSY, NO_RESOURCE, WRONG_HEADER, NO_CAPABILITY, WRONG_VERSION = -32000, -32002, -32020, -32021, -32022
CANCELLED = -32800
MAX_LINE_BYTES = 64 * 1024 * 1024
_CHUNK_BYTES = 64 * 1024
_MAX_DELAY_S = 0.002  # an answer may wait this long to be written together with others
_MAX_UNREAD_BYTES = 32 * 1024 * 1024  # queued for a client that does not read

Id = int | str
Line = bytes | bytearray


class RpcError(Exception):
    """The error response to a request."""

    def __init__(self, code: int, message: str, data: Any = None, *, id: Id | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data, self.id = code, message, data, id


class RpcMessage(msgspec.Struct):
    """A request, a notification (no id) or a response (no method)."""

    jsonrpc: str
    id: Id | msgspec.UnsetType = msgspec.UNSET
    method: str | msgspec.UnsetType = msgspec.UNSET
    params: dict[str, Any] | None = None
    result: Any = msgspec.UNSET
    error: Any = msgspec.UNSET

    @property
    def is_request(self) -> bool:
        """True when the sender waits for an answer."""
        return self.method is not msgspec.UNSET and self.id is not msgspec.UNSET


_one = msgspec.json.Decoder(RpcMessage)
_any = msgspec.json.Decoder()
_BROKEN = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def parse(line: Line) -> RpcMessage | list[Any]:
    """The message on a line, or the items of a batch; raises RpcError with the id, if there is one."""
    try:
        message = _one.decode(line)
    except msgspec.ValidationError as error:
        return _parse_batch(line, str(error))
    except _BROKEN as error:
        raise RpcError(PARSE, f"This line is not JSON: {error}.", id=_find_id(line)) from None
    if message.jsonrpc != "2.0":
        raise RpcError(INVALID_REQUEST, 'A message has "jsonrpc": "2.0".', id=_id({"id": message.id}))
    return message


def parse_each(items: list[Any]) -> tuple[list[RpcMessage], list[RpcError]]:
    """The messages of a batch, and an error for each item that is not a message."""
    messages, faults = [], []
    for one in items:
        try:
            found = parse(encode(one))
            if not isinstance(found, RpcMessage):
                raise RpcError(INVALID_REQUEST, "A batch holds messages, not batches.")
            messages.append(found)
        except RpcError as fault:
            faults.append(fault)
    return messages, faults


def make_result(id: Id, result: Any) -> dict[str, Any]:
    """The response to a request."""
    return {"jsonrpc": "2.0", "id": id, "result": result}


def make_error(id: Id | None, fault: RpcError) -> dict[str, Any]:
    """The error response; without an id, to a message that could not be parsed."""
    error: dict[str, Any] = {"code": fault.code, "message": fault.message}
    if fault.data is not None:
        error["data"] = fault.data
    return {"jsonrpc": "2.0", "id": id, "error": error}


def describe(error: Exception) -> str:
    """An exception and where it was raised, on one line."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    place = f" ({last.tb_frame.f_code.co_filename}:{last.tb_lineno})" if last else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())}{place}"


def _parse_batch(line: Line, why: str) -> list[Any]:
    try:
        found = _any.decode(line)
    except _BROKEN as error:
        raise RpcError(PARSE, f"This line is not JSON: {error}.") from None
    if isinstance(found, list) and found:
        return found
    raise RpcError(INVALID_REQUEST, f"This is no JSON-RPC message: {why}.", id=_id(found))


def _find_id(line: Line) -> Id | None:
    """The id of what other JSON parsers accept, such as a lone surrogate: the sender waits for an answer."""
    import json

    try:
        return _id(json.loads(line))
    except (ValueError, RecursionError):
        return None


def _id(found: Any) -> Id | None:
    id = found.get("id") if isinstance(found, dict) else None
    return id if isinstance(id, Id) else None


def encode(value: Any) -> bytes:
    """The value as JSON; lone surrogates in strings become escapes."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_escape_surrogates(value))


def _escape_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_escape_surrogates(key): _escape_surrogates(one) for key, one in value.items()}
    return [_escape_surrogates(one) for one in value] if isinstance(value, list | tuple) else value


class LineReader:
    """Reads lines from a descriptor. Only one thread at a time may call `next`."""

    def __init__(self, fd: int, max_bytes: int = MAX_LINE_BYTES) -> None:
        self._fd = fd
        self._max_bytes = max_bytes
        self._lines: deque[Line] = deque()
        self._rest = bytearray()  # the start of the next line
        self._too_long = False

    def next(self) -> Line | None:
        """The next line, None at the end, an empty line in place of one that was too long."""
        while not self._lines:
            chunk = self._read()
            if not chunk:
                return None
            self._split(chunk)
        return self._lines.popleft()

    @property
    def ready(self) -> bool:
        """True when the next line has been read already."""
        return len(self._lines) > 0

    def _read(self) -> bytes:
        return os.read(self._fd, _CHUNK_BYTES)

    def _split(self, chunk: bytes) -> None:
        ended: list[Line] = [*chunk.split(b"\n")]
        rest = ended.pop()
        if ended and self._too_long:
            ended[0] = b""
            self._lines.append(b"")
            self._too_long = False
        elif ended and self._rest:
            ended[0], self._rest = self._rest + ended[0], bytearray()
        self._lines.extend([line for line in ended if line and not line.isspace()])
        if rest and not self._too_long:
            self._rest += rest
            if len(self._rest) > self._max_bytes:
                self._rest.clear()
                self._too_long = True


class LineWriter:
    """Writes whole lines to a descriptor, from any thread."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = threading.Lock()
        self._lines: deque[bytes] = deque()
        self._bytes = 0  # of the lines, approximately: several threads count
        self._since = 0.0

    def put(self, value: Any) -> None:
        """Queue one message for the next `flush`."""
        if not self._lines:
            self._since = time.monotonic()
        line = encode(value) + b"\n"
        self._lines.append(line)
        self._bytes += len(line)

    @property
    def due(self) -> bool:
        """True when a message has waited long enough."""
        return len(self._lines) > 0 and time.monotonic() - self._since > _MAX_DELAY_S

    @property
    def busy(self) -> bool:
        """True while messages are queued or being written."""
        return len(self._lines) > 0 or self._lock.locked()

    def flush(self) -> None:
        """Write the queue, unless another thread is writing it. Raises OSError when the client is gone.

        So a slow client blocks one thread, and others only when too many bytes are queued.
        """
        while self._lines and self._lock.acquire(blocking=self._bytes > _MAX_UNREAD_BYTES):
            try:
                self._write()
            finally:
                self._lock.release()

    def _write(self) -> None:
        self._bytes = 0
        rest = memoryview(b"".join([self._lines.popleft() for _ in range(len(self._lines))]))
        while rest:  # a write may be short
            rest = rest[os.write(self._fd, rest) :]
