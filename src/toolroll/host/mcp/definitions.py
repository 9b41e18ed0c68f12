"""What a server says of its tools: cleaned, bounded, checked, and known again by its hash. None of it is believed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

import msgspec

MOST_DESCRIPTION = 2_000
_MOST_TEXT = 1_000
_MOST_NAME = 128
_MOST_SCHEMA = 65_536
_DEPTH = 32
_CARRIED = ("string", "integer", "boolean")
_TEXTS = ("description", "title", "$comment")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}")
# Controls, and characters that hide, reorder or smuggle text.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)


@dataclass(frozen=True, slots=True)
class Definition:
    """One tool as its server describes it, fit to be shown."""

    name: str
    """As the server calls it."""
    description: str = ""
    schema: Mapping[str, Any] = field(default_factory=dict)
    annotations: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""
    """Of everything that the server said of it, as it said it."""
    problem: str = ""
    """Why it cannot be used; empty if it can."""

    @property
    def reads(self) -> bool:
        """Whether the server says that it changes nothing."""
        return self.annotations.get("readOnlyHint") is True


def visible(text: str, most: int) -> str:
    """A text of at most so many characters, in which nothing is hidden: odd characters are written as escapes."""
    shown = _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text[: most + 1].replace("\r\n", "\n"))
    return shown if len(text) <= most and len(shown) <= most else f"{shown[: most - 6]} [cut]"


def definitions(raw: list[Any]) -> list[Definition]:
    """The tools of a listing; what is none, and a name that was there before, is left out."""
    found: dict[str, Definition] = {}
    for one in raw:
        if isinstance(one, Mapping) and isinstance(name := one.get("name"), str) and name not in found:
            found[name] = _definition(name, one)
    return list(found.values())


def _definition(name: str, raw: Mapping[str, Any]) -> Definition:
    schema, annotations = raw.get("inputSchema"), raw.get("annotations")
    said = raw.get("description") or raw.get("title") or ""
    if not name or len(name) > _MOST_NAME or visible(name, _MOST_NAME) != name:
        return Definition(visible(name, _MOST_NAME), problem="its name is empty, too long, or holds odd characters")
    problem = _problem(schema)
    return Definition(
        name,
        visible(said, MOST_DESCRIPTION) if isinstance(said, str) else "",
        {} if problem else _clean(schema),
        {key: value for key, value in annotations.items() if isinstance(value, bool)}
        if isinstance(annotations, Mapping)
        else {},
        _digest({key: raw.get(key) for key in ("name", "title", "description", "inputSchema", "annotations")}),
        problem,
    )


def mirrored(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, str]:
    """The arguments that a schema wants in headers too, for whatever stands between us and the server."""
    found: dict[str, str] = {}
    properties = schema.get("properties")
    for name, one in properties.items() if isinstance(properties, Mapping) else ():
        value = arguments.get(name)
        if not isinstance(one, Mapping) or value is None:
            continue
        header = one.get("x-mcp-header")
        if isinstance(header, str) and _TOKEN.fullmatch(header) and isinstance(value, str | int):
            found[f"mcp-param-{header.lower()}"] = str(value).lower() if isinstance(value, bool) else str(value)
        elif isinstance(value, Mapping):
            found |= mirrored(one, value)
    return found


def _headers(schema: Mapping[str, Any]) -> Iterator[str | None]:
    """The headers that a schema wants for parameters, in lower case; None for what is no header."""
    properties = schema.get("properties")
    for one in properties.values() if isinstance(properties, Mapping) else ():
        if not isinstance(one, Mapping):
            continue
        if "x-mcp-header" in one:
            name = one["x-mcp-header"]
            good = isinstance(name, str) and _TOKEN.fullmatch(name) and one.get("type") in _CARRIED
            yield name.lower() if good else None
        yield from _headers(one)


def _digest(said: Any) -> str:
    import hashlib

    return hashlib.blake2b(msgspec.json.encode(said, order="sorted"), digest_size=16).hexdigest()


def _problem(schema: Any) -> str:
    """What is wrong with a schema; empty if nothing is."""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return "its schema describes no object"
    if max(_depths(schema, 0)) > _DEPTH:
        return "its schema is nested too deeply"
    if (size := len(msgspec.json.encode(schema))) > _MOST_SCHEMA:
        return f"its schema has {size} bytes, more than {_MOST_SCHEMA}"
    properties = schema.get("properties", {})
    if not isinstance(properties, Mapping) or any(visible(name, _MOST_NAME) != name for name in properties):
        return "its schema names parameters with odd characters"
    headers = list(_headers(schema))
    if None in headers or len(set(headers)) < len(headers):
        return "its schema names headers for its parameters that cannot be sent"
    import jsonschema_rs

    try:
        jsonschema_rs.validator_for(schema, retriever=_refuse)
    except ValueError as error:  # a schema that is none, or that leads elsewhere
        return visible(f"its schema cannot be used: {str(error).splitlines()[0]}", 300)
    return ""


def _refuse(uri: str) -> NoReturn:
    """A schema is untrusted: a `$ref` to a file or an address is never followed."""
    raise ValueError(f"a schema may not refer to {uri!r}")


def _depths(value: Any, depth: int) -> Iterator[int]:
    yield depth
    if depth > _DEPTH:
        return
    inside = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    for one in inside:
        yield from _depths(one, depth + 1)


def _clean(schema: Any) -> Any:
    """The schema with its texts bounded, and nothing hidden in them."""
    if isinstance(schema, list):
        return [_clean(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: visible(value, _MOST_TEXT) if key in _TEXTS and isinstance(value, str) else _clean(value)
        for key, value in schema.items()
    }
