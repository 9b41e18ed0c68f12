"""A page's tree written as Markdown: what a reader sees, in the order of the page, links complete."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import urljoin

from toolroll.text.html.tables import table
from toolroll.text.html.tree import Node, tree

_SPACE = re.compile(r"[\s\u200b\u2060\ufeff\u00ad]+")
_LINES = re.compile(r" *\n[ \n]*")
_LANGUAGE = re.compile(r"(?:^|\s)(?:lang|language|highlight-source|highlight|brush:)[-\s]([\w+#.-]+)")
_MARKS = {
    "b": "**", "strong": "**", "i": "*", "em": "*", "cite": "*", "dfn": "*", "var": "*", "s": "~~", "del": "~~",
    "strike": "~~",
}  # fmt: skip
_CODE = frozenset({"code", "kbd", "samp", "tt"})
_SCHEMES = ("http://", "https://", "mailto:")
_DEEPEST = 10  # lists and quotes are not indented further
_ENOUGH = 200  # characters that make a part the main part


@dataclass(frozen=True, slots=True)
class Converted:
    """A page as Markdown."""

    title: str
    markdown: str
    whole: bool
    """Nothing but what is no content was left out; else it is the main part alone."""


def convert(page: str, url: str, *, main: bool = True) -> Converted:
    """A page that was found at a URL; with `main`, its main part if it marks one."""
    root = tree(page)
    title, base = "", url
    for node in _all(root):
        if node.name == "title" and not title:
            title = _squeezed("".join(one for one in node.children if isinstance(one, str))).strip()
        elif node.name == "base" and base == url and node.attributes.get("href"):
            base = _joined(url, node.attributes["href"])
    part = _main(root) if main else root
    return Converted(title, _Writer(base).write(part), part is root)


def _all(root: Node) -> Iterator[Node]:
    todo = [root]
    while todo:
        node = todo.pop()
        yield node
        if node.name != "body":
            todo += [one for one in reversed(node.children) if isinstance(one, Node)]


def _main(root: Node) -> Node:
    """The one element that the page calls its main part, or all."""
    every = list(root.walk())
    for found in (
        [one for one in every if one.name == "main" or one.attributes.get("role") == "main"],
        [one for one in every if one.name == "article"],
    ):
        if len(found) == 1 and sum(len(text.strip()) for text in _texts(found[0])) >= _ENOUGH:
            return found[0]
    return root


def _texts(node: Node) -> Iterator[str]:
    for one in node.walk():
        yield from (child for child in one.children if isinstance(child, str))


class _Writer:
    """Writes blocks, which are lines, and what is inside a line."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._depth = 0
        self._kinds: dict[str, Callable[[Node], list[str]]] = {
            **{f"h{level}": self._heading for level in range(1, 7)},
            "pre": self._pre,
            "blockquote": self._quote,
            "ul": self._list,
            "ol": self._list,
            "menu": self._list,
            "dir": self._list,
            "dt": lambda node: _filled("**", self._line(node), "**"),
            "dd": lambda node: self._prefixed(self.blocks(node), ": ", "  "),
            "li": lambda node: self._prefixed(self.blocks(node), "- ", "  "),
            "table": self._table,
            "hr": lambda _node: ["---"],
        }

    def write(self, node: Node) -> str:
        return "\n\n".join(self.blocks(node))

    def blocks(self, node: Node) -> list[str]:
        """The blocks of an element; what is not in one of its own makes a paragraph."""
        found: list[str] = []
        line: list[str] = []

        def flush() -> None:
            if line:
                found.extend(_filled("", _tidy("".join(line)), ""))
                line.clear()

        for child in node.children:
            if isinstance(child, str):
                line.append(_squeezed(child))
            elif not child.seen:
                continue
            elif child.block and child.name != "a":
                flush()
                found += self._kinds.get(child.name, self.blocks)(child)
            else:
                line.append(self.inline(child))
        flush()
        return found

    def inline(self, node: Node) -> str:
        """An element inside a line."""
        if not node.seen:
            return ""
        if node.name == "br":
            return "\n"
        if node.name == "img":
            return self._image(node)
        inner = "".join(_squeezed(one) if isinstance(one, str) else self.inline(one) for one in node.children)
        if node.block and node.name != "a":
            return f" {inner} "
        if node.name == "a":
            return self._link(node, inner)
        if node.name in _CODE:
            return _code(inner)
        return _wrapped(inner, _MARKS[node.name]) if node.name in _MARKS else inner

    def _line(self, node: Node) -> str:
        inner = "".join(_squeezed(one) if isinstance(one, str) else self.inline(one) for one in node.children)
        return _tidy(inner.replace("\n", " "))

    def _link(self, node: Node, inner: str) -> str:
        text = _tidy(inner).replace("\n", " ")
        href = node.attributes.get("href", "").strip()
        if not text or not href or href.startswith("#"):
            return inner
        url = _joined(self._base, href)
        if not url.lower().startswith(_SCHEMES):
            return inner
        front, back = (" " if inner[:1].isspace() else ""), (" " if inner[-1:].isspace() else "")
        return f"{front}[{text}]({_target(url)}){back}"

    def _image(self, node: Node) -> str:
        text = _tidy(_squeezed(node.attributes.get("alt", "")))
        url = _joined(self._base, node.attributes.get("src", "").strip())
        return f"![{text}]({_target(url)})" if text and url.lower().startswith(_SCHEMES) else text

    def _heading(self, node: Node) -> list[str]:
        return _filled("#" * int(node.name[1]) + " ", self._line(node), "")

    def _pre(self, node: Node) -> list[str]:
        text = "".join(_plain(node)).strip("\n").rstrip()
        longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
        fence = "`" * (longest + 1)
        named = " ".join(one.attributes.get("class", "") for one in node.walk())[:1000]
        language = _LANGUAGE.search(named)
        return [f"{fence}{language[1] if language else ''}\n{text}\n{fence}"] if text else []

    def _quote(self, node: Node) -> list[str]:
        inner = self._deeper(node, self.blocks)
        if self._depth >= _DEEPEST:
            return inner
        text = "\n\n".join(inner)
        return [re.sub(r"^", "> ", text, flags=re.MULTILINE).replace("> \n", ">\n")] if text else []

    def _list(self, node: Node) -> list[str]:
        start = node.attributes.get("start", "")
        number = int(start) if start.isascii() and start.isdecimal() and len(start) < 10 else 1
        items: list[str] = []
        for child in node.children:
            if isinstance(child, str) or not child.seen:
                continue
            if child.name in ("ul", "ol"):  # a list that lies beside the items, not in one
                items += self._prefixed(self._deeper(child, self._list), "  ", "  ")
                continue
            mark = f"{number}. " if node.name == "ol" and child.name == "li" else "- "
            number += child.name == "li"
            items += self._prefixed(self._deeper(child, self.blocks), mark, " " * len(mark))
        return ["\n".join(items)] if items else []

    def _deeper(self, node: Node, write: Callable[[Node], list[str]]) -> list[str]:
        self._depth += 1
        try:
            return write(node)
        finally:
            self._depth -= 1

    def _prefixed(self, inner: list[str], first: str, others: str) -> list[str]:
        """Blocks as one that hangs on a mark."""
        if not inner:
            return []
        text = "\n".join(inner)
        indented = text if self._depth >= _DEEPEST else re.sub(r"\n(?=[^\n])", f"\n{others}", text)
        return [f"{first}{indented}"]

    def _table(self, node: Node) -> list[str]:
        return table(node, self._line, self.blocks)


