"""Trigrams that a text must hold if a pattern matches in it, as a query for a trigram index.

A pattern that is not fully understood requires nothing. Texts and trigrams are bytes read as Latin-1, and the index
ignores case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from toolroll.text.search.patterns import INSIDE

_MAX_STRINGS = 24  # that one part of a pattern may stand for
_MAX_STRING_CHARS = 60
_MAX_TRIGRAMS = 24  # of one string; more hardly narrow it further
_TOKEN = re.compile(
    r"\\[pPxuU]\{[^}]*\}|\\[pP].|\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}|\\b\{[a-z-]+\}|\\."
    r"|\(\?(?:P?<\w+>|[sm]*:)|\(\?[sm]+\)|\[\^?\]?|\{\d*(?:,\d*)?\}|.",
    re.DOTALL,
)
_ZERO_WIDTH = frozenset({"^", "$", r"\b", r"\B", r"\A", r"\z", r"\<", r"\>"})
_QUOTED = re.compile(r"\\([^\w\s<>])")


class _UnknownError(Exception):
    """A part of the pattern that is not understood."""


@dataclass(frozen=True, slots=True)
class _Part:
    """What a part of a pattern requires."""

    exact: tuple[str, ...] | None
    """All strings that it can stand for, if there are few."""
    needs: str = ""
    """Trigrams that the text must hold besides, as a query; empty for none."""


_ANY = _Part(None)
_NOTHING = _Part(("",))


def required(regex: str, *, ignore_case: bool = False) -> str:
    """A query for SQLite's FTS5 that matches every text in which the pattern matches; empty if any text may.

    With `ignore_case`, texts with the long s or the Kelvin sign must be searched besides.
    """
    reader = _Reader([match.group() for match in _TOKEN.finditer(regex)], ignore_case)
    try:
        part = reader.alternatives()
        return _settled(part) if reader.at_end else ""
    except (_UnknownError, RecursionError):
        return ""


class _Reader:
    """Recursive descent parser of a pattern."""

    def __init__(self, tokens: Sequence[str], ignore_case: bool) -> None:
        self._tokens = tokens
        self._at = 0
        self._ignore_case = ignore_case

    @property
    def at_end(self) -> bool:
        return self._at == len(self._tokens)

    def alternatives(self) -> _Part:
        branches = [self._sequence()]
        while self._next() == "|":
            self._at += 1
            branches.append(self._sequence())
        if len(branches) == 1:
            return branches[0]
        exact = _union(branches)
        if exact is not None:
            return _Part(exact)
        needs = [_settled(branch) for branch in branches]
        return _Part(None, f"({' OR '.join(needs)})" if all(needs) else "")

    def _sequence(self) -> _Part:
        strings: tuple[str, ...] = ("",)
        needs: list[str] = []
        plain = True
        while self._next() not in ("", "|", ")"):
            part = self._repeated(self._atom())
            made = _product(strings, part.exact)
            if made is not None:
                strings = made
                continue
            plain = False
            needs += [_asked(strings), part.needs if part.exact is None else ""]
            strings = part.exact if part.exact is not None else ("",)
        if plain:
            return _Part(strings)
        return _Part(None, _both([*needs, _asked(strings)]))

    def _atom(self) -> _Part:
        token = self._next()
        self._at += 1
        if token.startswith("["):
            return self._bracket()
        if token == "(" or (token.startswith("(?") and token[-1] in ":>"):
            inner = self.alternatives()
            if self._next() != ")":
                raise _UnknownError
            self._at += 1
            return inner
        if token in _ZERO_WIDTH or token.startswith((r"\b{", "(?")):
            if self._next()[:1] in ("*", "+", "?", "{"):
                raise _UnknownError
            return _NOTHING
        return self._single(token)

    def _single(self, token: str) -> _Part:
        if token[0] == "\\":
            quoted = _QUOTED.fullmatch(token)
            if quoted is None:
                return _ANY  # a class, or a character by its number
            token = quoted[1]
        elif token in (".", "\n", "\r"):
            return _ANY
        elif token[0] in "(*+?{})]" or len(token) > 1:
            raise _UnknownError
        if self._ignore_case and not token.isascii():
            return _ANY
        return _Part((token.encode("utf-8", "replace").decode("latin-1"),))

    def _bracket(self) -> _Part:
        """Skip a character class, which is taken for any character."""
        text = "".join(self._tokens[self._at :])
        at = 0
        while at < len(text):
            found = INSIDE.match(text, at)
            piece = found.group() if found else text[at]
            at += len(piece)
            if piece == "[":
                raise _UnknownError  # a class in a class
            if piece == "]":
                self._tokens = [*self._tokens[: self._at], *(m.group() for m in _TOKEN.finditer(text[at:]))]
                return _ANY
        raise _UnknownError

    def _repeated(self, part: _Part) -> _Part:
        while (token := self._next())[:1] in ("*", "+", "?", "{") and token:
            self._at += 1
            if token == "?":
                both = (*part.exact, "") if part.exact is not None else None
                part = _Part(both) if both is not None and len(both) <= _MAX_STRINGS else _ANY
            elif token == "+" or (token[0] == "{" and re.match(r"\{0*[1-9]", token)):
                part = _Part(None, _settled(part))
            elif token == "*" or re.fullmatch(r"\{\d*(?:,\d*)?\}", token):
                part = _ANY
            else:
                raise _UnknownError
        return part

    def _next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""


def _union(branches: Sequence[_Part]) -> tuple[str, ...] | None:
    found: list[str] = []
    for branch in branches:
        if branch.exact is None:
            return None
        found += branch.exact
    return tuple(dict.fromkeys(found)) if len(found) <= _MAX_STRINGS else None


def _product(left: tuple[str, ...], right: tuple[str, ...] | None) -> tuple[str, ...] | None:
    if right is None or len(left) * len(right) > _MAX_STRINGS:
        return None
    made = tuple(dict.fromkeys(a + b for a in left for b in right))
    return made if max(map(len, made)) <= _MAX_STRING_CHARS else None


def _settled(part: _Part) -> str:
    return part.needs if part.exact is None else _asked(part.exact)


def _asked(strings: tuple[str, ...]) -> str:
    """A query for one of these strings; empty if one of them is shorter than a trigram."""
    queries = [_both(_trigrams(text)) for text in strings]
    if not all(queries):
        return ""
    return queries[0] if len(queries) == 1 else f"({' OR '.join(queries)})"


def _trigrams(text: str) -> Iterator[str]:
    """Trigrams of a string, spread over it, with the first and the last."""
    last = len(text) - 3
    if last < 0:
        return
    step = max(1, -(-last // (_MAX_TRIGRAMS - 1)))
    for at in dict.fromkeys([*range(0, last, step), last]):
        quoted = text[at : at + 3].replace('"', '""')
        yield f'"{quoted}"'


def _both(queries: Sequence[str] | Iterator[str]) -> str:
    wanted = [query for query in dict.fromkeys(queries) if query]
    return wanted[0] if len(wanted) == 1 else f"({' AND '.join(wanted)})" if wanted else ""
