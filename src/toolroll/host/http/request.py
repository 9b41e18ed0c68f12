"""Check and build requests, and decide what of one may go to another host."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from toolroll.host.http import decode
from toolroll.policy.urls import Target
from toolroll.result import ErrorCode, ToolError

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
Body = str | dict[str, Any] | list[Any]

_MAX_BODY = 10_000_000  # bytes
_MAX_HEADERS = 64
_MAX_HEADER_BYTES = 16 * 1024
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
# They describe the connection, which is ours, or could make two servers read two different requests.
CONNECTION_HEADERS = frozenset({
    "host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "keep-alive", "expect",
    "accept-encoding", "http2-settings", "via", "forwarded",
})  # fmt: skip
# Headers that may go to another host than the one they were meant for. Keys come under many names.
_HARMLESS = frozenset({"accept", "accept-language", "user-agent", "content-type", "cache-control", "pragma", "range"})
_FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class Request:
    """A request. Make one with `prepare`, which checks it."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    """Their names in lower case."""
    body: bytes | None = None

    def for_other_host(self, url: str) -> Request:
        """The same request for another host: without what could be a secret."""
        kept = {name: value for name, value in self.headers.items() if name in _HARMLESS}
        return replace(self, url=url, headers=kept)

    def as_get(self) -> Request:
        """The same request as a GET without body, which follows most redirects."""
        kept = {name: value for name, value in self.headers.items() if not name.startswith("content-")}
        return replace(self, method="GET", headers=kept, body=None)

    def header_lines(self, target: Target, agent: str) -> list[tuple[str, str]]:
        headers = {"host": target.authority, "user-agent": agent, "accept": "*/*", **self.headers}
        headers["accept-encoding"] = decode.ACCEPTED
        if self.body is not None or self.method in ("POST", "PUT", "PATCH"):
            headers["content-length"] = str(len(self.body or b""))
        return [(name.title(), value) for name, value in headers.items()]


def prepare(method: str, url: str, headers: Mapping[str, str] | None = None, body: Body | None = None) -> Request:
    """A request that can be sent; ToolError for what cannot."""
    verb = method.upper()
    if verb not in METHODS:
        raise _wrong(f"There is no `method` {method!r}. Use one of {', '.join(METHODS)}.")
    checked = _check_headers(headers or {})
    if body is None:
        return Request(verb, url, checked)
    if verb in ("GET", "HEAD"):
        raise _wrong(f"A {verb} request has no `body`. Leave it out, or use POST.")
    data, kind = _encode(body, checked.get("content-type", "").partition(";")[0].strip().lower())
    if len(data) > _MAX_BODY:
        raise ToolError(ErrorCode.TOO_LARGE, f"The `body` has {len(data)} bytes, the limit is {_MAX_BODY}. Send less.")
    return Request(verb, url, {"content-type": kind, **checked}, data)


def _check_headers(headers: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in headers.items():
        low = name.lower()
        if not _TOKEN.fullmatch(name) or low in found:
            raise _wrong(f"{name!r} is not a name for one of the `headers`, or is there twice.")
        if low in CONNECTION_HEADERS or low.startswith(("proxy-", "x-forwarded-", "sec-")):
            raise _wrong(f"The header {name!r} is set by the connection itself. Leave it out.")
        if _CONTROL.search(value):
            raise _wrong(f"The header {name!r} holds a line break or another control character. Remove it.")
        found[low] = value.strip()
    size = sum(len(name) + len(value.encode()) for name, value in found.items())
    if len(found) > _MAX_HEADERS or size > _MAX_HEADER_BYTES:
        raise _wrong(f"Too many `headers`: {len(found)} with {size} bytes. Send fewer.")
    return found


def _encode(body: Body, kind: str) -> tuple[bytes, str]:
    """The bytes of a body and their type: a form if the headers say so, an object otherwise as JSON."""
    import json

    if isinstance(body, str):
        return body.encode(), "application/json" if _is_json(body) else "text/plain; charset=utf-8"
    if kind == _FORM and isinstance(body, dict):
        return _form(body), _FORM
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False).encode(), "application/json"
    except (TypeError, ValueError, RecursionError) as error:
        raise _wrong(f"The `body` cannot be written as JSON: {error}.") from error


def _form(body: dict[str, Any]) -> bytes:
    """A form; a list is several values of one name."""
    from urllib.parse import urlencode

    pairs = [(name, one) for name, value in body.items() for one in (value if isinstance(value, list) else [value])]
    if nested := [name for name, value in pairs if isinstance(value, (dict, list))]:
        raise _wrong(f"{nested[0]!r} of the `body` is no text or number, so a form cannot hold it. Give its text.")
    return urlencode([(name, _form_text(value)) for name, value in pairs]).encode("ascii")


def _form_text(value: object) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _is_json(text: str) -> bool:
    import json

    if text.lstrip()[:1] not in ("{", "["):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to wait: given in milliseconds, in seconds, or as a date."""
    from email.utils import parsedate_to_datetime

    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        value = headers.get("retry-after", "").strip()
        if value.replace(".", "", 1).isdecimal():
            return float(value[:9])
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def _wrong(message: str) -> ToolError:
    return ToolError(ErrorCode.VALIDATION, message)
