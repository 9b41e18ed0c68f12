"""What the headers of a stateless request repeat of its body, so that a proxy can route it without reading that."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Any

from toolroll.mcp import versions
from toolroll.mcp.backend import Item
from toolroll.mcp.http.connection import Headers, header_values
from toolroll.mcp.wire import INVALID_PARAMS, WRONG_HEADER, RpcError

VERSION = b"mcp-protocol-version"
_METHOD, _NAME, _PARAM = b"mcp-method", b"mcp-name", "mcp-param-"
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_ANNOTATION = "x-mcp-header"
_ENCODED = re.compile(r"=\?base64\?(.*)\?=")
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_WHOLE = re.compile(r"(-?\d{1,4000})(?:\.0+)?")
_KINDS = ("string", "integer", "boolean")


def check_envelope(method: str, params: Item, headers: Headers) -> None:
    """Raise RpcError if a stateless request has no envelope, or headers that say something else."""
    meta = params.get("_meta")
    needed = (versions.VERSION, versions.CLIENT_CAN)
    if missing := [one for one in needed if not isinstance(meta, dict) or one not in meta]:
        raise RpcError(INVALID_PARAMS, f"`_meta` has no {' and no '.join(map(repr, missing))}.")
    assert isinstance(meta, dict)
    expected = {VERSION: meta[versions.VERSION], _METHOD: method}
    if (named := params.get(_NAMED.get(method, ""))) is not None:
        expected[_NAME] = named
    for header, value in expected.items():
        _compare(header.decode(), header_values(headers, header), value)


def check_arguments(schema: Item, arguments: Item, headers: Headers) -> None:
    """Raise RpcError if a header that stands for an argument of a tool says something else than the argument."""
    for path, token, kind in list(_annotated(schema)):
        value: Any = arguments
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        given = header_values(headers, (_PARAM + token.lower()).encode())
        written = None if value is None else _write(value)
        if written is None and not given:
            continue
        if kind == "integer" and len(given) == 1 and written is not None:
            whole, meant = _WHOLE.fullmatch(given[0]), _WHOLE.fullmatch(written)
            if whole and meant and int(whole[1]) == int(meant[1]):
                continue
        _compare(f"Mcp-Param-{token}", given, written)


def has_headers(schema: Item) -> bool:
    """Whether headers stand for arguments of this schema."""
    return any(True for _ in _annotated(schema))


def _compare(name: str, given: list[str], value: Any) -> None:
    if len(given) > 1:
        raise RpcError(WRONG_HEADER, f"The header {name} appears more than once.")
    if value is None or not given or _decode(given[0]) != value:
        raise RpcError(WRONG_HEADER, f"The header {name} does not match the body of the request.")


def _write(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None


def _decode(value: str) -> str | None:
    """A value as it was meant; None if it is broken."""
    if (found := _ENCODED.fullmatch(value)) is None:
        return value
    try:
        decoded = base64.b64decode(found[1], validate=True)
        return decoded.decode() if base64.b64encode(decoded).decode() == found[1] else None
    except (binascii.Error, UnicodeDecodeError):
        return None


def _annotated(schema: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """The arguments that a header stands for: their path, the end of the header's name, and their type."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    for name, one in properties.items() if isinstance(properties, dict) else ():
        if isinstance(one, dict):
            token, kind = one.get(_ANNOTATION), one.get("type")
            if isinstance(token, str) and _TOKEN.fullmatch(token) and kind in _KINDS:
                yield (*path, name), token, kind
            yield from _annotated(one, (*path, name))
