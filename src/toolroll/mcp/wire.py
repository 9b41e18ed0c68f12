"""The messages of JSON-RPC as MCP has them, and its errors."""

from __future__ import annotations

from typing import Any

import msgspec

from toolroll.host.rpc.codecs import encode_json

PARSE, INVALID_REQUEST, UNKNOWN_METHOD, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
BUSY, NO_RESOURCE, WRONG_HEADER, NO_CAPABILITY, WRONG_VERSION = -32000, -32002, -32020, -32021, -32022
CANCELLED = -32800

Id = int | str


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


def parse(line: bytes) -> RpcMessage | list[Any]:
    """The message on a line, or the items of a batch; raises RpcError with the id, if there is one."""
    try:
        message = _one.decode(line)
    except msgspec.ValidationError as error:
        return _parse_batch(line, str(error))
    except _BROKEN as error:
        raise RpcError(PARSE, f"This line is not JSON: {error}.", id=_find_id(line)) from None
    if given := (message.params or {}).get("arguments"):
        from toolroll.schema.argument_text import check_names

        try:
            check_names(given, bytes(line))
        except (ValueError, RecursionError) as error:
            raise RpcError(INVALID_PARAMS, f"This message is unclear: {error}.", id=_id({"id": message.id})) from None
    if message.jsonrpc != "2.0":
        raise RpcError(INVALID_REQUEST, 'A message has "jsonrpc": "2.0".', id=_id({"id": message.id}))
    return message


def parse_each(items: list[Any]) -> tuple[list[RpcMessage], list[RpcError]]:
    """The messages of a batch, and an error for each item that is not a message."""
    messages, faults = [], []
    for one in items:
        try:
            found = parse(encode_json(one))
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


def _parse_batch(line: bytes, why: str) -> list[Any]:
    try:
        found = _any.decode(line)
    except _BROKEN as error:
        raise RpcError(PARSE, f"This line is not JSON: {error}.") from None
    if isinstance(found, list) and found:
        return found
    raise RpcError(INVALID_REQUEST, f"This is no JSON-RPC message: {why}.", id=_id(found))


def _find_id(line: bytes) -> Id | None:
    """The id of what other JSON parsers accept, such as a lone surrogate: the sender waits for an answer."""
    import json

    try:
        return _id(json.loads(line))
    except (ValueError, RecursionError):
        return None


def _id(found: Any) -> Id | None:
    id = found.get("id") if isinstance(found, dict) else None
    return id if isinstance(id, Id) else None
