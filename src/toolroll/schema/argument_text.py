"""Read the text of a call's arguments: JSON, or JSON with slips that leave one reading only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NoReturn

import msgspec

from toolroll.result import ErrorCode, ToolError

MAX_CHARS = 64 * 1024 * 1024
_MAX_DEPTH = 200
_MAX_ENCODINGS = 3
_BLANK = re.compile(r"[ \t\r\n]*")
_NAME = re.compile(r"[A-Za-z_][\w-]*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.+-])")
_CONTROL = re.compile(r"[\x00-\x1f]")
_CLOSERS = re.compile(r"[}\s]*")
_FENCE = re.compile(r"```+[\w-]*[ \t]*\n?(.*?)(?:\s*```+)?", re.DOTALL)
_CHUNKS = {'"': re.compile(r'[^"\\]*'), "'": re.compile(r"[^'\\]*")}
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "/": "/", "'": "'"}
_HEX = {"x": re.compile(r"\\x([0-9a-fA-F]{2})"), "u": re.compile(r"\\u([0-9a-fA-F]{4})")}
_WORDS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_BROKEN = (msgspec.DecodeError, UnicodeError, RecursionError)


class _UnclearError(ValueError):
    """The text has no reading, or more than one."""


class _CutOffError(_UnclearError):
    """The text ends before its value does."""


def read_object(text: str | bytes) -> tuple[Mapping[str, Any], list[str]]:
    """The arguments, and a note for each slip that was read over; ToolError, with the reason, for all other text."""
    if len(text) > MAX_CHARS:
        size = f"The arguments have {len(text)} characters, and at most {MAX_CHARS} are read"
        raise ToolError(ErrorCode.TOO_LARGE, f"{size}: send the content in parts.")
    try:
        value, slips = _read(text, _MAX_ENCODINGS)
    except _BROKEN as error:
        raise ToolError(ErrorCode.VALIDATION, f"The arguments are not valid JSON: {error}. Send them again.") from error
    except _CutOffError:
        cut = f"JSON that is cut off after {len(text)} characters: send the rest in parts"
        raise ToolError(ErrorCode.VALIDATION, f"The arguments are {cut}. Nothing was done.") from None
    except _UnclearError as error:
        raise ToolError(ErrorCode.VALIDATION, f"The arguments are not valid JSON: {error}. Send them again.") from None
    value = {} if value is None else value
    if not isinstance(value, dict):
        kind = type(value).__name__
        raise ToolError(ErrorCode.VALIDATION, f"The arguments must be an object, not {kind}.")
    return value, slips


def read_value(text: str) -> Any:
    """The value of a parameter whose text was given in place of it; ValueError if it has no single reading."""
    try:
        return _read(text, 1)[0]
    except _BROKEN as error:
        raise ValueError(str(error)) from None


def _read(text: str | bytes, encodings: int) -> tuple[Any, list[str]]:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        plain = text.decode() if isinstance(text, bytes) else text
        value, slips = _read_slipped(plain.removeprefix("\ufeff").strip(), str(error), encodings)
    else:
        check_names(value, text)
        slips = []
    if isinstance(value, str) and value.strip().startswith(("{", "```")) and encodings > 0:
        value, more = _read(value, encodings - 1)
        slips = [*slips, "arguments: decoded twice", *more]
    return value, slips


def _read_slipped(text: str, why: str, encodings: int) -> tuple[Any, list[str]]:
    """The value of a text that is not JSON; `why` not."""
    text.encode()  # a lone surrogate means nothing
    if text.startswith("```") and encodings > 0:
        fenced = _FENCE.fullmatch(text)
        value, slips = _read(fenced[1] if fenced else "", encodings - 1)
        return value, ["arguments: a code fence taken off", *slips]
    if not text:
        return None, []
    if text[0] not in "{[\"'" and text not in _WORDS:
        raise _UnclearError(why)
    doubled = text.startswith("{{")
    scanner = _Scanner(text)
    value, at = scanner.read(int(doubled), 0)
    if doubled or at < len(text):
        if not _CLOSERS.fullmatch(text, at) or not isinstance(value, dict):
            raise _UnclearError(f"{text[at : at + 20]!r} follows the object, at character {at + 1}")
        scanner.slips["a brace too many"] = None
    return value, [f"arguments: {slip}" for slip in scanner.slips]


def check_names(value: Any, text: str | bytes) -> None:
    """Raise ValueError if an object of a JSON text gives a name twice, with different values."""
    import json

    if not isinstance(value, dict):
        return
    plain = text.decode() if isinstance(text, bytes) else text
    if (
        "\\u" in plain
        or any(isinstance(one, dict | list) for one in value.values())
        or any(plain.count(f'"{name}"') > 1 for name in value)
    ):
        json.loads(plain, object_pairs_hook=_unite)


def _unite(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    united: dict[str, Any] = {}
    for name, value in pairs:
        if name in united and repr(united[name]) != repr(value):
            raise _UnclearError(f"{name!r} is given twice")
        united[name] = value
    return united


def _paired(text: str) -> str:
    """The text with each two escapes that are one character beyond 16 bits as this."""
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise _UnclearError("a string holds half of a character, a lone surrogate") from None


class _Scanner:
    """Reads values from a text, and notes the slips."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.slips: dict[str, None] = {}

    def read(self, at: int, depth: int) -> tuple[Any, int]:
        """The value at a place, and where it ends."""
        if depth > _MAX_DEPTH:
            raise _UnclearError("it is nested too deeply")
        at, char = self._next(at)
        if char == "{":
            return self._object(at + 1, depth + 1)
        if char == "[":
            return self._array(at + 1, depth + 1)
        if char in _CHUNKS:
            return self._string(at)
        if (word := _NAME.match(self._text, at)) and word[0] in _WORDS:
            if word[0][0].isupper():
                self.slips["Python's words"] = None
            return _WORDS[word[0]], word.end()
        if number := _NUMBER.match(self._text, at):
            return msgspec.json.decode(number[0]), number.end()
        rest = self._text[at:]
        if len(rest) < 6 and any(word.startswith(rest) for word in ("-", *_WORDS)):
            raise _CutOffError
        return self._refuse(at)

    def _next(self, at: int) -> tuple[int, str]:
        found = _BLANK.match(self._text, at)
        at = found.end() if found else at
        if at >= len(self._text):
            raise _CutOffError
        return at, self._text[at]

    def _refuse(self, at: int) -> NoReturn:
        raise _UnclearError(f"{self._text[at : at + 20]!r} is out of place, at character {at + 1}")

    def _object(self, at: int, depth: int) -> tuple[dict[str, Any], int]:
        pairs: list[tuple[str, Any]] = []
        separated = True
        while True:
            at, char = self._next(at)
            if char == "}":
                if separated and pairs:
                    self.slips["a comma too many"] = None
                return _unite(pairs), at + 1
            if char == ",":
                if separated:
                    self.slips["a comma too many"] = None
                at, separated = at + 1, True
                continue
            if not separated:
                self._refuse(at)
            name, at = self._name(at, char)
            at, char = self._next(at)
            if char != ":":
                self._refuse(at)
            value, at = self.read(at + 1, depth)
            pairs.append((name, value))
            separated = False

    def _name(self, at: int, char: str) -> tuple[str, int]:
        if char in _CHUNKS:
            return self._string(at)
        if (found := _NAME.match(self._text, at)) is None:
            self._refuse(at)
        self.slips["names without quotes"] = None
        return found[0], found.end()

    def _array(self, at: int, depth: int) -> tuple[list[Any], int]:
        values: list[Any] = []
        separated = True
        while True:
            at, char = self._next(at)
            if char == "]":
                if separated and values:
                    self.slips["a comma too many"] = None
                return values, at + 1
            if char == "," and not separated:
                at, separated = at + 1, True
                continue
            if not separated:
                self._refuse(at)
            value, at = self.read(at, depth)
            values.append(value)
            separated = False

    def _string(self, at: int) -> tuple[str, int]:
        quote = self._text[at]
        if quote == "'":
            self.slips["Python's quotes"] = None
        pieces, at = [], at + 1
        while True:
            chunk = _CHUNKS[quote].match(self._text, at)
            assert chunk is not None
            if _CONTROL.search(chunk[0]):
                self.slips["line feeds or control characters in a string"] = None
            pieces.append(chunk[0])
            at = chunk.end()
            if at >= len(self._text):
                raise _CutOffError
            if self._text[at] == quote:
                return _paired("".join(pieces)), at + 1
            piece, at = self._escape(at, quote)
            pieces.append(piece)

    def _escape(self, at: int, quote: str) -> tuple[str, int]:
        kind = self._text[at + 1 : at + 2]
        if kind in _HEX and (kind == "u" or quote == "'"):
            if found := _HEX[kind].match(self._text, at):
                return chr(int(found[1], 16)), found.end()
        elif kind in _ESCAPES:
            if kind == "'" and quote == '"':
                self.slips["\\' in a string"] = None
            return _ESCAPES[kind], at + 2
        if len(self._text) - at < 6 and (not kind or kind in _HEX):
            raise _CutOffError
        return self._refuse(at)
