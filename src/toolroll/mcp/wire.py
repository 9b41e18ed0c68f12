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

Id = int | str


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


def parse(line: bytes | bytearray) -> Message | list[Any]:
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


def _unusual(line: bytes | bytearray, why: str) -> list[Any]:
    try:
        found = _any.decode(line)
    except _BROKEN as error:
        raise RpcError(PARSE, f"This line is not JSON: {error}.") from None
    if isinstance(found, list) and found:
        return found
    id = found.get("id") if isinstance(found, dict) else None
    raise RpcError(INVALID_REQUEST, f"This is no JSON-RPC message: {why}.", id=id if isinstance(id, Id) else None)


def _salvaged(line: bytes | bytearray) -> Id | None:
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
        self._rest = bytearray()
        self._looked = 0
        self._skipped = 0

    def next(self) -> bytearray | None:
        """The next line, None at the end; an empty line stands for one that was too long."""
        while True:
            at = self._rest.find(b"\n", self._looked)
            if at >= 0:
                line, self._rest[: at + 1] = self._rest[:at], b""
                self._looked = 0
                if self._skipped:
                    self._skipped = 0
                    return bytearray()
                if line and not line.isspace():
                    return line
                continue
            self._looked = len(self._rest)
            if self._looked > self._most:
                self._skipped += self._looked
                self._rest.clear()
                self._looked = 0
            chunk = os.read(self._fd, _CHUNK)
            if not chunk:
                return None
            self._rest += chunk

    @property
    def ready(self) -> bool:
        """Whether the next line is here already."""
        end = self._rest.rfind(b"\n") + 1
        return end > 0 and (self._skipped > 0 or not self._rest[:end].isspace())


class Outbox:
    """Writes whole lines to a descriptor, from any thread."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = threading.Lock()
        self._lines: deque[bytes] = deque()
        self._since = 0.0

    def put(self, value: Any) -> None:
        """Write one message with the next `flush`."""
        if not self._lines:
            self._since = time.monotonic()
        self._lines.append(encode(value) + b"\n")

    @property
    def due(self) -> bool:
        """Whether something has waited long enough."""
        return len(self._lines) > 0 and time.monotonic() - self._since > _HELD

    def flush(self) -> None:
        """Write what was put. Raises OSError when nobody reads any more."""
        if not self._lines:
            return  # nor wait for the one who writes
        with self._lock:
            data = memoryview(b"".join([self._lines.popleft() for _ in range(len(self._lines))]))
            while data:
                data = data[os.write(self._fd, data) :]
