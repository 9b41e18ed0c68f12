"""Set or remove one entry in the text of a JSON or TOML settings file; comments and all other text stay."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Change = Callable[[dict[str, Any] | None], dict[str, Any] | None]
"""Gives the new entry for the one that is there; None for no entry."""

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_STRING_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_STRING_OR_TRAILING_COMMA = re.compile(r'"(?:\\.|[^"\\])*"|,(?=\s*[}\]])', re.DOTALL)
_BLANKS = re.compile(r"\s*")


def edit_json(before: str, key: str, name: str, change: Change) -> str:
    """The JSON text, which may have comments, with `key.name` changed; ValueError when that cannot be done."""
    mark = "\ufeff" if before.startswith("\ufeff") else ""
    text = before.removeprefix(mark)
    if not text.strip():
        value = change(None)
        return before if value is None else json.dumps({key: {name: value}}, indent=2, ensure_ascii=False) + "\n"
    known = _parse_json(text)
    table = known.get(key, {})
    if not isinstance(table, dict):
        raise ValueError(f"{key!r} in it is no object")
    value = change(table.get(name))
    if value == table.get(name):
        return before
    if value is None:
        wanted = {**known, key: {one: found for one, found in table.items() if one != name}}
        after = _Text(text, key).remove(name)
    elif key in known:
        wanted = {**known, key: {**table, name: value}}
        after = _Text(text, key).set(name, value)
    else:
        wanted = {**known, key: {name: value}}
        after = _Text(text).set(key, {name: value})
    if _parse_json(after) != wanted:
        raise ValueError(f"its {key!r} is written in a way that cannot be changed")
    return mark + after


def _blank(text: str, what: re.Pattern[str]) -> str:
    """The text with what is matched, but no string, replaced by as many blanks."""
    return what.sub(lambda one: one[0] if one[0][0] == '"' else re.sub(r"[^\n]", " ", one[0]), text)


def _parse_json(text: str) -> dict[str, Any]:
    try:
        plain = _blank(_blank(text, _STRING_OR_COMMENT), _STRING_OR_TRAILING_COMMA)
        found = json.loads(plain, parse_constant=int)  # which refuses NaN and Infinity: they are no JSON
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is not valid JSON ({error})") from None
    if not isinstance(found, dict):
        raise ValueError("it holds no JSON object")
    return found


@dataclass(frozen=True, slots=True)
class _Member:
    start: int
    value: int
    end: int


class _Text:
    """The places of the members of one object in a JSON text: the whole, or the value of one of its keys."""

    def __init__(self, text: str, key: str | None = None) -> None:
        self._text = text
        self._commas = _blank(text, _STRING_OR_COMMENT)
        self._plain = _blank(self._commas, _STRING_OR_TRAILING_COMMA)
        self._depth = 1
        self._open = self._skip(0)
        self._members = self._scan()
        if key is not None:
            self._depth = 2
            self._open = self._members[key].value
            self._members = self._scan()

    def _skip(self, at: int) -> int:
        found = _BLANKS.match(self._plain, at)
        return found.end() if found else at

    def _scan(self) -> dict[str, _Member]:
        decode, members = json.JSONDecoder().raw_decode, {}
        at = self._skip(self._open + 1)
        while self._plain[at] != "}":
            name, end = decode(self._plain, at)
            value = self._skip(self._skip(end) + 1)  # behind the colon
            _, end = decode(self._plain, value)
            members[name] = _Member(at, value, end)
            at = self._skip(end)
            at = self._skip(at + 1) if self._plain[at] == "," else at
        self._close = at
        return members

    def set(self, name: str, value: dict[str, Any]) -> str:
        text, here = self._text, self._members.get(name)
        unit = _find_indent(text)
        indent = self._indent() or unit * self._depth
        shown = json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", f"\n{indent}")
        if here is not None:
            return text[: here.value] + shown + text[here.end :]
        member = f"\n{indent}{json.dumps(name, ensure_ascii=False)}: {shown}"
        last = max((one.end for one in self._members.values()), default=0)
        body = len(text[: self._close].rstrip())
        tail = text[body : self._close] if "\n" in text[body : self._close] else f"\n{indent.removesuffix(unit)}"
        if not last:
            return text[:body] + member + tail + text[self._close :]
        comma = "" if "," in self._commas[last : self._close] else ","
        return text[:last] + comma + text[last:body] + member + tail + text[self._close :]

    def _indent(self) -> str:
        """The blanks before the first member, if it has a line of its own."""
        start = min((one.start for one in self._members.values()), default=0)
        line = self._text[:start].rpartition("\n")[2]
        return line if start and not line.strip() else ""

    def remove(self, name: str) -> str:
        text, here = self._text, self._members[name]
        after = self._commas.find(",", here.end, self._close)
        if after >= 0 and not self._commas[here.end : after].strip():
            rest = text[after + 1 :].lstrip(" \t")
            ends_line = rest[:1] in ("\r", "\n", "/")
            return text[: here.start].rstrip() + text[after + 1 :] if ends_line else text[: here.start] + rest
        before = max((one.end for one in self._members.values() if one.end <= here.start), default=-1)
        comma = self._commas.find(",", before, here.start) if before >= 0 else -1
        kept = text[:comma] + text[comma + 1 : here.start] if comma >= 0 else text[: here.start]
        return kept.rstrip() + text[here.end :]


def _find_indent(text: str) -> str:
    """The indentation of the file: the blanks before its first key."""
    found = re.search(r'\n([ \t]+)"', text)
    return found[1] if found else "  "


def edit_toml(before: str, key: str, name: str, change: Change) -> str:
    """The TOML text with the table `key.name` changed; all other lines stay. ValueError as for JSON."""
    known = _parse_toml(before)
    table = known.get(key, {})
    if not isinstance(table, dict):
        raise ValueError(f"its {key!r} is written in a way that cannot be changed")
    value = change(table.get(name))
    if value == table.get(name):
        return before
    after = "".join(_lines_outside(before, (key, name)))
    wanted = {one: found for one, found in table.items() if one != name}
    if value is not None:
        body = "".join(f"{_toml_key(word)} = {_toml_value(one)}\n" for word, one in value.items())
        after = f"{after.rstrip()}\n\n[{key}.{_toml_key(name)}]\n{body}".lstrip()
        wanted[name] = value
    rest = {one: found for one, found in known.items() if one != key}
    if _parse_toml(after) not in ({**rest, key: wanted}, rest if not wanted else None):
        raise ValueError(f"its {key!r} is written in a way that cannot be changed")
    return after


def _toml_key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def _toml_value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_toml_key(name)} = {_toml_value(one)}" for name, one in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml_value, value))}]"
    return json.dumps(value, ensure_ascii=False, default=str)


def _parse_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"it is not valid TOML ({error})") from None


def _lines_outside(text: str, table: tuple[str, str]) -> Iterator[str]:
    """The lines outside this table and its subtables; comments right before the next table are that one's."""
    inside = False
    comments: list[str] = []
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            inside = _header(line)[:2] == table
        if not inside:
            yield from comments
            yield line
        comments = [*comments, line] if inside and line.lstrip().startswith("#") else []
    yield from comments


def _header(line: str) -> tuple[str, ...]:
    """The keys that a table's header names; none for another line in brackets."""
    try:
        found: Any = tomllib.loads(line.strip())
    except tomllib.TOMLDecodeError:
        return ()
    keys = []
    while isinstance(found, dict) and found:
        ((key, found),) = found.items()
        keys.append(key)
    return tuple(keys)
