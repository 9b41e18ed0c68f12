"""The elements of a page as a tree, with the tags that pages leave out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolroll.text.web.html.tokens import Close, Open, Text, tokens

DEEPEST = 120  # what is nested deeper lies flat at this depth

_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "summary", "dt"})
_VOID = frozenset({
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
})  # fmt: skip
BLOCKS = frozenset({
    "address", "article", "aside", "blockquote", "body", "caption", "center", "colgroup", "dd", "details", "dialog",
    "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6",
    "header", "hgroup", "hr", "html", "legend", "li", "main", "menu", "nav", "noscript", "ol", "optgroup", "option",
    "p", "pre", "search", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
})  # fmt: skip
_OF_HEAD = frozenset({"base", "link", "meta", "noscript", "script", "style", "template", "title"})
# An element that opens ends those of the second kind, unless one of the third is in between.
_ROWS = frozenset({"table"})
_ENDS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "li": (frozenset({"li"}), frozenset({"ul", "ol", "menu", "dir"})),
    "dt": (frozenset({"dt", "dd"}), frozenset({"dl"})),
    "dd": (frozenset({"dt", "dd"}), frozenset({"dl"})),
    "td": (frozenset({"td", "th", "caption"}), frozenset({"tr", "table"})),
    "th": (frozenset({"td", "th", "caption"}), frozenset({"tr", "table"})),
    "tr": (frozenset({"tr", "td", "th", "caption"}), _ROWS),
    "thead": (frozenset({"thead", "tbody", "tfoot", "tr", "td", "th", "caption"}), _ROWS),
    "tbody": (frozenset({"thead", "tbody", "tfoot", "tr", "td", "th", "caption"}), _ROWS),
    "tfoot": (frozenset({"thead", "tbody", "tfoot", "tr", "td", "th", "caption"}), _ROWS),
    "option": (frozenset({"option"}), frozenset({"select"})),
}
_PARAGRAPH = (frozenset({"p"}), BLOCKS - {"p"} | {"button", "object"})
# A closing tag does not reach out of a cell, unless it is one of a table.
_CELLS = frozenset({"td", "th", "caption", "table"})
_TABLE = frozenset({"table", "thead", "tbody", "tfoot", "tr", "td", "th", "caption"})

_UNSEEN = frozenset({
    "audio", "button", "canvas", "datalist", "dialog", "embed", "head", "iframe", "input", "link", "map", "meta",
    "noembed", "noframes", "object", "script", "select", "style", "svg", "template", "textarea", "title",
    "video",
})  # fmt: skip
_INVISIBLE = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)\b", re.IGNORECASE)


class Node:
    """One element."""

    __slots__ = ("attributes", "block", "children", "name")

    def __init__(self, name: str, attributes: dict[str, str]) -> None:
        self.name = name
        self.attributes = attributes
        self.children: list[Node | str] = []
        self.block = name in BLOCKS
        """It is a block, or has one in it."""

    @property
    def seen(self) -> bool:
        """Whether a reader of the page sees it."""
        given = self.attributes
        if self.name in _UNSEEN:
            return False
        if not given:
            return True
        return not (
            "hidden" in given or given.get("aria-hidden") == "true" or _INVISIBLE.search(given.get("style", ""))
        )

    def walk(self) -> Iterator[Node]:
        """This element and all below it that are seen, in the order of the page."""
        todo = [self]
        while todo:
            node = todo.pop()
            yield node
            todo += [one for one in reversed(node.children) if isinstance(one, Node) and one.seen]


def tree(page: str) -> Node:
    """The tree of a page, below an element of our own."""
    root = Node("", {})
    stack = [root]
    for token in tokens(page):
        if isinstance(token, Text):
            if stack[-1].name == "head" and token.text.strip():
                stack.pop()
            stack[-1].children.append(token.text)
        elif isinstance(token, Open):
            _open(stack, token)
        elif isinstance(token, Close):
            _close(stack, token.name)
    return root


def _open(stack: list[Node], token: Open) -> None:
    if stack[-1].name == "head" and token.name not in _OF_HEAD:
        stack.pop()
    if token.name in BLOCKS:
        _end(stack, *_PARAGRAPH)
    if token.name in _ENDS:
        _end(stack, *_ENDS[token.name])
    named = token.name == "button" and any(above.name in _HEADINGS for above in stack)
    node = Node("span" if named else token.name, token.attributes)  # a heading that folds what is below it
    stack[-1].children.append(node)
    if node.block:
        for above in reversed(stack):
            if above.block:
                break
            above.block = True
    if token.name not in _VOID and len(stack) < DEEPEST:
        stack.append(node)


def _end(stack: list[Node], names: frozenset[str], unless: frozenset[str]) -> None:
    """End the outermost open element of these names, down to one that keeps them apart."""
    found = 0
    for index in range(len(stack) - 1, 0, -1):
        name = stack[index].name
        if name in names:
            found = index
        elif name in unless:
            break
    if found:
        del stack[found:]


def _close(stack: list[Node], name: str) -> None:
    for index in range(len(stack) - 1, 0, -1):
        if stack[index].name == name:
            del stack[index:]
            return
        if stack[index].name in _CELLS and name not in _TABLE:
            return
