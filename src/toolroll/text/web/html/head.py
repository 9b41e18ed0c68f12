"""What a page says of itself in its head."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urljoin

from toolroll.text.web.html.tree import Node

_SPACE = re.compile(r"\s+")
_NOTHING = dict.fromkeys(map(ord, "\u200b\u2060\ufeff\u00ad"))  # where a word may be broken or not, which is not seen
_REFRESH = re.compile(r"[\s\d.]*+[;,\s]\s*+(?:url\s*+=\s*+)?+[\"']?([^\"']++)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Head:
    """The title, what links are relative to, and where a browser would go on to without being asked, if anywhere."""

    title: str
    base: str
    onward: str


def head(root: Node, url: str) -> Head:
    """The head of a page that was found at a URL."""
    title, base, refresh = "", url, ""
    for node in _all(root):
        given = node.attributes
        if node.name == "title" and not title:
            title = squeezed("".join(one for one in node.children if isinstance(one, str))).strip()
        elif node.name == "base" and base == url and given.get("href"):
            base = joined(url, given["href"])
        elif node.name == "meta" and given.get("http-equiv", "").lower() == "refresh":
            refresh = refresh or given.get("content", "")
    place = _REFRESH.match(refresh)
    onward = joined(base, place[1].strip()) if place else ""
    return Head(title, base, "" if onward == url else onward)


def squeezed(text: str) -> str:
    """Text as it is seen in a line."""
    return _SPACE.sub(" ", text if text.isascii() else text.translate(_NOTHING))


def joined(base: str, href: str) -> str:
    """A link in full; empty when it is none."""
    try:
        return urljoin(base, href)
    except ValueError:
        return ""


def _all(root: Node) -> Iterator[Node]:
    todo = [root]
    while todo:
        node = todo.pop()
        yield node
        if node.name != "body":
            todo += [one for one in reversed(node.children) if isinstance(one, Node)]
