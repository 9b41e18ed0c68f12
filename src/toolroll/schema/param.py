"""How a parameter of a tool looks in a dialect: its name, unit, default and schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from toolroll.schema.signature import Parameter

OWN = object()  # "as the tool itself has it", where None would be a value
_NAME = re.compile(r"-?[A-Za-z_][A-Za-z0-9_.-]*")  # what `toolroll call` and the providers can pass
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (dict,),
}
_MIN_SECONDS = 0.1  # the shortest time that tools take
_HUGE = 10**12  # larger than any bound: shows whether a conversion bounds its result


@dataclass(frozen=True, slots=True)
class Param:
    """How one parameter of a tool looks in a dialect."""

    name: str | None = None
    default: Any = OWN
    """In the dialect's unit."""
    decode: Callable[[Any], Any] | None = None
    """From the dialect's unit or origin to the tool's."""
    encode: Callable[[Any], Any] | None = None
    """The way back, for calls that we suggest."""
    description: str | None = None
    schema: Mapping[str, Any] = field(default_factory=dict)
    """JSON Schema keywords that differ; None takes one away."""
    required: bool | None = None
    listed: bool = True
    """Whether the schema names it; an unlisted one is accepted, and the description mentions it."""


def from_zero(name: str | None = None, description: str | None = None) -> Param:
    """A line number that the dialect counts from 0 and the tool from 1."""
    return Param(
        name,
        default=0,
        decode=lambda value: value + 1,
        encode=lambda value: value - 1,
        description=description,
        schema={"minimum": 0},
    )


def milliseconds(default: int, *, most: int, clamp: bool = False) -> Param:
    """A time that the dialect counts in milliseconds and the tool in seconds; `clamp` takes more for `most`.

    Less than the tool's shortest time counts as that.
    """
    bounds = {"type": "integer", "minimum": 1, "maximum": None if clamp else most}
    return Param(
        default=default,
        decode=lambda value: max(_MIN_SECONDS, min(value, most) / 1000),
        encode=lambda value: int(value * 1000),
        description=f"Timeout in milliseconds (max {most})",
        schema=bounds,
    )


def is_required(one: Parameter, look: Param) -> bool:
    """Whether a call must give the parameter."""
    return look.required if look.required is not None else one.required and look.default is OWN


def shown_schema(one: Parameter, look: Param) -> dict[str, Any]:
    """The JSON Schema of the parameter as the dialect shows it."""
    schema = {word: value for word, value in {**one.schema, **look.schema}.items() if value is not None}
    if look.description is not None:
        schema["description"] = look.description
    if look.default is not OWN:
        schema.pop("default", None)
        if look.default is not None:
            schema["default"] = look.default
    return schema


def find_fault(name: str, one: Parameter, look: Param) -> str:
    """What is wrong with how a parameter is shown, as the end of a sentence; empty if nothing is."""
    if not _NAME.fullmatch(name):
        return "cannot be passed on the command line: after a `-` at most, a name has letters, digits and _.- only"
    schema = shown_schema(one, look)
    number = schema.get("type") in ("integer", "number")
    default = schema.get("default")
    if number and look.decode and look.default is OWN and default is not None and look.decode(default) != default:
        return "counts in another unit than the tool, so it needs a default of its own"
    if default is not None and not _fits(default, schema):
        return f"has the default {default!r}, which its own schema does not allow"
    if not number:
        return ""
    return _bound_fault(one, look, "minimum", -_HUGE) or _bound_fault(one, look, "maximum", _HUGE)


def _bound_fault(one: Parameter, look: Param, word: str, huge: int) -> str:
    """What is wrong with a bound of a number: after the conversion to the tool's unit, the tool's own must hold."""
    own = one.schema.get(word)
    if own is None:
        return ""
    decode = look.decode or (lambda value: value)
    if word not in look.schema:
        same = decode(own) == own
        return "" if same else f"counts in another unit than the tool, so it needs a {word!r} of its own"
    bound = look.schema[word]
    reached = decode(huge if bound is None else bound)
    if reached < own if word == "minimum" else reached > own:
        given = f"no {word!r}" if bound is None else f"the {word!r} {bound}"
        return f"has {given}, so that the tool would get {reached:g}; its own {word} is {own:g}"
    return ""


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a value is one of a parameter's: its type, its choices and its bounds."""
    if "anyOf" in schema and not any(_fits(value, one) for one in schema["anyOf"]):
        return False
    kind = schema.get("type")
    if kind is not None and (not isinstance(value, _TYPES[kind]) or (kind != "boolean" and isinstance(value, bool))):
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if len(value) < schema.get("minLength", 0) if isinstance(value, str) else False:
        return False
    if not isinstance(value, int | float):
        return True
    return bool(schema.get("minimum", value) <= value <= schema.get("maximum", value))
