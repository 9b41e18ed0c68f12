"""Convert web pages to Markdown: what a reader sees, in the order of the page, with complete links.

turbohtml parses the page and writes the Markdown; the writers here say how links, tables, code and the like look.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple
from urllib.parse import urljoin

import turbohtml
from turbohtml import Document, Element, Markdown

_UNSEEN = (
    "head, script, style, template, svg, iframe, object, embed, video, audio, canvas, select, textarea, input, dialog, "
    "datalist, map, noembed, noframes, button, [hidden], [aria-hidden=true]:not(img)"
)
_INVISIBLE = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)\b", re.IGNORECASE)
_NAMED_BY = "h1, h2, h3, h4, h5, h6, summary, dt"  # a button in one of these is its text
_UNPRINTED = dict.fromkeys(map(ord, "\u200b\u2060\ufeff\u00ad"))  # where a word may be broken, which is not seen
_LANGUAGE = re.compile(r"(?:^|\s)(?:lang|language|highlight-source|highlight|brush:)[-\s]([\w+#.-]+)")
_ANCHORS = frozenset("¶#§🔗\uf0c1")  # texts of links that lead to the heading they stand in
_POWER = re.compile(r"[-+\u2212]?(?:\d[\d.,/]*|[a-z])")
_CODE = ("code", "kbd", "samp", "tt")
_SCHEMES = ("http://", "https://", "mailto:")
_MAIN_CHARS = 200  # that make a part the main part
_MAX_COLUMNS = 60
_MAX_REPEATED_CHARS = 100
_NEEDS_LINES = re.compile(r"^(?:#+ |```|\||> )", re.MULTILINE)
_LIST_MARK = re.compile(r"^\s*(?:[-*+]|\d+\.) ", re.MULTILINE)
_FENCE = re.compile(r"[\s>]*(`{3,})")
_ROW, _CELL = "\x1e", "\x1f"
_FORGED = re.compile(r"[\x1e\x1f]|&#(?:0*3[01](?![0-9])|x0*1[ef](?![0-9a-f]));?", re.IGNORECASE)
_CELL_FORM = re.compile(rf"{_CELL}(td|th) (\d{{1,4}}) (\d{{1,4}})([^{_CELL}]*)")
_LOOSE_CELL = re.compile(rf"{_ROW}|{_CELL}t[dh] \d+ \d+ ?")  # the main part is one, or is inside one
Write = Callable[[Element, str], str]


@dataclass(frozen=True, slots=True)
class HtmlPage:
    """A page as Markdown."""

    title: str
    markdown: str
    whole: bool
    """False when only the main part is there."""


def convert(page: str, url: str, *, main: bool = True) -> HtmlPage:
    """Convert a page that was found at a URL; with `main`, only its main part if it marks one."""
    document = turbohtml.parse(_FORGED.sub("", page.translate(_UNPRINTED)), positions=False)
    base = _join(url, document.base_url(url)) or url
    title = document.select_one("title")
    onward = _onward(document, base, url)
    name = " ".join(title.text.split()) if title else ""
    _remove_unseen(document)
    part = _main(document) if main else None
    text = _tidy(_LOOSE_CELL.sub("\n", (part or document).to_markdown(_style(base))))
    return HtmlPage(name, "\n\n".join(filter(None, [text, onward])), part is None)


def _tidy(text: str) -> str:
    """The same lines without blanks at their ends, and outside of code without more than one empty line in a row."""
    lines: list[str] = []
    fence = ""
    for line in map(str.rstrip, text.replace("\xa0", " ").split("\n")):
        if line or fence or (lines and lines[-1]):
            lines.append(line)
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif fence and line.strip() == fence:
            fence = ""
    return "\n".join(lines).strip("\n")


def _onward(document: Document, base: str, url: str) -> str:
    found = document.meta_refresh(base)
    place = found[1] if found else ""
    return f"The page leads on to {_target(place)}" if place.startswith(_SCHEMES) and place != url else ""


def _remove_unseen(document: Document) -> None:
    for line_end in document.select("pre br, code br"):
        line_end.replace_with(turbohtml.Text("\n"))
    for one in document.select("button"):
        if one.closest(_NAMED_BY):
            one.unwrap()
    for one in document.select(_UNSEEN):
        one.decompose()
    for one in document.select("[style]"):
        if _INVISIBLE.search(one.attr("style") or ""):
            one.decompose()
        else:
            del one.attrs["style"]  # turbohtml would write `white-space: pre` as code


def _main(document: Document) -> Element | None:
    """The one element that the page calls its main part."""
    for selector in ("main, [role=main]", "article"):
        found = document.select(selector)
        if len(found) == 1 and sum(map(len, found[0].stripped_strings)) >= _MAIN_CHARS:
            return found[0]
    return None


def _style(base: str) -> Markdown:
    def link(node: Element, inner: str) -> str:
        text = " ".join(re.sub(r"^#+ ", "", inner, flags=re.MULTILINE).split())
        href = (node.attr("href") or "").strip()
        if not text or not href or href.startswith("#"):
            return "" if text in _ANCHORS else inner
        url = _join(base, href)
        if not url.lower().startswith(_SCHEMES):
            return inner
        front, back = (" " if inner[:1].isspace() else ""), (" " if inner[-1:].isspace() else "")
        return f"{front}[{text}]({_target(url)}){back}"

    def image(node: Element, _inner: str) -> str:
        text = " ".join((node.attr("alt") or "").split())
        url = _join(base, (node.attr("src") or "").strip())
        return f"![{text}]({_target(url)})" if text and url.lower().startswith(_SCHEMES) else text

    def code(node: Element, inner: str) -> str:
        whole = node.select_one("a")
        written = _code(node, inner)
        return link(whole, written) if whole and whole.text.strip() == node.text.strip() else written

    writers: dict[str, Write] = {"a": link, "img": image, **dict.fromkeys(_CODE, code), **_WRITERS}
    return Markdown(
        links=Markdown.Links(autolink=False),
        escaping=Markdown.Escaping("none", asterisks=False, underscores=False),
        converters=writers,
    )


def _join(base: str, href: str) -> str:
    """A link in full; empty when it is none."""
    try:
        return urljoin(base, href)
    except ValueError:
        return ""


def _target(url: str) -> str:
    """A URL without characters that end a link of Markdown."""
    return re.sub(r"[\s()<>]", lambda found: f"%{ord(found[0]):02X}", url)


def _pre(node: Element, _inner: str) -> str:
    text = node.text.strip("\n").rstrip()
    fence = "`" * (max((len(run) for run in re.findall(r"`{3,}", text)), default=2) + 1)
    classes = " ".join(one.attr("class") or "" for one in (node, *islice(node.select("[class]"), 5)))
    language = _LANGUAGE.search(classes)
    return f"{fence}{language[1] if language else ''}\n{text}\n{fence}" if text else ""


def _superscript(_node: Element, inner: str) -> str:
    return f"^{inner.strip()}" if _POWER.fullmatch(inner.strip()) else inner


def _math(node: Element, inner: str) -> str:
    """A formula as its author wrote it, if the page holds that."""
    source = node.select_one("annotation[encoding='application/x-tex']")
    return f"${' '.join(source.text.split())}$" if source else inner


def _marked(mark: str) -> Write:
    def write(_node: Element, inner: str) -> str:
        text = inner.strip()
        if not text or "\n" in text or text.startswith(mark):
            return inner
        return inner.replace(text, f"{mark}{text}{mark}", 1)

    return write


def _code(node: Element, _inner: str) -> str:
    """Code as it is, without marks in it; a link that is all of it stays one."""
    text = re.sub(r"[^\S\n]+", " ", node.text).strip()
    if not text:
        return node.text
    marks = "`" * (max(map(len, re.findall(r"`+", text)), default=0) + 1)
    blank = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{marks}{blank}{text}{blank}{marks}"


def _heading(node: Element, inner: str) -> str:
    text = " ".join(inner.split())
    return f"{'#' * int(node.tag[1])} {text}" if text else ""


def _cell(node: Element, inner: str) -> str:
    """A cell as its table reads it: the kind, the columns and rows that it reaches over, the text."""
    return f"{_CELL}{node.tag} {_span(node, 'colspan')} {_span(node, 'rowspan')} {inner}"


def _span(node: Element, name: str) -> int:
    text = (node.attr(name) or "").strip()
    return min(max(int(text), 1), 1_000) if text.isascii() and text.isdecimal() and len(text) < 10 else 1


class _Cell(NamedTuple):
    kind: str
    across: str
    down: str
    text: str


def _table(_node: Element, inner: str) -> str:
    """A table of Markdown; the content of its cells when it only arranges things."""
    caption, *lines = inner.split(_ROW)
    rows = [row for line in lines if (row := [_Cell(*found) for found in _CELL_FORM.findall(line)])]
    width = max(map(len, rows), default=0)
    texts = [cell.text.strip() for row in rows for cell in row]
    if not 2 <= width <= _MAX_COLUMNS or any(map(_NEEDS_LINES.search, texts)):
        return "\n\n".join(filter(None, [caption.strip(), *texts]))
    grid = [row for row in _grid(rows, width) if any(row)]
    if not grid:
        return caption.strip()
    if not any(cell.kind == "th" for cell in rows[0][1:]):  # one in the first place is the name of its row
        grid.insert(0, [])
    columns = max(map(len, grid))
    grid.insert(1, ["---"] * columns)
    table = "\n".join(f"| {' | '.join(row + [''] * (columns - len(row)))} |" for row in grid)
    return f"{caption.strip()}\n\n{table}".strip()


def _grid(rows: list[list[_Cell]], width: int) -> list[list[str]]:
    """Each row with a text for each column: a cell that reaches over rows, or heads columns, is repeated."""
    found: list[list[str]] = []
    above: dict[int, tuple[int, str]] = {}
    """By column: for how many rows a cell reaches down, and its text."""
    for cells in rows:
        row: list[str] = []
        todo = list(reversed(cells))
        while todo or len(row) <= max(above, default=-1):
            if (at := len(row)) in above:
                left, text = above.pop(at)
                row.append(text)
                if left > 1:
                    above[at] = (left - 1, text)
            elif todo:
                kind, across, down, text = todo.pop()
                text = _flat(text)
                again = text if len(text) <= _MAX_REPEATED_CHARS else ""
                count = max(1, min(int(across), width, _MAX_COLUMNS - at))
                row += [text, *[again if kind == "th" else ""] * (count - 1)]
                if int(down) > 1:
                    above |= {
                        column: (int(down) - 1, again if column == at else row[column])
                        for column in range(at, at + count)
                    }
            else:
                row.append("")
        found.append(row)
    return found


def _flat(text: str) -> str:
    return " ".join(_LIST_MARK.sub("", text).split()).replace("|", "\\|")


_WRITERS: dict[str, Write] = {
    **dict.fromkeys(("b", "strong"), _marked("**")),
    **dict.fromkeys(("i", "em", "cite", "dfn", "var"), _marked("*")),
    **dict.fromkeys(("s", "del", "strike"), _marked("~~")),
    "br": lambda _node, _inner: "\n",
    "dt": lambda _node, inner: f"**{' '.join(inner.split())}**" if inner.strip() else "",
    "dd": lambda _node, inner: ": " + re.sub(r"\n(?=[^\n])", "\n  ", inner.strip()) if inner.strip() else "",
    "pre": _pre,
    "sup": _superscript,
    "math": _math,
    **dict.fromkeys(("td", "th"), _cell),
    **{f"h{level}": _heading for level in range(1, 7)},
    "tr": lambda _node, inner: f"{_ROW}{inner}",
    "table": _table,
}
