"""Clean a question, which is often a commit message: keep what helps to find files."""

from __future__ import annotations

import re

_RECORD = re.compile(
    r"^[ \t]*(?:[a-z][\w-]*-(?:by|id|off|on|to|upstream|url)\b|\w+ by\b|cc)[^:\n]{0,20}:.*$",
    re.IGNORECASE | re.MULTILINE,
)
_THANKS = re.compile(r"^[ \t]*(?:many |special )?thanks\b.*(?:\n[ \t]*\S.*)*", re.IGNORECASE | re.MULTILINE)
_NUMBERS = re.compile(r"\bCVE-\d+-\d+|\b(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{7,40}\b", re.IGNORECASE)
_WORD = re.compile(r"\S+")
_BEFORE = " \t:;,#-()[]/0123456789"  # what is left of such a pointer at the beginning of a line
_AREA = re.compile(r"([\w./,+ -]{1,60}?)[ \t]*:[ \t]")


def plain(text: str) -> str:
    """A question without its trailers, links, addresses and commit hashes.

    A question that is nothing else stays as it is.
    """
    first, _, rest = text.strip().partition("\n")
    title = _WORD.sub(_told, first).lstrip(_BEFORE) or first
    body = _WORD.sub(_told, _THANKS.sub("", _RECORD.sub("", rest))).strip()
    return f"{title}\n{body}" if body else title


def area(text: str) -> str:
    """What the first line of a message begins with, up to a colon: the part of the program that it is about."""
    found = _AREA.match(text)
    return found[1] if found else ""


def _told(word: re.Match[str]) -> str:
    """A word without the numbers in it; nothing of a link or an address."""
    if "://" in word[0] or "." in word[0].partition("@")[2]:
        return ""
    return _NUMBERS.sub("", word[0])
