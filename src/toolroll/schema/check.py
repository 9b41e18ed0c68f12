"""Check arguments against exactly the schema that the model saw; report every fault at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from toolroll.result import ErrorCode, ToolError
from toolroll.schema.repair import repair
from toolroll.schema.signature import Schema

if TYPE_CHECKING:
    import jsonschema_rs


def _refuse(uri: str) -> NoReturn:
    """Schemas of remote tools are untrusted: a `$ref` to a file or an address is never followed."""
    raise ValueError(f"a schema may not refer to {uri!r}")


class Checker:
    """Checks arguments for one schema. Compiled on first use, so unused tools cost nothing."""

    def __init__(
        self, schema: Schema, unused: Callable[[Mapping[str, Any]], Iterable[str]] = lambda _arguments: ()
    ) -> None:
        """`unused`: those of some arguments that say nothing in such a call; a fault of theirs is none."""
        self.schema = schema
        self._unused = unused

    def check(self, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """The arguments, repaired if need be, and what was repaired; raises ToolError with every fault."""
        if self._valid(arguments):
            return dict(arguments), []
        repaired, notes = repair(self.schema, arguments)
        for name in self._unused(repaired):
            del repaired[name]
            notes.append(f"{name}: not used, left out")
        if notes and self._valid(repaired):
            return repaired, notes
        faults = self.faults(repaired)
        raise ToolError(ErrorCode.VALIDATION, "Invalid arguments. " + " ".join(faults), details=faults)

    def faults(self, arguments: Mapping[str, Any]) -> list[str]:
        """One sentence for each fault, none when the arguments fit."""
        try:
            errors = list(self._validator.iter_errors(arguments))
        except (ValueError, RecursionError) as error:
            return [f"The arguments are not a JSON object: {error}."]
        return [_sentence(error, self.schema) for error in errors]

    def _valid(self, arguments: Mapping[str, Any]) -> bool:
        try:
            return self._validator.is_valid(arguments)
        except (ValueError, RecursionError):
            return False

    @cached_property
    def _validator(self) -> jsonschema_rs.Validator:
        import jsonschema_rs

        return jsonschema_rs.validator_for(self.schema, retriever=_refuse)


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
        case "minLength" if not error.instance:
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
    return f"There is no parameter {name!r}; there are: {', '.join(f'`{one}`' for one in known) or 'none'}."


def _purpose(name: str, schema: Schema) -> str:
    text = schema.get("properties", {}).get(name, {}).get("description")
    return f" {text}" if text else ""


def _article(types: list[str] | str) -> str:
    names = [types] if isinstance(types, str) else types
    return " or ".join(("an " if name[0] in "aeio" else "a ") + name for name in names)


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
