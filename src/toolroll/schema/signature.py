"""Derive parameters and JSON Schema from a typed function: the signature is the schema."""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Field:
    """Bounds of a parameter, written in its annotation: `Annotated[int, Field(ge=1), "How many."]`."""

    ge: float | None = None
    le: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    path: bool = False
    """Names a file or folder of the workspace: calls on it are locked by it."""

    def keywords(self, kind: str | None) -> Schema:
        """The bounds as JSON Schema names them for a value of this type."""
        unit = "Items" if kind == "array" else "Length"
        bounds = {"minimum": self.ge, "maximum": self.le}
        named = {**bounds, f"min{unit}": self.min_length, f"max{unit}": self.max_length}
        return {keyword: value for keyword, value in named.items() if value is not None}


FilePath = Annotated[str, Field(min_length=1, path=True)]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a tool, as its signature declares it."""

    name: str
    schema: Schema
    required: bool
    default: Any = None
    shown: bool = True
    """Keyword-only parameters are not shown by themselves: they are switches that a dialect may ask for."""
    path: bool = False
    convert: Any = None
    """The type that a checked value is converted to, or None when JSON's own value is right already."""


def parameters_of(function: Callable[..., Any], skip: int) -> tuple[Parameter, ...]:
    """The parameters of a function behind its first `skip` ones."""
    hints = _hints_of(function)
    given = list(inspect.signature(function).parameters.values())[skip:]
    for one in given:
        if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            raise TypeError(f"{function.__name__}: a tool names its parameters; {one} is not one.")
        if one.name not in hints:
            raise TypeError(f"{function.__name__}: parameter {one.name!r} needs a type.")
    return tuple(_parameter(one, hints[one.name]) for one in given)


def _hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The types of the parameters, also those that are defined in the function which makes this one a tool."""
    try:
        return get_type_hints(function, include_extras=True)
    except NameError as error:
        frame: types.FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_globals is not getattr(function, "__globals__", None):
            frame = frame.f_back
        try:
            return get_type_hints(function, localns=dict(frame.f_locals) if frame else None, include_extras=True)
        except NameError:
            where = "is not known where the tool is made. Define it in the module, or before the tool"
            raise TypeError(f"{function.__name__}: the type {error.name!r} {where}.") from None


def object_schema(properties: Mapping[str, Schema], required: Iterable[str]) -> Schema:
    """The schema of an arguments object; what is not named is not allowed."""
    schema: Schema = {"type": "object", "properties": dict(properties)}
    if names := list(required):
        schema["required"] = names
    schema["additionalProperties"] = False
    return schema


def _parameter(one: inspect.Parameter, hint: Any) -> Parameter:
    required = one.default is one.empty
    default = None if required else one.default
    schema = schema_of(hint)
    if default not in (None, ()):
        schema["default"] = default.value if isinstance(default, Enum) else default
    shown = one.kind is not one.KEYWORD_ONLY
    return Parameter(one.name, schema, required, default, shown, _is_path(hint), _conversion(hint))


def _is_path(hint: Any) -> bool:
    if any(note.path for note in _notes(hint) if isinstance(note, Field)):
        return True
    bare = _bare(hint)
    several = get_origin(bare) in (Union, types.UnionType, list, tuple, Sequence)
    return several and any(map(_is_path, get_args(bare)))


def _notes(hint: Any) -> Sequence[Any]:
    return get_args(hint)[1:] if get_origin(hint) is Annotated else ()


def _bare(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


_NAMES = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object", list: "array"}
_PLAIN: dict[Any, Schema] = {Any: {}, object: {}, **{kind: {"type": name} for kind, name in _NAMES.items()}}


def schema_of(hint: Any, inside: tuple[Any, ...] = ()) -> Schema:
    """The JSON Schema of one annotation, complete in itself: no titles, no `$defs`, no `$ref`."""
    bare = _bare(hint)
    schema = _schema_of_bare(bare, inside)
    for note in _notes(hint):
        if isinstance(note, Field):
            schema |= note.keywords(schema.get("type"))
        elif isinstance(note, str):
            schema["description"] = note
    return schema


def _schema_of_bare(bare: Any, inside: tuple[Any, ...]) -> Schema:
    if bare in inside:
        raise TypeError(f"{bare!r} holds itself; a tool's schema has no references, so give it a finite type.")
    if bare in _PLAIN:
        return dict(_PLAIN[bare])
    origin, args = get_origin(bare), get_args(bare)
    if origin is Literal:
        return _choices(args)
    if origin in (Union, types.UnionType):
        return _one_of([arg for arg in args if arg is not types.NoneType], inside)
    if origin in (list, tuple, Sequence):
        return {"type": "array", "items": schema_of(args[0], inside)}
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": schema_of(args[1], inside)}
    if isinstance(bare, type) and issubclass(bare, Enum):
        return _choices([member.value for member in bare])
    if is_dataclass(bare) or is_typeddict(bare):
        return _record(bare, (*inside, bare))
    raise TypeError(f"{bare!r} has no JSON Schema; use str, int, float, bool, list, dict, Literal or a dataclass.")


def _choices(values: Iterable[Any]) -> Schema:
    values = list(values)
    kinds = {type(value) for value in values}
    return (dict(_PLAIN[kinds.pop()]) if len(kinds) == 1 else {}) | {"enum": values}


def _one_of(hints: Sequence[Any], inside: tuple[Any, ...]) -> Schema:
    if len(hints) == 1:
        return schema_of(hints[0], inside)
    return {"anyOf": [schema_of(hint, inside) for hint in hints]}


def _record(kind: Any, inside: tuple[Any, ...]) -> Schema:
    hints = get_type_hints(kind, include_extras=True)
    if is_typeddict(kind):
        required = [name for name in hints if name in kind.__required_keys__]
    else:
        required = [f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING]
    return object_schema({name: schema_of(hint, inside) for name, hint in hints.items()}, required)


def _conversion(hint: Any) -> Any:
    """JSON has one kind of number and no classes: an integer may arrive as 5.0, a record as a dict."""
    bare = _bare(hint)
    if bare in (str, bool, Any, object, dict, list) or get_origin(bare) is Literal:
        return None
    return bare
