"""Names of files as the headers of a diff write them."""

from __future__ import annotations

import re

_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\([0-3][0-7]{2}|.)", re.DOTALL)
_STAMP = re.compile(r"\s+(?:\d{4}-\d\d-\d\d[ T]\d\d:\d\d|[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ \d\d:\d\d).*$")
_NEVER = re.compile(r"(?:1970-01-01|1969-12-31|Thu Jan +1 .* 1970|Wed Dec 31 .* 1969)")
_LONGEST = 8192  # characters of a header line whose two names are separated by trial


def unquote(text: str) -> str:
    """The name inside git's quotes; octal escapes are bytes of UTF-8."""
    found = _QUOTED.match(text)
    return _plain(found[1]) if found else text


def _plain(quoted: str) -> str:
    out = bytearray()
    at = 0
    for escape in _ESCAPE.finditer(quoted):
        out += quoted[at : escape.start()].encode("utf-8", "surrogateescape")
        code = escape[1]
        known = int(code, 8) if len(code) == 3 else _ESCAPES.get(code)
        out += code.encode("utf-8", "surrogateescape") if known is None else bytes([known])
        at = escape.end()
    out += quoted[at:].encode("utf-8", "surrogateescape")
    return out.decode("utf-8", "surrogateescape")


def of_header(text: str) -> tuple[str | None, bool]:
    """The name in a `---` or `+++` line (None for /dev/null), and whether its date says "no such file"."""
    if text.startswith('"'):
        return unquote(text), False
    name, tab, stamp = text.partition("\t")
    if not tab:
        found = _STAMP.search(name)
        stamp = found[0].strip() if found else ""
        name = name[: found.start()] if found else name
    name = name.rstrip() if not tab else name
    return (None if name == "/dev/null" else name), _NEVER.match(stamp) is not None


def of_git(rest: str) -> tuple[str, str] | None:
    """The two names after `diff --git `, or None when they cannot be separated."""
    if rest.startswith('"'):
        found = _QUOTED.match(rest)
        return (_plain(found[1]), unquote(rest[found.end() :].lstrip())) if found else None
    if rest.endswith('"') and ' "' in rest:
        left, _, right = rest.partition(' "')
        return left, unquote('"' + right)
    middle = len(rest) // 2
    if rest[middle : middle + 1] == " " and _alike(rest[:middle], rest[middle + 1 :]):
        return rest[:middle], rest[middle + 1 :]
    if rest.count(" ") == 1:
        left, _, right = rest.partition(" ")
        return left, right
    return _by_trial(rest)


def _by_trial(rest: str) -> tuple[str, str] | None:
    if len(rest) > _LONGEST:
        return None
    spaces = (at for at, char in enumerate(rest) if char == " ")
    return next(((rest[:at], rest[at + 1 :]) for at in spaces if _alike(rest[:at], rest[at + 1 :])), None)


def _alike(left: str, right: str) -> bool:
    return left == right or left.partition("/")[2] == right.partition("/")[2] != ""
