"""Careful looks into what a server sent: the wrong type is the same as nothing, or a Garbled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


class Garbled(ValueError):  # noqa: N818
    """An answer that cannot be understood; the message ends a sentence that begins with "because"."""


def decoded(data: bytes | str) -> Mapping[str, Any]:
    """The JSON object that was sent."""
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        raise Garbled("it is not JSON") from None
    if not isinstance(found, Mapping):
        raise Garbled("it is not an object")
    return found


def object_in(holder: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """An object, or an empty one."""
    value = holder.get(name)
    return value if isinstance(value, Mapping) else {}


def listed(holder: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """The objects of a list."""
    value = holder.get(name)
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def text_in(holder: Mapping[str, Any], name: str) -> str:
    """A text, or an empty one."""
    value = holder.get(name)
    return value if isinstance(value, str) else ""


def number(holder: Mapping[str, Any], name: str) -> int:
    """A count, or 0."""
    value = holder.get(name)
    return value if isinstance(value, int) and value >= 0 else 0


def arguments_in(text: str) -> Mapping[str, Any]:
    """The arguments of a call as an object, which servers insist on; the tool's error tells of what was broken."""
    try:
        return decoded(text or "{}")
    except Garbled:
        return {"broken": text}
