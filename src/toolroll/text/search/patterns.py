"""Translate search patterns, as a model types them, for the linear-time engines ripgrep and RE2."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from toolroll.result import ErrorCode, ToolError

MAX_CHARS = 30_000  # one argument of a program holds 128 KiB, and a character takes up to 4 bytes

_OUTSIDE = re.compile(r"\\[pPxuU]\{[^}]*\}|\\.|\(\?<?[=!]|\(\?P=|\[\^?\]?|.", re.DOTALL)
INSIDE = re.compile(r"\\[pPxuU]\{[^}]*\}|\\.|\[:\^?\w+:\]|.", re.DOTALL)
_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$#&\-~]")
_OPERATOR = re.compile(r"[\\.+*?()|\[\]{}^$]")
_PLAINLY_REGEX = re.compile(r"\\|\.[*+]|\)[*+?]|\(\?")
_ESCAPED = r"\\[wWdDsSt.+*?()|\[\]{}^$/\\-]"
_INNER = r"(?:[a-z]-[a-z]|[A-Z]-[A-Z]|[0-9]-[0-9]|\\[wdst.+*?()|\[\]{}^$/\\-]|[A-Za-z0-9_ .,:;/+*?!=<>@#%'\"(){}|$])"
# Parts that mean the same to all engines in ASCII text: one that may be repeated, and how; the edges.
_COMMON = re.compile(
    rf"(?:\((?:\?:)?|\||\^|\$|\\b|(?:[\w \t!\"#%&',/:;<=>@`~-]|\.|{_ESCAPED}|\[\^?{_INNER}+-?\]|\))"
    r"(?:[*+?]\??|\{\d(?:,\d?)?\})?)*",
    re.ASCII,
)
_PARTS = re.compile(r"\[\^?(?:\\.|[^\]\\])+\]|\\.|.", re.DOTALL)
_OTHERS = r"[\x80-\xff]+"
_LONGEST_COMMON = 200
_MOST_COUNTS = 3  # of repetitions, which make an expression large
# What ripgrep reads and RE2 does not: edges of words, and characters by their number.
_RIPGREP_ONLY = re.compile(
    r"\\(?:(b)\{(?:start|end)(?:-half)?\}|[uU]\{([0-9A-Fa-f]+)\}|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|.)", re.DOTALL
)
_LOOKS = ("(?=", "(?!", "(?<=", "(?<!", "(?P=")

# RE2 knows \w, \d and \s for ASCII only; these are what ripgrep means by them.
_UNICODE = {"w": r"\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}", "d": r"\p{Nd}", "s": r"\s\x0b\x{85}\p{Z}"}
_ASCII = {"w": "0-9A-Za-z_", "d": "0-9", "s": r"\t\n\f\r "}
_NO_COUNT = re.compile(r"\\.|\{(,)", re.DOTALL)  # a brace that RE2 takes for itself
_NAMED = re.compile(r"\(\?P?<(\w+)>")


@dataclass(frozen=True, slots=True)
class PreparedPattern:
    """A regular expression that means the same to both engines."""

    regex: str
    multiline: bool
    """A match may span lines: the caller asked for it, or the pattern has a line end in it."""
    sees_cr: bool
    """The pattern contains carriage returns, so they are not part of the line end."""


def prepare(pattern: str, *, literal: bool = False, multiline: bool = False) -> PreparedPattern:
    """Check a pattern, quote a literal one, and let each line end in it match "\\r\\n" too."""
    if not pattern:
        raise _invalid("The `pattern` is empty, which every line matches. Give the text to look for.")
    if len(pattern) > MAX_CHARS:
        raise _invalid(f"The `pattern` is longer than {MAX_CHARS} characters. Use a part of it.")
    try:
        pattern.encode()
    except UnicodeEncodeError:
        raise _invalid("The `pattern` is not valid Unicode text. Give it without lone surrogates.") from None
    regex = _SPECIAL.sub(r"\\\g<0>", pattern) if literal else pattern
    if (literal or is_literal(pattern)) and pattern.isprintable():
        return PreparedPattern(regex, multiline, sees_cr=False)
    tokens = list(_tokens(regex))
    for token, inside in tokens:
        if not inside and (token in _LOOKS or re.fullmatch(r"\\[1-9k]", token)):
            raise _invalid(
                f"The pattern {pattern!r} uses look-around or a back-reference, which are not supported: "
                "they can take for ever. Search for a simpler pattern and choose among the lines it finds."
            )
    return PreparedPattern(
        "".join(_line_end(token, inside) for token, inside in tokens).replace("\0", r"\x00"),
        multiline or any(token in ("\n", r"\n") and not inside for token, inside in tokens),
        any(token in ("\r", r"\r") for token, _ in tokens),
    )


def is_literal(pattern: str) -> bool:
    """Whether a regular expression matches only its own text."""
    return _OPERATOR.search(pattern) is None


def may_be_text(pattern: str) -> bool:
    """Whether a regular expression may have been meant as plain text, such as a call with its brackets."""
    return not is_literal(pattern) and _PLAINLY_REGEX.search(pattern) is None


def is_common(pattern: str) -> bool:
    """Whether all engines agree on a regular expression in lines of ASCII."""
    small = len(pattern) <= _LONGEST_COMMON and pattern.count("{") <= _MOST_COUNTS
    return small and _COMMON.fullmatch(pattern) is not None


def for_re2(regex: str) -> str:
    """`regex` in the syntax of RE2, which has only word boundaries, not word starts and ends."""
    tokens = list(_tokens(_RIPGREP_ONLY.sub(_respelt, regex)))
    both = ("&", True)
    if ("[", True) in tokens or (both, both) in pairwise(tokens):
        raise pattern_error(regex, "sets within brackets cannot be searched for here, as ripgrep is missing")
    return "".join(r"\b" if token in (r"\<", r"\>") and not inside else token for token, inside in tokens)


def for_ripgrep(regex: str) -> str:
    """An RE2 expression in the syntax of ripgrep: \\w, \\d, \\s and \\b of ASCII alone, no sets within brackets."""
    spelled = "".join(_for_ripgrep(token, inside) for token, inside in _tokens(regex))
    return _NO_COUNT.sub(lambda found: rf"\{{{found[1]}" if found[1] else found[0], spelled)


def groups(regex: str) -> tuple[int, frozenset[str]]:
    """How many groups a regular expression has, and the names among them."""
    plain = "".join(token if not inside and len(token) == 1 else "." for token, inside in _tokens(regex))
    names = frozenset(_NAMED.findall(plain))
    return len(re.findall(r"\((?!\?)", plain)) + len(names), names


def unicode_classes(regex: str) -> str:
    """`regex` with \\w, \\d and \\s spelled out for RE2, to cover all of Unicode."""
    return "".join(_spelled(token, inside) for token, inside in _tokens(regex))


def exact(pattern: str) -> str:
    """An `is_common` regular expression for RE2, whose \\s lacks the vertical tab."""
    return "".join(_spaced(found.group()) for found in _PARTS.finditer(pattern))


def widest(pattern: str) -> str:
    """A regular expression over bytes that matches at least the lines that an `is_common` one matches."""
    return "".join(_widened(found.group()) for found in _PARTS.finditer(pattern))


def pattern_error(pattern: str, reason: str) -> ToolError:
    """The error for a pattern that an engine rejects, with its reason."""
    return ToolError(
        ErrorCode.VALIDATION,
        f"The pattern {pattern!r} is not a valid regular expression: {reason.strip().rstrip('.')}. "
        "Correct it, or set `literal` to true to search for exactly this text.",
        details={"invalid": reason.strip()},
    )


def _tokens(regex: str) -> Iterator[tuple[str, bool]]:
    """The pieces of a regular expression, and whether each is inside a bracket."""
    at, inside = 0, False
    while at < len(regex):
        found = (INSIDE if inside else _OUTSIDE).match(regex, at)
        token = found.group() if found else regex[at]  # a backslash at the very end: the engine will complain
        yield token, inside
        inside = token != "]" if inside else token.startswith("[")
        at += len(token)


def _respelt(found: re.Match[str]) -> str:
    if found[1]:
        return r"\b"
    number = found[2] or found[3] or found[4]
    return rf"\x{{{number}}}" if number else found[0]


def _line_end(token: str, inside: bool) -> str:
    return r"(?:\r?\n)" if token in ("\n", r"\n") and not inside else token


def _spelled(token: str, inside: bool) -> str:
    kind = token[1:]
    if len(token) != 2 or token[0] != "\\" or kind.lower() not in _UNICODE:
        return token
    chars = _UNICODE[kind.lower()]
    if inside:
        return chars if kind.islower() else token  # a bracket cannot hold "none of these"; ASCII must do
    return f"[{chars}]" if kind.islower() else f"[^{chars}]"


def _for_ripgrep(token: str, inside: bool) -> str:
    if inside:
        chars = _ASCII.get(token[1:].lower()) if token[0] == "\\" else None
        if chars is None:
            return f"\\{token}" if token in "[&~" else token  # where they would be sets within brackets
        return chars if token[1].islower() else f"[^{chars}]"
    if token in (r"\b", r"\B"):
        return f"(?-u:{token})"
    if token in (r"\<", r"\>"):
        return token[1]
    chars = _ASCII.get(token[1:].lower()) if token[0] == "\\" else None
    if chars is None:
        return token
    return f"[{chars}]" if token[1].islower() else f"[^{chars}]"


def _widened(part: str) -> str:
    if part == r"\b":
        return ""
    any_letter = part == "." or part.startswith("[^") or re.search(r"\\[wWdDsS]", part) is not None
    return f"(?:{_spaced(part)}|{_OTHERS})" if any_letter else part


def _spaced(part: str) -> str:
    if part in (r"\s", r"\S"):
        return r"[\s\x0b]" if part == r"\s" else r"[^\s\x0b]"
    return re.sub(r"\\.", lambda found: r"\s\x0b" if found[0] == r"\s" else found[0], part)


def _invalid(message: str) -> ToolError:
    return ToolError(ErrorCode.VALIDATION, message)
