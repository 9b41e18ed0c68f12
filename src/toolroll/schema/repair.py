"""Repair common mistakes in arguments, only after a check has failed; every repair is reported."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from toolroll.schema.signature import Schema

# Names that mean the same parameter in one tool language or another. Compared without case and underscores.
_SAME = [set(group.split()) for group in (
    "path filepath file filename absolutepath targetfile directory dir folder dirpath directorypath searchpath",
    "old oldstring oldstr oldtext search find targetcontent",
    "new newstring newstr newtext replacement replace replacementcontent", "replaceall all every changeall",
    "content contents text filetext codecontent",
    "pattern query regex glob name globpattern", "include fileglob filepattern glob includepattern globpattern",
    "exclude excludepattern", "literal literaltext fixedstrings",
    "ignorecase caseinsensitive", "context contextlines", "limit maxresults headlimit count maxlines nlines numlines",
    "offset startline start line lineoffset firstline", "end endline", "source src from",
    "target destination dest dst to",
    "command cmd code script commandline", "query question input",
)]  # fmt: skip


def repair(schema: Schema, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """A repaired copy of the arguments, and one note for each repair."""
    properties: dict[str, Schema] = schema.get("properties", {})
    required = schema.get("required", ())
    repaired: dict[str, Any] = {}
    notes: list[str] = []
    for given, value in arguments.items():
        name = given
        same = _alias(str(given), properties, arguments) if given not in properties else None
        if same is not None and same not in repaired:
            notes.append(f"{given} read as {same}")
            name = same
        if name in properties and name not in required and _unused(value, properties[name]):
            notes.append(f"{name}: {'null' if value is None else 'empty text'} left out")
            continue
        fixed = _convert(value, properties.get(name, {}))
        if fixed is not value:
            notes.append(_note(name, value, fixed))
        repaired[name] = fixed
    return repaired, notes


def _unused(value: Any, schema: Schema) -> bool:
    """Whether this is how models fill in what they do not need: null, or an empty text where there can be none."""
    if value != "" or "type" not in schema:
        return value is None
    return schema["type"] != "string" or bool(schema.get("minLength")) or "" not in schema.get("enum", ("",))


def _alias(given: str, properties: Mapping[str, Schema], arguments: Mapping[str, Any]) -> str | None:
    """The one free parameter that this unknown name must mean, if there is exactly one."""
    flat = _flat(given)
    free = [name for name in properties if name not in arguments]
    exact = [name for name in free if _flat(name) == flat]
    same = exact or [name for name in free if any(flat in group and _flat(name) in group for group in _SAME)]
    return same[0] if len(same) == 1 else None


def _note(name: str, value: Any, fixed: Any) -> str:
    if type(value) is type(fixed):
        return f"{name}: {value!r} read as {fixed!r}" if isinstance(value, str) else f"{name}: repaired within"
    return f"{name}: {type(value).__name__} read as {type(fixed).__name__}"


def _flat(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _convert(value: Any, schema: Schema) -> Any:
    """The value as the schema's type when the text of it plainly is one; else the value itself."""
    kind = schema.get("type")
    if isinstance(value, list) and kind == "array":
        items = [_convert(one, schema.get("items", {})) for one in value]
        return value if all(map(operator.is_, value, items)) else items
    if isinstance(value, dict) and kind == "object":
        properties = schema.get("properties", {})
        parts = {name: _convert(one, properties.get(name, {})) for name, one in value.items()}
        return value if all(parts[name] is one for name, one in value.items()) else parts
    if isinstance(value, str) and value not in schema.get("enum", (value,)):
        return next((one for one in schema["enum"] if isinstance(one, str) and _flat(one) == _flat(value)), value)
    if not isinstance(value, str) or kind == "string" or not isinstance(kind, str):
        return value
    reader = _READERS.get(kind)
    if reader is None:
        return value
    try:
        found = reader(value.strip())
    except ValueError:
        found = None
    if found is None and kind == "array" and schema.get("items", {}).get("type") == "string" and value[:1] != "[":
        return [value]
    return value if found is None else found


def _json(kind: type) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        from toolroll.schema.argument_text import read_value

        found = read_value(text)
        return found if isinstance(found, kind) else None

    return read


def _finite(text: str) -> float | None:
    number = float(text)
    return number if number - number == 0 else None


_READERS: dict[str, Callable[[str], Any]] = {
    "integer": lambda text: int(text) if len(text) < 20 else None,
    "number": _finite,
    "boolean": {"true": True, "false": False, "True": True, "False": False}.get,
    "array": _json(list),
    "object": _json(dict),
}
