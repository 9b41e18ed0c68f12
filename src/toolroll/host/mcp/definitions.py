"""Tool definitions of a server: cleaned, bounded, checked, and hashed. They are untrusted input."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from toolroll.schema.check import refuse_reference

_MAX_DESCRIPTION_CHARS = 2_000
_MAX_TEXT_CHARS = 1_000
_MAX_NAME_CHARS = 128
_MAX_SCHEMA_BYTES = 65_536
_MAX_DEPTH = 32
_HEADER_TYPES = ("string", "integer", "boolean")
_TEXT_KEYS = ("description", "title", "$comment")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}")
# Control characters, and characters that hide, reorder or smuggle text.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """One tool as its server describes it, safe to show."""

    name: str
    """The name on the server."""
    description: str = ""
    schema: Mapping[str, Any] = field(default_factory=dict)
    annotations: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""
    """Hash of the whole definition as the server sent it."""
    problem: str = ""
    """Why the tool cannot be used; empty if it can."""

    @property
    def is_read_only(self) -> bool:
        """True when the server declares that the tool changes nothing."""
        return self.annotations.get("readOnlyHint") is True


def visible(text: str, most: int) -> str:
    """The text, cut at `most` characters, with hidden characters written as escapes."""
    shown = _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text[: most + 1].replace("\r\n", "\n"))
    return shown if len(text) <= most and len(shown) <= most else f"{shown[: most - 6]} [cut]"


def parse_definitions(raw: list[Any]) -> list[ToolDefinition]:
    """The tools of a listing; invalid items and repeated names are left out."""
    found: dict[str, ToolDefinition] = {}
    for one in raw:
        if isinstance(one, Mapping) and isinstance(name := one.get("name"), str) and name not in found:
            found[name] = _parse_definition(name, one)
    return list(found.values())


def _parse_definition(name: str, raw: Mapping[str, Any]) -> ToolDefinition:
    schema, annotations = raw.get("inputSchema"), raw.get("annotations")
    description = raw.get("description") or raw.get("title") or ""
    if not name or len(name) > _MAX_NAME_CHARS or visible(name, _MAX_NAME_CHARS) != name:
        problem = "its name is empty, too long, or holds odd characters"
        return ToolDefinition(visible(name, _MAX_NAME_CHARS), problem=problem)
    problem = _find_problem(schema)
    about = visible(description, _MAX_DESCRIPTION_CHARS) if isinstance(description, str) else ""
    given = annotations.items() if isinstance(annotations, Mapping) else ()
    flags = {key: value for key, value in given if isinstance(value, bool)}
    digest = _digest({key: raw.get(key) for key in ("name", "title", "description", "inputSchema", "annotations")})
    return ToolDefinition(name, about, {} if problem else _clean(schema), flags, digest, problem)


def find_mirrored_headers(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, str]:
    """The headers for arguments that a schema also wants as headers (`x-mcp-header`), for proxies."""
    found: dict[str, str] = {}
    properties = schema.get("properties")
    for name, one in properties.items() if isinstance(properties, Mapping) else ():
        value = arguments.get(name)
        if not isinstance(one, Mapping) or value is None:
            continue
        header = one.get("x-mcp-header")
        if isinstance(header, str) and _HEADER_NAME.fullmatch(header) and isinstance(value, str | int):
            found[f"mcp-param-{header.lower()}"] = str(value).lower() if isinstance(value, bool) else str(value)
        elif isinstance(value, Mapping):
            found |= find_mirrored_headers(one, value)
    return found


def _header_names(schema: Mapping[str, Any]) -> Iterator[str | None]:
    """The header names that a schema wants for parameters, in lower case; None for an invalid one."""
    properties = schema.get("properties")
    for one in properties.values() if isinstance(properties, Mapping) else ():
        if not isinstance(one, Mapping):
            continue
        if "x-mcp-header" in one:
            name = one["x-mcp-header"]
            good = isinstance(name, str) and _HEADER_NAME.fullmatch(name) and one.get("type") in _HEADER_TYPES
            yield name.lower() if good else None
        yield from _header_names(one)


def _digest(value: Any) -> str:
    return hashlib.blake2b(msgspec.json.encode(value, order="sorted"), digest_size=16).hexdigest()


def _find_problem(schema: Any) -> str:
    """The problem of a schema; empty if it has none."""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return "its schema describes no object"
    if max(_depths(schema, 0)) > _MAX_DEPTH:
        return "its schema is nested too deeply"
    if (size := len(msgspec.json.encode(schema))) > _MAX_SCHEMA_BYTES:
        return f"its schema has {size} bytes, more than {_MAX_SCHEMA_BYTES}"
    properties = schema.get("properties", {})
    if not isinstance(properties, Mapping) or any(visible(name, _MAX_NAME_CHARS) != name for name in properties):
        return "its schema names parameters with odd characters"
    headers = list(_header_names(schema))
    if None in headers or len(set(headers)) < len(headers):
        return "its schema names headers for its parameters that cannot be sent"
    import jsonschema_rs

    try:
        jsonschema_rs.validator_for(schema, retriever=refuse_reference)
    except ValueError as error:  # an invalid schema, or one with an external reference
        return visible(f"its schema cannot be used: {str(error).splitlines()[0]}", 300)
    return ""


def _depths(value: Any, depth: int) -> Iterator[int]:
    yield depth
    if depth > _MAX_DEPTH:
        return
    inside = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    for one in inside:
        yield from _depths(one, depth + 1)


def _clean(schema: Any) -> Any:
    """The schema with bounded texts and visible characters."""
    if isinstance(schema, list):
        return [_clean(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: visible(value, _MAX_TEXT_CHARS) if key in _TEXT_KEYS and isinstance(value, str) else _clean(value)
        for key, value in schema.items()
    }
