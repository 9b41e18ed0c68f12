"""A page's tree written as Markdown: what a reader sees, in the order of the page, links complete."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from toolroll.text.web.html.head import head, joined, squeezed
from toolroll.text.web.html.tables import table
from toolroll.text.web.html.tree import Node, tree

_LINES = re.compile(r" *\n[ \n]*")
_LANGUAGE = re.compile(r"(?:^|\s)(?:lang|language|highlight-source|highlight|brush:)[-\s]([\w+#.-]+)")
_MARKS = {
    "b": "**", "strong": "**", "i": "*", "em": "*", "cite": "*", "dfn": "*", "var": "*", "s": "~~", "del": "~~",
    "strike": "~~", "q": '"',
}  # fmt: skip
_CODE = frozenset({"code", "kbd", "samp", "tt"})
_ANCHORS = frozenset("¶#§🔗\uf0c1")  # texts of links that lead to the very heading they stand in
_POWER = re.compile(r"[-+\u2212]?(?:\d[\d.,/]*|[a-z])")
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
    found = head(root, url)
    part = _main(root) if main else root
    blocks = _Writer(found.base).blocks(part)
    if found.onward.lower().startswith(_SCHEMES):
        blocks.append(f"The page leads on to {_target(found.onward)}")
    return Converted(found.title, "\n\n".join(blocks), part is root)


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
        self._words: dict[str, Callable[[Node], str]] = {
            **dict.fromkeys(_CODE, self._code),
            "br": lambda _node: "\n",
            "img": self._image,
            "math": lambda node: _formula(node) or self._inner(node),
        }

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
                line.append(squeezed(child))
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
        if node.name in self._words:
            return self._words[node.name](node)
        inner = self._inner(node)
        if node.block and node.name != "a":
            return f" {inner} "
        if node.name == "a":
            return self._link(node, inner)
        if node.name == "sup" and _POWER.fullmatch(inner.strip()):
            return f"^{inner.strip()}"
        return _wrapped(inner, _MARKS[node.name]) if node.name in _MARKS else inner

    def _inner(self, node: Node) -> str:
        return "".join(squeezed(one) if isinstance(one, str) else self.inline(one) for one in node.children)

    def _line(self, node: Node) -> str:
        return _tidy(self._inner(node).replace("\n", " "))

    def _code(self, node: Node) -> str:
        """Code as it is, without marks in it; a link that is all of it leads on."""
        lines = "".join(_plain(node, line_end="\0")).split("\0")
        code = _code("\n".join(map(squeezed, lines)))
        inside = [one for one in node.children if not isinstance(one, str) or one.strip()]
        link = inside[0] if len(inside) == 1 else ""
        return self._link(link, code) if isinstance(link, Node) and link.name == "a" else code

    def _link(self, node: Node, inner: str) -> str:
        text = _tidy(inner).replace("\n", " ")
        href = node.attributes.get("href", "").strip()
        if not text or not href or href.startswith("#"):
            return "" if text in _ANCHORS else inner
        url = joined(self._base, href)
        if not url.lower().startswith(_SCHEMES):
            return inner
        front, back = (" " if inner[:1].isspace() else ""), (" " if inner[-1:].isspace() else "")
        return f"{front}[{text}]({_target(url)}){back}"

    def _image(self, node: Node) -> str:
        text = _tidy(squeezed(node.attributes.get("alt", "")))
        url = joined(self._base, node.attributes.get("src", "").strip())
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
        number = _number(node, "start", 1)
        items: list[str] = []
        for child in node.children:
            if isinstance(child, str) or not child.seen:
                continue
            if child.name in ("ul", "ol"):  # a list that lies beside the items, not in one
                items += self._prefixed(self._deeper(child, self._list), "  ", "  ")
                continue
            number = _number(child, "value", number)
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


def _number(node: Node, name: str, otherwise: int) -> int:
    said = node.attributes.get(name, "")
    return int(said) if said.isascii() and said.isdecimal() and len(said) < 10 else otherwise


def _formula(node: Node) -> str:
    """A formula as its author wrote it, which is easier to read than its parts in a row."""
    for one in node.walk():
        if one.name == "annotation" and one.attributes.get("encoding") == "application/x-tex":
            return f"${squeezed(''.join(_plain(one))).strip()}$"
    return ""


def _plain(node: Node, line_end: str = "\n") -> Iterator[str]:
    """The text as it is, of what is seen."""
    todo: list[Node | str] = [node]
    while todo:
        one = todo.pop()
        if isinstance(one, str):
            yield one
        elif one.name == "br":
            yield line_end
        elif one.seen:
            todo += reversed(one.children)


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
    marks = "`" * (max(map(len, re.findall(r"`+", text)), default=0) + 1)
    blank = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{marks}{blank}{text}{blank}{marks}"


def _target(url: str) -> str:
    """A URL that Markdown does not take for longer or shorter than it is."""
    return re.sub(r"[\s()<>]", lambda found: f"%{ord(found[0]):02X}", url)
