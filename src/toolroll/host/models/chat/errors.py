"""What goes wrong with a model: the kinds, and how an answer with an error status is read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec

from toolroll.result import ErrorCode, ToolError


class Kind(StrEnum):
    """Why a model did not answer. A loop branches on these."""

    KEY = "key"
    MODEL = "model"
    RATE = "rate limit"
    BUSY = "overloaded"
    SERVER = "server error"
    LONG = "context too long"
    REQUEST = "request"
    GARBLED = "garbled answer"
    CUT = "cut off"
    NETWORK = "network"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"


AGAIN = frozenset({Kind.RATE, Kind.BUSY, Kind.SERVER, Kind.GARBLED, Kind.CUT, Kind.NETWORK})
"""Those that another try may mend."""

_CODES = {
    Kind.KEY: ErrorCode.PERMISSION,
    Kind.MODEL: ErrorCode.NOT_FOUND,
    Kind.LONG: ErrorCode.TOO_LARGE,
    Kind.REQUEST: ErrorCode.VALIDATION,
    Kind.TIMEOUT: ErrorCode.TIMEOUT,
    Kind.CANCELLED: ErrorCode.CANCELLED,
}


class ModelError(ToolError):
    """A model did not answer. `kind` says why; `wait` is how many seconds the server asks to wait."""

    def __init__(self, kind: Kind, message: str, *, wait: float | None = None) -> None:
        super().__init__(_CODES.get(kind, ErrorCode.NETWORK), message, details={"kind": str(kind)})
        self.kind = kind
        self.wait = wait


_LONG = re.compile(
    r"context[ _]length|context window|maximum context|too many (?:input )?tokens|prompt (?:is )?too long"
    r"|input (?:is )?too long|reduce the length|exceeds? the (?:available )?context|exceed_context"
    r"|tokens? limit exceeded",
    re.IGNORECASE,
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_STATUS = {
    401: Kind.KEY,
    403: Kind.KEY,
    404: Kind.MODEL,
    408: Kind.SERVER,
    409: Kind.SERVER,
    413: Kind.LONG,
    429: Kind.RATE,
    503: Kind.BUSY,
    529: Kind.BUSY,
}
# Providers put an error into a stream whose status was 200; then its type is all there is.
_TYPES = {
    "authentication_error": Kind.KEY,
    "permission_error": Kind.KEY,
    "not_found_error": Kind.MODEL,
    "rate_limit_error": Kind.RATE,
    "rate_limit_exceeded": Kind.RATE,
    "overloaded_error": Kind.BUSY,
    "api_error": Kind.SERVER,
    "server_error": Kind.SERVER,
    "timeout_error": Kind.SERVER,
    "request_too_large": Kind.LONG,
    "context_length_exceeded": Kind.LONG,
    "exceed_context_size_error": Kind.LONG,
    "invalid_request_error": Kind.REQUEST,
    "insufficient_quota": Kind.KEY,
}


def kind_of(status: int | None, error: Mapping[str, Any]) -> Kind:
    """The kind of an error by its status and by what the server says of it."""
    words = [str(error.get(name) or "") for name in ("code", "type", "message")]
    if "insufficient_quota" in words:
        return Kind.KEY  # also sent with status 429, but no waiting helps
    if status in (None, 400, 413, 422, 500) and any(_LONG.search(word) for word in words):
        return Kind.LONG
    named = next((_TYPES[word] for word in words[:2] if word in _TYPES), None)
    if status is None:
        return named or Kind.SERVER
    if status in _STATUS:
        return _STATUS[status]
    return Kind.SERVER if status >= 500 else Kind.REQUEST


def error_in(body: bytes | str) -> dict[str, Any]:
    """The error object of an answer, in whichever of the usual places it is; empty when there is none."""
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return {}
    if isinstance(found, list) and found:
        found = found[0]
    if not isinstance(found, dict):
        return {}
    error = found.get("error", found)
    if isinstance(error, str):
        return {"message": error}
    return error if isinstance(error, dict) else {}


def words_of(error: Mapping[str, Any]) -> str:
    """What the server says, short and on one line."""
    text = _CONTROL.sub(" ", str(error.get("message") or error.get("detail") or "")).strip()
    return text if len(text) <= 300 else f"{text[:300]}..."
