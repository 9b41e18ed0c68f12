"""Symbols of one source: by kind and name, and where one is defined and used."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple

from toolroll.result import ErrorCode, ToolError
from toolroll.text import names
from toolroll.text.code.syntax import languages
from toolroll.text.code.syntax.model import HOLDERS, KINDS, Tag, Tags
from toolroll.text.code.syntax.source import SourceText

_SIGILS = "#$@"
_LINKS = re.compile(r"::|->|\?\.|&\.|[.#\\]")
_BEFORE = re.compile(r"(?:\w+(?:\(\))?\s*(?:::|->|\?\.|&\.|[.\\])\s*)+$|(?:::|->|\?\.|&\.|[.\\])\s*$")
OWN_RECEIVERS = frozenset({"self", "this", "cls", "super", "super()", "static"})
"""Receivers that are the class around a use."""

_WORDS = re.compile(r"[^\W\d]\w*")
# All bytes of letters beyond ASCII count as letters: no name ends between them.
_LETTERS = frozenset(byte for byte in range(256) if byte >= 0x80 or chr(byte).isalnum() or chr(byte) == "_")
_LINE_CHARS = 200


class Symbol(NamedTuple):
    """A name to look for, and what it must be in (`Class` of `Class.method`)."""

    name: str
    above: str = ""
    whole: str = ""
    """The name where `$` is a letter like others, if it has one."""

    def spelled(self, language: str) -> str:
        known = languages.get(language)
        return (self.whole if "$" in known.word and self.whole else self.name).removesuffix(known.call_suffix)

    @property
    def stem(self) -> str:
        """What every file contains that uses the name."""
        return self.name.rstrip("!?=") or self.name


class SymbolPlace(NamedTuple):
    """A definition or a use of a symbol. Lines and columns count from 1, columns in characters."""

    line: int
    column: int
    kind: str
    """What is defined, or how it is used (see `model.KINDS` and `model.USES`)."""
    text: str
    definition: bool = False
    sure: bool = True
    """False for `x.method` if `Class.method` is looked for: what x is cannot be seen in a source."""
    receiver: str | None = None
    """Of a use: what stands before its dot."""
    tag: Tag | None = None
    """Of a definition: its tag."""


def parse_symbol(typed: str) -> Symbol:
    """A symbol as people write it: `name`, `Class.method`, `module::function`, `$variable`."""
    parts = [part for part in _LINKS.split(typed.strip().removesuffix("()")) if part.strip(_SIGILS)]
    if not parts or any(len(part.split()) != 1 for part in parts):
        raise ToolError(ErrorCode.VALIDATION, f"{typed!r} is no name of a symbol. Give one such as 'Parser.parse'.")
    name = parts[-1].strip("#@")
    return Symbol(name.strip(_SIGILS), ".".join(parts[:-1]), name if "$" in name else "")


def find_places(tags: Tags, source: SourceText, wanted: Symbol, path: str) -> list[SymbolPlace]:
    """Where the symbol is defined and used, in the order of the source; none in comments and texts."""
    looked, word = wanted.spelled(tags.language), languages.get(tags.language).word
    sigils = "".join(one for one in _SIGILS if one not in word)
    defined = {}
    for tag in tags.definitions:
        bare = tag.name.lstrip(sigils)
        if bare == looked and tag.kind not in ("import", "decorator"):
            defined[tag.name_line, tag.column + len(tag.name) - len(bare)] = tag
    used = {(use.line, use.column): use.kind for use in tags.uses_of(lambda name: name.lstrip(sigils) == looked)}
    made = []
    for offset in _offsets(source.data, looked, word):
        line, column = spot = source.spot(offset)
        shown = source.line_text(line)
        if (own := defined.get(spot)) is not None:
            if _is_in(own, wanted.above, path):
                made.append(SymbolPlace(line, column, own.kind, _cut(shown), definition=True, tag=own))
        elif (kind := used.get(spot)) or not tags.is_quiet(offset):
            before = receiver(shown[: column - 1].rstrip(sigils))
            kind = kind or ("name" if before is None else "attribute")
            sure = _is_meant(tags, wanted.above, before, line, kind)
            if sure is not None:
                made.append(SymbolPlace(line, column, kind, _cut(shown), sure=sure, receiver=before))
    return made


def receiver(before: str) -> str | None:
    """What stands before the dot that a line ends in, such as `os.path`; None if there is no dot."""
    found = _BEFORE.search(before)
    return None if found is None else ".".join(part.strip() for part in _LINKS.split(found[0]) if part.strip())


def near(name: str, lines: Iterable[str]) -> list[str]:
    """Up to three words of these lines that are like a name."""
    import difflib

    words = {word for line in lines for word in _WORDS.findall(line) if word != name}
    alike = {word for word in words if word.lower() == name.lower()}
    return [*sorted(alike), *difflib.get_close_matches(name, sorted(words - alike), n=3, cutoff=0.75)][:3]


def ends_with(path: str, above: str) -> bool:
    """Whether a dotted path is another one, or ends in it."""
    return path == above or path.endswith(f".{above}")


def _offsets(data: bytes, name: str, word: str) -> Iterator[int]:
    looked, letters = name.encode(), _LETTERS.union(word.encode())
    size, at = len(looked), data.find(looked)
    while at >= 0:
        end = at + size
        if (at == 0 or data[at - 1] not in letters) and (end == len(data) or data[end] not in letters):
            yield at
            at = data.find(looked, end)
        else:
            at = data.find(looked, at + 1)


def _is_in(tag: Tag, above: str, path: str) -> bool:
    """Whether a definition is in the class that the symbol names, or in that module."""
    if not above or ends_with(tag.parent, above):
        return True
    module = path.rpartition(".")[0].removesuffix("/__init__").replace("/", ".")
    return ends_with(f"{module}.{tag.parent}" if tag.parent else module, above)


def _is_meant(tags: Tags, above: str, before: str | None, line: int, kind: str) -> bool | None:
    """Whether a use is surely one of the symbol, may be (False), or is not (None)."""
    if not above:
        return True
    last = above.rpartition(".")[2]
    if before is not None and (ends_with(before, above) or before == last):
        return True
    if before in OWN_RECEIVERS:
        around = (tag for tag in tags.of(HOLDERS) if tag.line <= line <= tag.end_line)
        return any(tag.name == last for tag in around)
    imported = any(
        tag.kind == "import"
        and _mentions(tag.signature, above)
        and (kind != "import" or tag.line <= line <= tag.end_line)
        for tag in tags.definitions
    )
    if before is None:
        return True if imported else None
    return False if kind in ("call", "attribute", "name") else None


def _mentions(statement: str, above: str) -> bool:
    return any(ends_with(_LINKS.sub(".", word), above) for word in re.findall(r"[\w.:\\/]+", statement))


def _cut(line: str) -> str:
    line = line.strip()
    return line if len(line) <= _LINE_CHARS else f"{line[: _LINE_CHARS - 1]}…"


_KINDS: Mapping[str, frozenset[str]] = {
    **{kind: frozenset({kind}) for kind in KINDS},
    "any": frozenset(KINDS) - {"import", "decorator"},
    "function": frozenset({"function", "method"}),
    "class": HOLDERS,
    "type": HOLDERS | {"type"},
    "variable": frozenset({"variable", "constant"}),
    "call": frozenset({"call"}),
}
_SAME_KIND: Mapping[str, str] = {
    **dict.fromkeys(("all", "symbol", "definition", "*", ""), "any"),
    **dict.fromkeys(("func", "def", "fn", "sub", "procedure"), "function"),
    **dict.fromkeys(("constructor", "memberfunction"), "method"),
    **dict.fromkeys(("field", "property", "attribute", "var", "global", "enummember"), "variable"),
    **dict.fromkeys(("const",), "constant"),
    **dict.fromkeys(("namespace", "package"), "module"),
    **dict.fromkeys(("structure", "record"), "struct"),
    **dict.fromkeys(("protocol",), "interface"),
    **dict.fromkeys(("enumeration",), "enum"),
    **dict.fromkeys(("typealias", "typeparameter", "typedef"), "type"),
    **dict.fromkeys(("annotation",), "decorator"),
    **dict.fromkeys(("usage", "caller", "invocation"), "call"),
}
"""Other words for the kinds, those of language servers among them."""


def parse_kind(typed: str) -> str:
    """A kind by the word that somebody has for it, in the singular or the plural; ToolError for an unknown one."""
    word = typed.strip().lower().replace("_", "").replace("-", "").replace(" ", "")
    ends = ("", "s", "es")
    for one in (word, *(word.removesuffix(end) for end in ends), f"{word.removesuffix('ies')}y"):
        kind = _SAME_KIND.get(one, one)
        if kind in _KINDS:
            return kind
    known = ", ".join(("any", "call", *KINDS))
    raise ToolError(ErrorCode.VALIDATION, f"There is no kind {typed!r} of symbols. There are: {known}.")


_HOLDING = frozenset({"function", "method"}) | HOLDERS
_GLOB = re.compile(r"[*?\[\]]")
_WORD = re.compile(r"\w+", re.ASCII)  # the bytes of other letters depend on how a file is written
_IMPORTED = re.compile(r"[\w./:@\\-]+")


class SymbolRow(NamedTuple):
    """A symbol. Lines and columns count from 1."""

    path: str
    line: int
    end_line: int
    column: int
    kind: str
    name: str
    text: str
    """The signature, or of a call its line."""
    parent: str = ""
    """What it is defined in, called in, or decorates."""


class SymbolQuery:
    """A kind, and a name that may be a glob or dotted."""

    def __init__(self, kind: str, name: str | None = None) -> None:
        """ToolError for an unknown kind."""
        self.kind = parse_kind(kind)
        self._name = name
        self._glob = name is not None and _GLOB.search(name) is not None

    def rows(self, path: str, tags: Tags, source: Callable[[], SourceText], room: int) -> list[SymbolRow]:
        """All that fits; of calls, only the first `room` have their text, which is read from the source."""
        if self.kind == "call":
            return self._calls(path, tags, source, room)
        found = [tag for tag in tags.of(_KINDS[self.kind]) if self._matches(tag)]
        if self.kind == "import":  # `import a, b` is two in one statement
            found = list({(tag.line, tag.signature): tag for tag in reversed(found)}.values())[::-1]
        return [
            SymbolRow(path, tag.line, tag.end_line, tag.column, tag.kind, tag.name, tag.signature, tag.parent)
            for tag in found
        ]

    def _matches(self, tag: Tag) -> bool:
        if self._name is None:
            return True
        if tag.kind == "import":
            return any(map(self._is_named, _IMPORTED.findall(tag.signature)))
        return self._is_named(tag.name) or ("." in self._name and self._is_named(tag.path))

    def _is_named(self, name: str) -> bool:
        if self._name is None:
            return True
        if self._glob:
            return fnmatchcase(name, self._name) or fnmatchcase(name, f"*.{self._name}")
        return ends_with(name, self._name)

    def _calls(self, path: str, tags: Tags, source: Callable[[], SourceText], room: int) -> list[SymbolRow]:
        dotted = self._name is not None and "." in self._name
        last = self._name.rpartition(".")[2] if self._name is not None else "*"
        uses = [use for use in tags.uses_of(lambda name: fnmatchcase(name, last)) if use.kind == "call"]
        where = source() if uses and (dotted or room > 0) else None
        made: list[SymbolRow] = []
        for use in uses:
            shown, name = "", use.name
            if where is not None and (dotted or len(made) < room):
                line = where.line_text(use.line)
                before = receiver(line[: use.column - 1])
                name = f"{before}.{use.name}" if before else use.name
                shown = line.strip()[:_LINE_CHARS]
            if not dotted or self._is_named(name):
                parent = enclosing(tags, use.line) if len(made) < room else ""
                made.append(SymbolRow(path, use.line, use.line, use.column, "call", name, shown, parent))
        return made


def literal(name: str | None) -> str:
    """The longest word that a file must contain if something in it fits a name; empty if there is none."""
    return max(_WORD.findall(re.sub(r"\[[^\]]*\]", " ", name or "")), key=len, default="")


def format_row(row: SymbolRow) -> str:
    """A row as text: where it is, what it says, and what it belongs to."""
    joint = "on" if row.kind == "decorator" else "in"
    said = f"{row.name}: {row.text}" if row.kind == "call" else row.text or row.name
    return f"{names.show_name(row.path)}:{row.line}: {said}{f'  ({joint} {row.parent})' if row.parent else ''}"


def enclosing(tags: Tags, line: int) -> str:
    """The innermost function or class that a line is in."""
    inner = ""
    for tag in tags.definitions:
        if tag.line > line:
            break
        if line <= tag.end_line and tag.kind in _HOLDING:
            inner = tag.path
    return inner
