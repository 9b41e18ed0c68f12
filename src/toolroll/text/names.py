"""Names of files: show them on one line with invisible characters escaped, suggest the one that was meant."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any

import msgspec

from toolroll.text.escape import escape_line

_ESCAPE = re.compile(r"\\(?:[nrt\\]|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})")
# Fields that hold names of files, branches and the like, or have them as keys: they are shown on one line.
_NAMES = frozenset({
    "path", "paths", "file", "source", "sources", "target", "backup", "backups", "name", "title", "branch", "upstream",
    "ref", "id", "untracked", "added", "replaced", "unchanged", "left", "unknown", "folder", "cwd", "subject", "author",
    "citation", "removed",
})  # fmt: skip
_PROSE = (".md", ".markdown", ".rst", ".txt")
_SHORT = {"\\n": "\n", "\\r": "\r", "\\t": "\t", "\\\\": "\\"}


def show_name(path: str) -> str:
    """A name or path with control, bidi and invisible characters as escapes; one without any is as it is.

    In a component that has some, a backslash is doubled, so that `parse_shown` can tell.
    """
    if path.isascii() and path.isprintable():
        return path
    return "/".join(_shown(part) for part in path.split("/"))


def parse_shown(path: str) -> str:
    """The path that `show_name` shows like this."""
    return "/".join(_meant(part) for part in path.split("/"))


def show_names(output: Any) -> Any:
    """The output with the names in it as they are shown; the output itself where they are so already."""
    parts = _name_fields(output.__class__)
    if parts is None:
        return _each(output, False) if isinstance(output, (list, tuple)) else output
    changed = {}
    for name, is_name in parts:
        old = getattr(output, name)
        new = _each(old, is_name)
        if new is not old:
            changed[name] = new
    if not changed:
        return output
    if hasattr(output, "_replace"):  # a named tuple
        return output._replace(**changed)
    return (
        msgspec.structs.replace(output, **changed) if isinstance(output, msgspec.Struct) else replace(output, **changed)
    )


def is_prose(path: str) -> bool:
    """Whether any text is right in a file of this name."""
    return path.lower().endswith(_PROSE)


def _each(value: Any, is_name: bool) -> Any:
    """A value of a field, or all that are in it, as shown."""
    kind = value.__class__
    if kind is str:
        return show_name(value) if is_name else value
    if kind is list or kind is tuple:
        items = [_each(one, is_name) for one in value]
        return value if all(map(operator.is_, items, value)) else kind(items)
    if kind is dict:
        made = {_each(key, is_name): _each(one, False) for key, one in value.items()}
        same = made.keys() == value.keys() and all(map(operator.is_, made.values(), value.values()))
        return value if same else made
    return show_names(value)


@cache
def _name_fields(kind: Any) -> tuple[tuple[str, bool], ...] | None:
    """The fields that are names, or may hold such; None for what has no fields."""
    if is_dataclass(kind):
        found = [field.name for field in fields(kind) if field.init]
    elif issubclass(kind, msgspec.Struct):
        found = list(kind.__struct_fields__)
    elif issubclass(kind, tuple) and hasattr(kind, "_fields"):
        found = list(kind._fields)
    else:
        return None
    return tuple((name, name in _NAMES) for name in found)


def _shown(part: str) -> str:
    return part if escape_line(part) == part else escape_line(part.replace("\\", "\\\\"))


def _meant(part: str) -> str:
    found = _ESCAPE.sub(lambda one: _SHORT.get(one[0]) or _character(one[0]), part)
    return found if _shown(found) == part else part  # else it was not written by `shown`


def _character(escape: str) -> str:
    code = int(escape[2:], 16)
    return chr(code) if code <= 0x10FFFF else escape


def suggest_name(given: str, known: Iterable[str]) -> str:
    """` Did you mean 'x'?` with the nearest known name, or an empty text."""
    import difflib

    found = difflib.get_close_matches(given.lower(), list(known), n=1, cutoff=0.5)
    return f" Did you mean {found[0]!r}?" if found else ""
