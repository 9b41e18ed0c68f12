"""HTML as a row of tokens. It reads what browsers read, and never goes over a part of the text twice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape as _unescape
from typing import NamedTuple

_NAME = re.compile(r"[a-zA-Z][^\s/>]*+")
# Possessive throughout: what does not fit is given up at once, whatever the page holds.
_ATTRIBUTE = re.compile(
    r"""[\s/]*+ ([^\s/>=][^\s/>=]*+) (?: \s*+ = \s*+ (?: "([^"]*+)" | '([^']*+)' | ([^\s>"'][^\s>]*+)?+ ) )?+""",
    re.VERBOSE,
)
_HUGE = re.compile(r"&#(?:[0-9]{8}[0-9]*+|[xX][0-9a-fA-F]{7}[0-9a-fA-F]*+);?+")  # no character, but a lot of work
_GAP = re.compile(r"[\s/=\"']*+")
# What is inside is no HTML. Of the first two, entities count.
_RAW = ("title", "textarea", "script", "style", "xmp", "iframe", "noembed", "noframes")
_ESCAPED = frozenset(_RAW[:2])
_COMMENT_END = re.compile(r"--!?>")
_RAW_END = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in _RAW}


def unescape(text: str) -> str:
    """Text with its entities replaced by what they stand for."""
    return _unescape(_HUGE.sub("\ufffd", text)) if "&" in text else text


class Text(NamedTuple):
    """Text between tags, entities replaced."""

    text: str


class Open(NamedTuple):
    """A tag that opens an element, its name in lower case."""

    name: str
    attributes: dict[str, str]


class Close(NamedTuple):
    """A tag that closes one."""

    name: str


Token = Text | Open | Close


def tokens(page: str) -> Iterator[Token]:
    """The tokens of a page. Comments and declarations are left out."""
    at, size = 0, len(page)
    while at < size:
        start = page.find("<", at)
        if start < 0:
            start = size
        if start > at:
            yield Text(unescape(page[at:start]))
        if start == size:
            return
        name = _NAME.match(page, start + 1)
        if name is not None:
            tag, at = _opened(page, name)
            yield tag
            if tag.name in _RAW_END:
                text, at = _raw(page, at, tag.name)
                yield Text(text)
                yield Close(tag.name)
        elif page[start + 1 : start + 2] in ("!", "?", "/"):
            closing, at = _marked(page, start)
            if closing:
                yield Close(closing)
        else:
            yield Text("<")
            at = start + 1


def _opened(page: str, name: re.Match[str]) -> tuple[Open, int]:
    attributes: dict[str, str] = {}
    at = name.end()
    if page.startswith(">", at):
        return Open(name[0].lower(), attributes), at + 1
    while (found := _ATTRIBUTE.match(page, at)) is not None:
        key, *values = found.groups()
        attributes.setdefault(key.lower(), unescape(values[0] or values[1] or values[2] or ""))
        at = _after_gap(page, found.end())
    end = page.find(">", at)
    return Open(name[0].lower(), attributes), len(page) if end < 0 else end + 1


def _after_gap(page: str, at: int) -> int:
    found = _GAP.match(page, at)
    return found.end() if found is not None else at


def _raw(page: str, at: int, name: str) -> tuple[str, int]:
    """The text up to the tag that closes a raw element, and where to go on."""
    end = _RAW_END[name].search(page, at)
    text = page[at : end.start() if end else len(page)]
    after = page.find(">", end.end()) if end else -1
    return unescape(text) if name in _ESCAPED else text, len(page) if after < 0 else after + 1


def _marked(page: str, start: int) -> tuple[str, int]:
    """A closing tag's name, or nothing for a comment or declaration; and where to go on."""
    if page.startswith("<!--", start):
        over = _COMMENT_END.search(page, start + 2)  # a comment may be as short as <!-->
        return "", over.end() if over else len(page)
    name = _NAME.match(page, start + 2) if page[start + 1] == "/" else None
    end = page.find(">", start)
    return name[0].lower() if name else "", len(page) if end < 0 else end + 1
