"""Lines of code as tokens, for any language: enough to tell blanks that do not matter from those that do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

# Strings and comments are one token each, to the letter. Operators of several characters are one token, so that
# "= =" is not "==".
_TOKEN = re.compile(
    r"""
    "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*' | `(?:\\.|[^`\\])*`    # strings that end on their line
    | (?:\#|//|--\ |/\*).*                                       # comments
    | \d[\w.]*                                                   # numbers
    | \w+
    | <<=|>>=|\*\*=|//=|===|!==|\.\.\.|->|=>|==|!=|<=|>=|:=|\+=|-=|\*=|/=|%=|&=|\|=|\^=
    | \?\?|\?\.|&&|\|\||::|\*\*|//|<<|>>|\+\+|--
    | \S
    """,
    re.VERBOSE,
)
_LONG = re.compile(r'"""|\'\'\'|`|/\*|\*/')
_CLOSES = {"/*": "*/"}
_QUOTES = "\"'`"


def split_tokens(line: str) -> list[str]:
    """The tokens of one line; blanks between them are gone, blanks in strings and comments are kept."""
    return _TOKEN.findall(line)


def token_spans(line: str) -> list[tuple[int, int]]:
    """Where each token of one line begins and ends."""
    return [token.span() for token in _TOKEN.finditer(line)]


def is_same_code(quoted: str, actual: str) -> bool:
    """Whether two lines are the same code but for blanks between tokens."""
    ours, theirs = split_tokens(quoted), split_tokens(actual)
    # A quote mark that is a token of its own opens a string that goes on in the next line: its blanks matter.
    return ours == theirs and not any(one in _QUOTES or one in ('"""', "'''") for one in ours)


def inside_text(lines: Sequence[str]) -> Iterator[bool]:
    """For each line, whether it begins inside a string or comment of several lines, where every blank counts."""
    open_with: str | None = None
    for line in lines:
        yield open_with is not None
        for mark in _LONG.findall(line):
            if open_with is None:
                open_with = mark if mark != "*/" else None
            elif mark == _CLOSES.get(open_with, open_with):
                open_with = None
