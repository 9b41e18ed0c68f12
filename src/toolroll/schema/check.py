"""Check arguments against exactly the schema that the model saw; report every fault at once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from toolroll.result import ErrorCode, Suggestion, ToolError
from toolroll.schema.repair import repair
from toolroll.schema.signature import Schema

if TYPE_CHECKING:
    import jsonschema_rs


def refuse_reference(uri: str) -> NoReturn:
    """Schemas of remote tools are untrusted: a `$ref` to a file or an address is never followed."""
    raise ValueError(f"a schema may not refer to {uri!r}")


class Checker:
    """Checks arguments for one schema. Compiled on first use, so unused tools cost nothing."""

    def __init__(
        self,
        schema: Schema,
        unused: Callable[[Mapping[str, Any]], Iterable[str]] = lambda _arguments: (),
        read: Callable[[Mapping[str, Any]], tuple[dict[str, Any], dict[str, Any], list[str]]] | None = None,
    ) -> None:
        """`unused`: those of some arguments that say nothing in such a call; a fault of theirs is none.

        `read` understands other spellings: it gives the arguments that it leaves as they are, those that it has read,
        which may be parameters that the schema does not show, and a note for each.
        """
        self.schema = schema
        self._unused = unused
        self._read = read

    def check(self, arguments: Mapping[str, Any], name: str = "") -> tuple[dict[str, Any], list[str]]:
        """The arguments, repaired if need be, and what was repaired; raises ToolError with every fault.

        The error suggests the corrected call of the tool `name` where there is exactly one.
        """
        if self._valid(arguments):
            return dict(arguments), []
        hidden: dict[str, Any] = {}
        notes: list[str] = []
        if self._read is not None:
            left, read, notes = self._read(arguments)
            hidden = {name: value for name, value in read.items() if name not in self.schema["properties"]}
            arguments = left | {name: value for name, value in read.items() if name not in hidden}
        repaired, more = repair(self.schema, arguments)
        notes += more
        for unused in self._unused(repaired):
            del repaired[unused]
            notes.append(f"{unused}: not used, left out")
        if (notes or hidden) and self._valid(repaired):
            return repaired | hidden, notes
        faults = self.faults(repaired)
        corrected = _correct(repaired, self.schema.get("properties", {}))
        suggest = (Suggestion(name, corrected | hidden),) if name and self._valid(corrected) else ()
        message = "Invalid arguments. " + " ".join(faults)
        raise ToolError(ErrorCode.VALIDATION, message, details=faults, suggest=suggest)

    def faults(self, arguments: Mapping[str, Any]) -> list[str]:
        """One sentence for each fault, none when the arguments fit."""
        try:
            errors = list(self._validator.iter_errors(arguments))
        except (ValueError, RecursionError) as error:
            return [f"The arguments are not a JSON object: {error}."]
        return [_sentence(error, self.schema) for error in errors]

    def _valid(self, arguments: Mapping[str, Any]) -> bool:
        if "jsonschema_rs" not in sys.modules and is_plainly_valid(self.schema, arguments):
            return True
        try:
            return self._validator.is_valid(arguments)
        except (ValueError, RecursionError):
            return False

    @cached_property
    def _validator(self) -> jsonschema_rs.Validator:
        import jsonschema_rs

        return jsonschema_rs.validator_for(self.schema, retriever=refuse_reference)


_PLAIN_OBJECT = frozenset({"type", "properties", "required", "additionalProperties"})
_PLAIN_VALUE = frozenset({"type", "description", "default", "enum", "minLength", "minimum", "maximum"})
_PLAIN_TYPES: dict[type, str] = {str: "string", bool: "boolean", int: "integer"}


def is_plainly_valid(schema: Schema, arguments: Mapping[str, Any]) -> bool:
    """True where simple values fit a simple schema; all else is for the validator, which takes long to import."""
    if schema.get("type") != "object" or not schema.keys() <= _PLAIN_OBJECT:
        return False
    known = schema.get("properties", {})
    there = all(name in arguments for name in schema.get("required", ()))
    return there and all(name in known and _fits_plainly(known[name], value) for name, value in arguments.items())


def _fits_plainly(schema: Schema, value: Any) -> bool:
    kind = type(value)
    if kind not in _PLAIN_TYPES or schema.get("type") != _PLAIN_TYPES[kind] or not schema.keys() <= _PLAIN_VALUE:
        return False
    if kind is str:  # not every text can be encoded
        long_enough = len(value) >= schema.get("minLength", 0)
        return value.isascii() and long_enough and value in schema.get("enum", (value,))
    within = kind is bool or schema.get("minimum", 0) <= value <= schema.get("maximum", 1 << 30)
    return within and "enum" not in schema


def _correct(arguments: Mapping[str, Any], properties: Mapping[str, Schema]) -> dict[str, Any]:
    """The arguments with misspelled names and choices as the nearest ones, and numbers within their bounds."""
    corrected = {}
    for given, value in arguments.items():
        free = [one for one in properties if one not in arguments]
        name = given if given in properties else _nearest(given, free)
        corrected[name] = _nearest_value(value, properties.get(name, {}))
    return corrected


def _nearest(word: str, known: list[str]) -> str:
    """The one that is near; the word itself if none is, or several are."""
    import difflib

    near = difflib.get_close_matches(str(word)[:100], known, n=2, cutoff=0.7)
    return near[0] if len(near) == 1 else word


def _nearest_value(value: Any, schema: Schema) -> Any:
    if isinstance(value, str) and "enum" in schema and value not in schema["enum"]:
        return _nearest(value, [one for one in schema["enum"] if isinstance(one, str)])
    if type(value) in (int, float):
        return max(schema.get("minimum", value), min(value, schema.get("maximum", value)))
    return value


def _sentence(error: jsonschema_rs.ValidationError, schema: Schema) -> str:
    where = ".".join(str(step) for step in error.instance_path)
    kind = error.kind.as_dict()
    match error.kind.name:
        case "required":
            return _missing(".".join(filter(None, (where, kind["property"]))), schema)
        case "additionalProperties":
            return " ".join(_unknown(name, schema) for name in kind["unexpected"])
        case "type":
            return f"`{where}` must be {_article(kind['types'])}, not {_brief(error.instance)}."
        case "enum":
            choices = ", ".join(map(repr, kind["options"]))
            return f"`{where}` must be one of {choices}, not {_brief(error.instance)}."
        case "minLength" | "minItems" if not error.instance:
            return f"`{where}` is required and must not be empty.{_purpose(where, schema)}"
        case "minimum":
            return f"`{where}` must be at least {kind['limit']}, not {_brief(error.instance)}."
        case "maximum":
            return f"`{where}` must be at most {kind['limit']}, not {_brief(error.instance)}."
    return f"`{where or 'arguments'}`: {error.message}."


def _missing(name: str, schema: Schema) -> str:
    kind = schema.get("properties", {}).get(name, {}).get("type")
    return f"`{name}` is required{f' ({kind})' if isinstance(kind, str) else ''}.{_purpose(name, schema)}"


def _unknown(name: str, schema: Schema) -> str:
    import difflib

    known = list(schema.get("properties", {}))
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return f"There is no parameter {name!r}; did you mean `{near[0]}`?"
    names = f"there are: {', '.join(f'`{one}`' for one in known)}" if known else "it takes no parameters"
    return f"There is no parameter {name!r}; {names}."


def _purpose(name: str, schema: Schema) -> str:
    text = schema.get("properties", {}).get(name, {}).get("description")
    return f" {text}" if text else ""


def _article(types: list[str] | str) -> str:
    names = [types] if isinstance(types, str) else types
    return " or ".join(("an " if name[0] in "aeio" else "a ") + name for name in names)


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def parse_arguments(given: Mapping[str, Any] | str | bytes | None, notes: list[str] | None = None) -> Mapping[str, Any]:
    """The arguments of a call, from an object or from its JSON text; `notes` gets what was read over in this."""
    if isinstance(given, dict):
        return given
    if given is None or given == "":
        return {}
    if isinstance(given, (str, bytes)):
        from toolroll.schema.argument_text import read_object

        given, slips = read_object(given)
        if notes is not None:
            notes += slips
        return given
    if not isinstance(given, (dict, Mapping)):  # isinstance of dict is faster
        raise ToolError(ErrorCode.VALIDATION, f"The arguments must be an object, not {type(given).__name__}.")
    return given
