"""Write a tool as a line of Python, from its JSON Schema and the type that it returns."""

from __future__ import annotations

import keyword
import types
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

_NAMES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "object": "dict", "null": "None"}
_MAX_CHOICES = 6  # values of a parameter that are listed
_MAX_FIELDS = 12


def write_stub(
    name: str, schema: Mapping[str, Any], about: str, function: Callable[..., Any] | None, aside: Container[str] = ()
) -> str:
    """The line, such as `stat(path: str) -> {size: int}  # Tell about a path.`

    `function` is what runs, if the data of its result are the fields of what it returns, without those in `aside`.
    """
    required, given = schema.get("required", ()), schema["properties"].items()
    shown = [_parameter(one, look, one in required) for one, look in given if one.isidentifier()]
    called = name if name.isidentifier() and not keyword.iskeyword(name) else f'["{name}"]'
    returned = "dict" if function is None else _type_name(return_hint(function), aside, 0)
    first = about.splitlines()[0].partition(". ")[0].rstrip(".")
    return f"{called}({', '.join(shown)}) -> {returned}  # {first}."


def return_hint(function: Callable[..., Any]) -> Any:
    """The type that a function says it returns, if it can be had."""
    try:
        return get_type_hints(function).get("return", Any)
    except NameError:  # a name that is there for type checkers only
        return Any


def _parameter(name: str, schema: Mapping[str, Any], required: bool) -> str:
    text, default = f"{name}: {_written(schema)}", schema.get("default")
    if required:
        return text
    return f"{text} = {default!r}" if default is not None or text.endswith("None") else f"{text} | None = None"


def _written(schema: Mapping[str, Any]) -> str:
    """The type of a JSON Schema, as Python writes it."""
    if choices := schema.get("enum"):
        return f"Literal[{', '.join(map(repr, choices))}]" if len(choices) <= _MAX_CHOICES else "str"
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return " | ".join(dict.fromkeys(map(_written, options)))
    kind: str | list[str] = schema.get("type", "Any")
    if isinstance(kind, list):
        return " | ".join(_NAMES.get(one, one) for one in kind)
    return f"list[{_written(schema.get('items', {}))}]" if kind == "array" else _NAMES.get(kind, kind)


def _type_name(hint: Any, aside: Container[str], depth: int) -> str:
    if hint is None or hint is type(None):
        return "None" if depth else "str"
    origin, given = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " | ".join(dict.fromkeys(_type_name(one, aside, depth) for one in given))
    if origin is Literal or hint is str:
        return "str"
    if is_dataclass(hint):
        return _record_name(hint, aside, depth)
    if origin is not None and issubclass(origin, Mapping):
        return "dict"
    if origin is not None and issubclass(origin, Sequence):
        return f"list[{_type_name(given[0], aside, depth)}]"
    return hint.__name__ if hint in (int, float, bool, list) else "dict" if depth == 0 else "Any"


def _record_name(hint: Any, aside: Container[str], depth: int) -> str:
    if depth > 1:
        return "dict"
    try:
        hints = get_type_hints(hint)
    except NameError:
        return "dict"
    names = [one.name for one in fields(hint) if one.name not in aside][:_MAX_FIELDS]
    return "{" + ", ".join(f"{name}: {_type_name(hints[name], aside, depth + 1)}" for name in names) + "}"
