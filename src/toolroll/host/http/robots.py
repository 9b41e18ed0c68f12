"""Parse robots.txt and match paths against it, as RFC 9309 defines."""

from __future__ import annotations

import re
from dataclasses import dataclass

_MAX_CHARS = 500 * 1024
_MAX_RULES = 5_000
_ESCAPE = re.compile(r"%[0-9a-fA-F]{2}")


@dataclass(frozen=True, slots=True)
class RobotsRules:
    """The rules for one program: (pattern, allowed). Without any, all is allowed."""

    rows: tuple[tuple[str, bool], ...] = ()

    def allow(self, path: str) -> bool:
        """Whether a path, with its query, may be fetched: the longest rule decides, `allow` before `disallow`."""
        asked = _plain(path)
        fitting = [(len(pattern), allowed) for pattern, allowed in self.rows if _fits(pattern, asked)]
        return max(fitting, default=(0, True))[1]


NONE = RobotsRules()
ALL = RobotsRules((("/", False),))


def parse(text: str, agent: str) -> RobotsRules:
    """The rules that a robots.txt holds for a program of this name; those for all when it has none of its own."""
    mine: list[tuple[str, bool]] = []
    every: list[tuple[str, bool]] = []
    named = False
    into: list[list[tuple[str, bool]]] = []
    begun = False  # a rule has come, so that the next name begins a new group
    for line in text[:_MAX_CHARS].removeprefix("\ufeff").splitlines():
        key, _, value = (part.strip() for part in line.partition("#")[0].partition(":"))
        key = key.lower()
        if key == "user-agent":
            into = [] if begun else into
            begun = False
            if value.lower() == agent.lower():
                named = True
                into.append(mine)
            elif value == "*":
                into.append(every)
        elif key in ("allow", "disallow"):
            begun = True
            for rows in into:
                if value and len(rows) < _MAX_RULES:
                    rows.append((_plain(value), key == "allow"))
    return RobotsRules(tuple(mine if named else every))


def _fits(pattern: str, path: str) -> bool:
    """`*` is any text, `$` at the end is the end. The leftmost place for each part is as good as any other."""
    whole = pattern.endswith("$")
    first, *rest = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    at = len(first)
    if not rest:
        return not whole or at == len(path)
    *middle, last = rest
    for part in middle:
        found = path.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    if whole:
        return path.endswith(last) and len(path) - len(last) >= at
    return path.find(last, at) >= 0


def _plain(path: str) -> str:
    """A path in which one character is written in one way."""
    encoded = (chr(byte) if byte < 0x80 else f"%{byte:02X}" for byte in path.encode(errors="replace"))
    return _ESCAPE.sub(_one_way, "".join(encoded))


def _one_way(escape: re.Match[str]) -> str:
    char = chr(int(escape[0][1:], 16))
    return char if char.isascii() and (char.isalnum() or char in "-._~") else escape[0].upper()
