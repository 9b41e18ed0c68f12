"""Arguments of a call as words of a command line, parsed and formatted by the tool's schema."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from toolroll.cli.command import UsageError
from toolroll.result import ToolError
from toolroll.schema.argument_text import read_object

Schema = Mapping[str, Any]
_UNREADABLE = (msgspec.DecodeError, UnicodeEncodeError, RecursionError)
_TEXT: Schema = {"type": "string"}  # also for unknown names: the kit reports those
_SUCH_AS = {"boolean": " (true or false)", "array": ' such as ["a", "b"]', "object": ' such as {"a": 1}'}


def read_own_input() -> bytes:
    """The standard input of this process."""
    return sys.stdin.buffer.read()


def parse_arguments(
    words: Sequence[str], schema: Schema, read_input: Callable[[], bytes] = read_own_input
) -> dict[str, Any]:
    """Parse `key=value` words, or one JSON object; raises UsageError."""
    if any(word == "-" or word.startswith("{") for word in words):
        if len(words) > 1:
            raise UsageError("Give all arguments as one JSON object, or each as key=value, not both.")
        return _parse_object(_read_stdin(read_input) if words[0] == "-" else words[0])
    found: dict[str, Any] = {}
    properties = schema.get("properties", {})
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise UsageError(_suggest_pair(word, schema))
        kind = properties.get(name, _TEXT)
        value = _parse_value(name, _read_text(name, text, words, read_input), kind)
        if name in found and kind.get("type") != "array":
            raise UsageError(f"{name!r} is given twice.")
        found[name] = [*found[name], *value] if name in found else value
    return found


def format_arguments(arguments: Mapping[str, Any], schema: Schema) -> str:
    """The arguments as words for `parse_arguments`, quoted for the shell; as JSON where a name looks like an option."""
    if any(name.startswith("-") for name in arguments):
        return shlex.quote(msgspec.json.encode(arguments).decode())
    properties = schema.get("properties", {})
    return " ".join(
        f"{name}={shlex.quote(_format_value(value, properties.get(name, {})))}" for name, value in arguments.items()
    )


def _format_value(value: Any, kind: Schema) -> str:
    if isinstance(value, str) and kind.get("type", "string") == "string":
        return f"@{value}" if value.startswith("@") else value
    return msgspec.json.encode(value).decode()


def _parse_object(text: str) -> dict[str, Any]:
    try:
        return dict(read_object(text)[0])
    except ToolError as error:
        raise UsageError(f'{error.message} Give an object such as {{"path": "README.md"}}.') from None


def _read_text(name: str, text: str, words: Sequence[str], read_input: Callable[[], bytes]) -> str:
    """The text of a value: itself, or the content of `@file` or `@-`. `@@` stands for a literal @."""
    if text.startswith("@@") or not text.startswith("@"):
        return text.removeprefix("@")
    if text == "@-":
        if sum(word.endswith("=@-") for word in words) > 1:
            raise UsageError("Standard input can be read for one argument only.")
        return _read_stdin(read_input)
    try:
        with open(text[1:], "rb") as file:
            return _decode(file.read(), text[1:])
    except OSError as error:
        raise UsageError(
            f"Cannot read the file {text[1:]!r} for {name}: {error.strerror}. "
            f"A value that begins with @ is written with two: {name}=@{text}"
        ) from None


def _read_stdin(read_input: Callable[[], bytes]) -> str:
    try:
        return _decode(read_input(), "standard input")
    except ValueError as error:
        raise UsageError(str(error)) from None


def _decode(data: bytes, source: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{source!r} is not UTF-8 text: byte {error.start} cannot be read.") from None


def _parse_value(name: str, text: str, schema: Schema) -> Any:
    """The value of a text for a parameter with this schema."""
    kind = schema.get("type")
    if kind == "string":
        return text
    if kind == "array" and not text.lstrip().startswith("["):
        return [_parse_value(name, text, schema.get("items", {}))]
    try:
        return msgspec.json.decode(text)
    except _UNREADABLE:
        if kind is None:  # a parameter of several types: JSON if it parses, else text
            return text
        article = "an" if kind[0] in "aeio" else "a"
        shown = text if len(text) <= 60 else f"{text[:57]}..."
        raise UsageError(f"{name} must be {article} {kind}{_SUCH_AS.get(kind, '')}, not {shown!r}.") from None


def _suggest_pair(word: str, schema: Schema) -> str:
    """The message for a word that is not key=value, with a suggestion."""
    properties = schema.get("properties", {})
    required = schema.get("required", ())
    if word.lstrip("=") in properties:
        name = word.lstrip("=")
        value = "true" if properties[name].get("type") == "boolean" else "VALUE"
        pair = f"{name}={value}"
    else:
        pair = f"{required[0] if required else next(iter(properties), 'key')}={shlex.quote(word)}"
    return f"Arguments are given as key=value, and {word!r} is not. Did you mean {pair}?"
