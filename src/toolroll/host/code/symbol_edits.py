"""Edit code by symbol: replace a definition, insert beside one, move one to another file, delete one that is unused."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from toolroll.host.code.place_resolver import PlaceResolver
from toolroll.result import ErrorCode, ToolError
from toolroll.text.code import python_moves, script_moves, symbol_spans
from toolroll.text.code.symbol_spans import MoveRequest
from toolroll.text.code.syntax.resolution import DefinedSymbol, family
from toolroll.text.code.syntax.symbols import Symbol
from toolroll.text.lines import counted

if TYPE_CHECKING:
    from toolroll.host.code.symbol_lookup import SymbolLookup

Action = Literal["replace", "insert_before", "insert_after", "move", "delete"]
_MAX_SHOWN = 10
_MOVES = {"python": python_moves.plan_move, "script": script_moves.plan_move}


@dataclass(slots=True)
class SymbolChange:
    """The old and the new text of each file that changes; the old one of a new file is empty."""

    texts: dict[str, tuple[str, str]]
    notes: list[str] = field(default_factory=list)
    users: list[str] = field(default_factory=list)
    """Other files that have the name, which are checked too."""


class SymbolEditor:
    """Plans edits on behalf of one call; nothing is written."""

    def __init__(self, lookup: SymbolLookup) -> None:
        self._lookup = lookup

    def plan(self, action: Action, one: DefinedSymbol, text: str | None, to: str | None) -> SymbolChange:
        """The change that an action makes; ToolError when it is not safe."""
        source = self._lookup.text(one.path)
        span = symbol_spans.find_span(one.tag, one.tags, source)
        if action == "delete":
            self._check_unused(one)
            change = SymbolChange({one.path: (source, symbol_spans.delete(source, span))})
        elif action == "move":
            change = self._move(one, span, to)
        elif text is None:
            raise ToolError(ErrorCode.VALIDATION, f"`text` is missing: give the code to {action.replace('_', ' ')}.")
        else:
            language = one.tags.language
            made = (
                symbol_spans.replace(source, span, text, language)
                if action == "replace"
                else symbol_spans.insert(source, span, text, before=action == "insert_before")
            )
            change = SymbolChange({one.path: (source, made)})
            self._check_defined(action, one, made)
        for path, (old, new) in change.texts.items():
            self._check_parses(path, old, new)
        return change

    def _check_defined(self, action: Action, one: DefinedSymbol, made: str) -> None:
        tags = self._lookup.parse(one.path, made)
        if tags and not any(tag.name == one.tag.name and tag.parent == one.tag.parent for tag in tags.definitions):
            raise ToolError(
                ErrorCode.VALIDATION,
                f"{one.tag.path!r} would not be defined any more after {action!r}. Give the whole definition, with its "
                "signature; use `rename` for another name.",
            )

    def _check_parses(self, path: str, old: str, new: str) -> None:
        """Raise ToolError if a text that parsed does not parse any more."""
        after = self._lookup.parse(path, new)
        before = self._lookup.parse(path, old) if old else None
        if after and after.broken and not (before and before.broken):
            message = f"{path!r} would not parse any more, line {after.broken}. Nothing was changed."
            raise ToolError(ErrorCode.VALIDATION, message)

    def _check_unused(self, one: DefinedSymbol) -> None:
        """Raise ToolError that lists the uses of a symbol outside itself."""
        named, scan = self._lookup.named_files(Symbol(one.tag.name), ".")
        scan.check_looked()
        group = PlaceResolver(self._lookup).resolve([one], named).groups[0]
        uses = [
            row
            for row in (*group.uses, *group.unknown)
            if row.path != one.path or not one.tag.line <= row.place.line <= one.tag.end_line
        ]
        shown = [f"{row.path}:{row.place.line}: {row.place.text}" for row in uses[:_MAX_SHOWN]]
        if uses:
            how = f"resolved by {group.server}" if group.server else "by name: may include others"
            listed = "\n".join([*shown, *["..."] * (len(uses) > _MAX_SHOWN)])
            message = f"{one.tag.path!r} has {counted(len(uses), 'use')} ({how}). Nothing was deleted.\n{listed}"
            raise ToolError(ErrorCode.CONFLICT, message)

    def _move(self, one: DefinedSymbol, span: symbol_spans.SymbolSpan, to: str | None) -> SymbolChange:
        if to is None:
            raise ToolError(ErrorCode.VALIDATION, "`to` is missing: give the file to move it to.")
        if one.tag.parent:
            message = f"{one.tag.path!r} is inside {one.tag.parent!r}: only what stands at the top of a file is moved."
            raise ToolError(ErrorCode.UNSUPPORTED, message)
        target = self._lookup.resolve(to)
        kind = family(one.tags.language)
        there = self._lookup.text_or_none(target)
        if target == one.path:
            raise ToolError(ErrorCode.VALIDATION, f"{one.tag.path!r} is in {to!r} already.")
        if there is not None and any(tag.name == one.tag.name for tag in self._lookup.tags(target).upper):
            raise ToolError(ErrorCode.CONFLICT, f"{to!r} has a {one.tag.name!r} already. Nothing was moved.")
        named, _ = self._lookup.named_files(Symbol(one.tag.name), ".")
        texts = {file.path: self._lookup.text(file.path) for file in named if family(file.tags.language) == kind}
        source = self._lookup.text(one.path)
        request = MoveRequest(one.tag.name, span, one.path, source, target, there or "", texts)
        notes = []
        if plan := _MOVES.get(kind):
            made = plan(request)
        else:
            piece, rest = request.cut()
            made = {one.path: rest, target: symbol_spans.join_pieces(there or "", piece)}
            notes = ["(Moved as text: imports and includes are as they were.)"]
        old = {**texts, one.path: source, target: there or ""}
        changed = {path: (old[path], text) for path, text in made.items() if old[path] != text}
        return SymbolChange(changed, notes, [*texts])
