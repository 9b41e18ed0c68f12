"""JSON-RPC over a pair of pipes: one message on each line, read and written by several threads."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from typing import Any

import msgspec

PARSE, INVALID_REQUEST, UNKNOWN_METHOD, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
BUSY, NO_RESOURCE, WRONG_VERSION = -32000, -32002, -32022
MOST_BYTES = 64 * 1024 * 1024
_CHUNK = 64 * 1024
_HELD = 0.002  # seconds that an answer may wait for others to go with it
_MOST_UNREAD = 32 * 1024 * 1024  # bytes that may come together for a client that does not read

Id = int | str
Line = bytes | bytearray


class RpcError(Exception):
    """What a request is answered with instead of a result."""

    def __init__(self, code: int, message: str, data: Any = None, *, id: Id | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data
        self.id = id


class Message(msgspec.Struct):
    """A request, a notification (no id) or a response (no method)."""

    jsonrpc: str
    id: Id | msgspec.UnsetType = msgspec.UNSET
    method: str | msgspec.UnsetType = msgspec.UNSET
    params: dict[str, Any] | None = None
    result: Any = msgspec.UNSET
    error: Any = msgspec.UNSET

    @property
    def is_request(self) -> bool:
        """Whether it waits for an answer."""
        return self.method is not msgspec.UNSET and self.id is not msgspec.UNSET


_one = msgspec.json.Decoder(Message)
_any = msgspec.json.Decoder()
_BROKEN = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def parse(line: Line) -> Message | list[Any]:
    """The message on a line, or the items of a batch; raises RpcError with its id, if it has one."""
    try:
        message = _one.decode(line)
    except msgspec.ValidationError as error:
        return _unusual(line, str(error))
    except _BROKEN as error:
        raise RpcError(PARSE, f"This line is not JSON: {error}.", id=_salvaged(line)) from None
    if message.jsonrpc != "2.0":
        raise RpcError(INVALID_REQUEST, 'A message has "jsonrpc": "2.0".', id=_id(message.id))
    return message


def parse_each(items: list[Any]) -> tuple[list[Message], list[RpcError]]:
    """The messages of a batch, and what is wrong with those that are none."""
    messages, faults = [], []
    for one in items:
        try:
            found = parse(encode(one))
            if not isinstance(found, Message):
                raise RpcError(INVALID_REQUEST, "A batch holds messages, not batches.")
            messages.append(found)
        except RpcError as fault:
            faults.append(fault)
    return messages, faults


def result_of(id: Id, result: Any) -> dict[str, Any]:
    """The answer to a request."""
    return {"jsonrpc": "2.0", "id": id, "result": result}


def refusal(id: Id | None, fault: RpcError) -> dict[str, Any]:
    """The answer to a request that cannot be met; without an id, to a message that could not be read."""
    error: dict[str, Any] = {"code": fault.code, "message": fault.message}
    if fault.data is not None:
        error["data"] = fault.data
    return {"jsonrpc": "2.0", "id": id, "error": error}


def told(error: Exception) -> str:
    """An error and where it came from, on one line."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    place = f" ({last.tb_frame.f_code.co_filename}:{last.tb_lineno})" if last else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())}{place}"


def _unusual(line: Line, why: str) -> list[Any]:
    try:
        found = _any.decode(line)
    except _BROKEN as error:
        raise RpcError(PARSE, f"This line is not JSON: {error}.") from None
    if isinstance(found, list) and found:
        return found
    id = found.get("id") if isinstance(found, dict) else None
    raise RpcError(INVALID_REQUEST, f"This is no JSON-RPC message: {why}.", id=id if isinstance(id, Id) else None)


def _salvaged(line: Line) -> Id | None:
    """The id of what other programs take for JSON, such as half of an emoji: its sender waits for an answer."""
    import json

    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    id = found.get("id") if isinstance(found, dict) else None
    return id if isinstance(id, Id) else None


def _id(id: Id | msgspec.UnsetType) -> Id | None:
    return None if isinstance(id, msgspec.UnsetType) else id


def encode(value: Any) -> bytes:
    """The value as JSON; what is not Unicode in its texts is written out."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_written_out(value))


def _written_out(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_written_out(key): _written_out(one) for key, one in value.items()}
    return [_written_out(one) for one in value] if isinstance(value, list | tuple) else value


class Inbox:
    """Lines from a descriptor. Only one thread at a time may ask for the next."""

    def __init__(self, fd: int, most: int = MOST_BYTES) -> None:
        self._fd = fd
        self._most = most
        self._lines: deque[Line] = deque()
        self._rest = bytearray()  # how the next line begins
        self._too_long = False

    def next(self) -> Line | None:
        """The next line, None at the end; an empty line stands for one that was too long."""
        while not self._lines:
            chunk = os.read(self._fd, _CHUNK)
            if not chunk:
                return None
            self._split(chunk)
        return self._lines.popleft()

    @property
    def ready(self) -> bool:
        """Whether the next line is here already."""
        return len(self._lines) > 0

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
            if len(self._rest) > self._most:
                self._rest.clear()
                self._too_long = True


class Outbox:
    """Writes whole lines to a descriptor, from any thread."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = threading.Lock()
        self._lines: deque[bytes] = deque()
        self._bytes = 0  # of the lines, more or less: several threads count
        self._since = 0.0

    def put(self, value: Any) -> None:
        """Write one message with the next `flush`."""
        if not self._lines:
            self._since = time.monotonic()
        line = encode(value) + b"\n"
        self._lines.append(line)
        self._bytes += len(line)

    @property
    def due(self) -> bool:
        """Whether something has waited long enough."""
        return len(self._lines) > 0 and time.monotonic() - self._since > _HELD

    @property
    def busy(self) -> bool:
        """Whether something is still to be written."""
        return len(self._lines) > 0 or self._lock.locked()

    def flush(self) -> None:
        """Write what was put, unless somebody is at it, who then writes this too. Raises OSError when nobody reads.

        So a client that is slow to read keeps one thread, and others only when too much has come together.
        """
        while self._lines and self._lock.acquire(blocking=self._bytes > _MOST_UNREAD):
            try:
                self._write()
            finally:
                self._lock.release()

    def _write(self) -> None:
        self._bytes = 0
        data = b"".join([self._lines.popleft() for _ in range(len(self._lines))])
        done = os.write(self._fd, data) if data else 0
        while done < len(data):
            done += os.write(self._fd, memoryview(data)[done:])
