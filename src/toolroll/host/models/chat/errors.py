"""Errors of chat models: their kinds, and how a provider's error object maps to them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from toolroll.result import ErrorCode, ToolError


class ModelErrorKind(StrEnum):
    """Why a model did not answer. The agent loop branches on these."""

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


_Kind = ModelErrorKind
RETRYABLE = frozenset({_Kind.RATE, _Kind.BUSY, _Kind.SERVER, _Kind.GARBLED, _Kind.CUT, _Kind.NETWORK})
_CODES = {
    _Kind.KEY: ErrorCode.PERMISSION,
    _Kind.MODEL: ErrorCode.NOT_FOUND,
    _Kind.LONG: ErrorCode.TOO_LARGE,
    _Kind.REQUEST: ErrorCode.VALIDATION,
    _Kind.TIMEOUT: ErrorCode.TIMEOUT,
    _Kind.CANCELLED: ErrorCode.CANCELLED,
}


class ModelError(ToolError):
    """A model did not answer. `kind` says why; `wait` is how many seconds the server asks to wait."""

    def __init__(self, kind: ModelErrorKind, message: str, *, wait: float | None = None) -> None:
        super().__init__(_CODES.get(kind, ErrorCode.NETWORK), message, details={"kind": str(kind)})
        self.kind = kind
        self.wait = wait


_MAX_QUOTED_CHARS = 300
_TOO_LONG = re.compile(
    r"context[ _]length|context window|maximum context|too many (?:input )?tokens|prompt (?:is )?too long"
    r"|input (?:is )?too long|reduce the length|exceeds? the (?:available )?context|exceed_context"
    r"|tokens? limit exceeded",
    re.IGNORECASE,
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_STATUSES = {
    401: _Kind.KEY,
    403: _Kind.KEY,
    404: _Kind.MODEL,
    408: _Kind.SERVER,
    409: _Kind.SERVER,
    413: _Kind.LONG,
    429: _Kind.RATE,
    503: _Kind.BUSY,
    529: _Kind.BUSY,
}
# An error inside a stream has no status of its own, only a type.
_TYPES = {
    "authentication_error": _Kind.KEY,
    "permission_error": _Kind.KEY,
    "not_found_error": _Kind.MODEL,
    "rate_limit_error": _Kind.RATE,
    "rate_limit_exceeded": _Kind.RATE,
    "overloaded_error": _Kind.BUSY,
    "request_too_large": _Kind.LONG,
    "context_length_exceeded": _Kind.LONG,
    "exceed_context_size_error": _Kind.LONG,
    "invalid_request_error": _Kind.REQUEST,
}


def classify_error(status: int | None, error: Mapping[str, Any]) -> ModelErrorKind:
    """The kind of an error by its HTTP status (None inside a stream) and its error object."""
    words = [str(error.get(name) or "") for name in ("code", "type", "message")]
    if "insufficient_quota" in words:
        return _Kind.KEY  # also sent with status 429, but waiting does not help
    if status in (None, 400, 413, 422, 500) and any(_TOO_LONG.search(word) for word in words):
        return _Kind.LONG
    if status is None:
        return next((_TYPES[word] for word in words[:2] if word in _TYPES), _Kind.SERVER)
    if status in _STATUSES:
        return _STATUSES[status]
    return _Kind.SERVER if status >= 500 else _Kind.REQUEST


def find_error(body: object) -> Mapping[str, Any]:
    """The error object in a decoded body, wherever servers put it; empty if there is none."""
    if isinstance(body, list) and body:
        body = body[0]
    if isinstance(body, Mapping):
        body = body.get("error", body)
    if isinstance(body, str):
        return {"message": body}
    return body if isinstance(body, Mapping) else {}


def quote_error(error: Mapping[str, Any]) -> str:
    """The server's own message, short and on one line."""
    text = _CONTROL.sub(" ", str(error.get("message") or error.get("detail") or "")).strip()
    return text if len(text) <= _MAX_QUOTED_CHARS else f"{text[:_MAX_QUOTED_CHARS]}..."
