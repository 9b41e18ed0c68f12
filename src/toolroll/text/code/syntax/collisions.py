"""Find what a new name would collide with: another definition in its scope, or a use that it would capture."""

from __future__ import annotations

import re
from collections.abc import Sequence

from toolroll.text.code.syntax.model import HOLDERS, Tag, Tags
from toolroll.text.code.syntax.resolution import DefinedSymbol, family
from toolroll.text.code.syntax.symbols import OWN_RECEIVERS, SymbolPlace

_CAPTURED = frozenset({"import", "call", "type", "inherit", "decorator"})
_WORD = re.compile(r"\w+")
_KEYS = {"python": re.compile(r"=(?!=)"), "script": re.compile(r"\s*:")}  # behind the name of an argument or a key


def find_collision(
    symbol: DefinedSymbol | None, path: str, tags: Tags, places: Sequence[SymbolPlace], text: str, edited: Sequence[int]
) -> SymbolPlace | None:
    """The place of the new name in a file that the renamed symbol would collide with. `edited` lines change."""
    if symbol is not None and symbol.owner is not None:
        return next((one for one in places if _is_rival_member(symbol, symbol.owner, path, tags, one)), None)
    spans = [(tag.line, tag.end_line) for tag in tags.upper if any(tag.line <= at <= tag.end_line for at in edited)]
    local = symbol is None or bool(symbol.tag.parent)
    lines = text.split("\n")
    for one in places:
        if one.receiver is not None or _is_key(tags, lines[one.line - 1], one):
            continue
        near = any(start <= one.line <= end for start, end in spans) and _shares_scope(tags, one.line, edited)
        above = one.tag is not None and not one.tag.parent
        if near or (not local and (above or one.kind in _CAPTURED)):
            return one
    return None


def _shares_scope(tags: Tags, line: int, edited: Sequence[int]) -> bool:
    """Whether a line is in an innermost function or class of an edited line, or around one."""
    scopes = [tag for tag in tags.definitions if tag.kind in {"function", "method"} | HOLDERS]

    def innermost(at: int) -> Tag | None:
        inside = [tag for tag in scopes if tag.line <= at <= tag.end_line]
        return inside[-1] if inside else None

    own = innermost(line)
    return own is None or any(own.line <= at <= own.end_line for at in edited)


def _is_rival_member(symbol: DefinedSymbol, owner: Tag, path: str, tags: Tags, one: SymbolPlace) -> bool:
    """Whether the class of a symbol, or one that names it or is named by it as a base, has the new name."""
    around = [tag for tag in tags.of(HOLDERS) if tag.line <= one.line <= tag.end_line]
    if one.tag is not None and one.tag.parent.rpartition(".")[2] == owner.name:
        return True
    if not around or (one.tag is None and one.receiver not in OWN_RECEIVERS):
        return False
    holder = around[-1]
    if one.tag is not None and one.tag.parent.rpartition(".")[2] != holder.name:
        return False
    related = owner.name in _WORD.findall(holder.signature) or holder.name in _WORD.findall(owner.signature)
    return (path == symbol.path and holder == owner) or (holder.name != owner.name and related)


def _is_key(tags: Tags, line: str, one: SymbolPlace) -> bool:
    """Whether a name is one of an argument or a key, which is a name of its own."""
    mark = _KEYS.get(family(tags.language))
    if mark is None or one.kind != "name" or any(tag.line == one.line for tag in tags.of({"function", "method"})):
        return False
    name = _WORD.match(line, one.column - 1)
    return name is not None and mark.match(line, name.end()) is not None
