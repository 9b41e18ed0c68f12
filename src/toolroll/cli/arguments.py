"""A call's arguments as words of a command line: read by the tool's own schema, and spelled the same way."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from toolroll.cli.command import UsageError

Schema = Mapping[str, Any]
_UNREADABLE = (msgspec.DecodeError, UnicodeEncodeError, RecursionError)
_TEXT: Schema = {"type": "string"}  # also of unknown names: the kit knows better what they may mean
_SUCH_AS = {"boolean": " (true or false)", "array": ' such as ["a", "b"]', "object": ' such as {"a": 1}'}


def read(words: Sequence[str], schema: Schema) -> dict[str, Any]:
    """The arguments that the words give: `key=value` for each, or the JSON of all; raises UsageError."""
    if any(word == "-" or word.startswith("{") for word in words):
        if len(words) > 1:
            raise UsageError("Give all arguments as one JSON object, or each as key=value, not both.")
        return _object(_stdin() if words[0] == "-" else words[0])
    found: dict[str, Any] = {}
    properties = schema.get("properties", {})
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise UsageError(_not_a_pair(word, schema))
        kind = properties.get(name, _TEXT)
        value = _value(name, _text(name, text, words), kind)
        if name in found and kind.get("type") != "array":
            raise UsageError(f"{name!r} is given twice.")
        found[name] = [*found[name], *value] if name in found else value
    return found


def spell(arguments: Mapping[str, Any], schema: Schema) -> str:
    """The arguments as words that `read` takes, quoted for the shell."""
    properties = schema.get("properties", {})
    return " ".join(
        f"{name}={shlex.quote(_spelled(value, properties.get(name, {})))}" for name, value in arguments.items()
    )


def _spelled(value: Any, kind: Schema) -> str:
    if isinstance(value, str) and kind.get("type", "string") == "string":
        return f"@{value}" if value.startswith("@") else value
    return msgspec.json.encode(value).decode()


def _object(text: str) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(text)
    except _UNREADABLE as error:
        raise UsageError(f"The JSON of the arguments cannot be read: {error}.") from None
    if not isinstance(value, dict):
        raise UsageError('The JSON of the arguments must be an object such as {"path": "README.md"}.')
    return value


def _text(name: str, text: str, words: Sequence[str]) -> str:
    """The text of a value: itself, or what `@file` or `@-` holds. `@@` stands for an @ that is meant."""
    if text.startswith("@@") or not text.startswith("@"):
        return text.removeprefix("@")
    if text == "@-":
        if sum(word.endswith("=@-") for word in words) > 1:
            raise UsageError("Standard input can be read for one argument only.")
        return _stdin()
    try:
        with open(text[1:], "rb") as file:
            return _decoded(file.read(), text[1:])
    except OSError as error:
        raise UsageError(
            f"Cannot read the file {text[1:]!r} for {name}: {error.strerror}. "
            f"A value that begins with @ is written with two: {name}=@{text}"
        ) from None


def _stdin() -> str:
    return _decoded(sys.stdin.buffer.read(), "standard input")


def _decoded(data: bytes, source: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{source!r} is not UTF-8 text: byte {error.start} cannot be read.") from None


def _value(name: str, text: str, schema: Schema) -> Any:
    """The value that the text stands for in a parameter of this schema."""
    kind = schema.get("type")
    if kind == "string":
        return text
    if kind == "array" and not text.lstrip().startswith("["):
        return [_value(name, text, schema.get("items", {}))]
    try:
        return msgspec.json.decode(text)
    except _UNREADABLE:
        if kind is None:  # a parameter of several types: JSON if it is, text if not
            return text
        article = "an" if kind[0] in "aeio" else "a"
        shown = text if len(text) <= 60 else f"{text[:57]}..."
        raise UsageError(f"{name} must be {article} {kind}{_SUCH_AS.get(kind, '')}, not {shown!r}.") from None


def _not_a_pair(word: str, schema: Schema) -> str:
    """What to type instead of a word that is not key=value."""
    properties = schema.get("properties", {})
    required = schema.get("required", ())
    if word.lstrip("=") in properties:
        name = word.lstrip("=")
        value = "true" if properties[name].get("type") == "boolean" else "VALUE"
        meant = f"{name}={value}"
    else:
        meant = f"{required[0] if required else next(iter(properties), 'key')}={shlex.quote(word)}"
    return f"Arguments are given as key=value, and {word!r} is not. Did you mean {meant}?"