def _plain(node: Node) -> Iterator[str]:
    """The text as it is, of what is seen."""
    todo: list[Node | str] = [node]
    while todo:
        one = todo.pop()
        if isinstance(one, str):
            yield one
        elif one.name == "br":
            yield "\n"
        elif one.seen:
            todo += reversed(one.children)


def _squeezed(text: str) -> str:
    return _SPACE.sub(" ", text)


def _tidy(text: str) -> str:
    return _LINES.sub("\n", re.sub(r" {2,}", " ", text)).strip()


def _filled(before: str, text: str, after: str) -> list[str]:
    return [f"{before}{text}{after}"] if text else []


def _wrapped(inner: str, mark: str) -> str:
    """Marked text, with the blanks at its ends outside the marks."""
    text = inner.strip()
    if not text or "\n" in text or text.startswith(mark):
        return inner
    start = inner.index(text)
    return f"{inner[:start]}{mark}{text}{mark}{inner[start + len(text) :]}"


def _code(inner: str) -> str:
    text = inner.strip()
    if not text:
        return inner
    marks = "``" if "`" in text else "`"
    blank = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{marks}{blank}{text}{blank}{marks}"


def _joined(base: str, href: str) -> str:
    try:
        return urljoin(base, href)
    except ValueError:
        return ""


def _target(url: str) -> str:
    """A URL that Markdown does not take for longer or shorter than it is."""
    return re.sub(r"[\s()<>]", lambda found: f"%{ord(found[0]):02X}", url)
