"""Give something in code another name, everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from toolroll.host.context import Context
from toolroll.host.files.reader import TextFile
from toolroll.host.lsp.answers import FileEdits
from toolroll.host.lsp.servers import ALIASES, language_of
from toolroll.host.search.search import Query, Scope
from toolroll.result import ErrorCode, ToolError
from toolroll.schema import Field
from toolroll.text import diff
from toolroll.text.edit import text_edits
from toolroll.text.lines import counted
from toolroll.text.positions import Positions
from toolroll.tool import Effect, tool

_SHOWN = 10


@dataclass(frozen=True, slots=True)
class RenamedFile:
    """What changes in one file."""

    path: str
    replacements: int
    diff: str


@dataclass(frozen=True, slots=True)
class Renamed:
    """All files that change, or would; `left` are places where the old name still stands."""

    old: str
    new: str
    files: list[RenamedFile]
    total: int
    preview: bool
    left: list[str]
    note: str

    def __str__(self) -> str:
        done = "Would rename" if self.preview else "Renamed"
        where = f"{counted(self.total, 'place')} in {counted(len(self.files), 'file')}"
        head = f"{done} {self.old!r} to {self.new!r}: {where}."
        return "\n".join([head, *(f"{one.path} ({one.replacements})\n{one.diff}" for one in self.files)])


@tool(Effect.READ | Effect.WRITE, rare=True)
def rename(
    ctx: Context,
    path: Annotated[str, Field(min_length=1), "File that holds the name."],
    line: Annotated[int, Field(ge=1), "Its line, from 1."],
    character: Annotated[int, Field(ge=1), "Any character of the name in that line, from 1."],
    new_name: Annotated[str, "The new name."],
    *,
    preview: Annotated[bool, "Show what would change, and change nothing."] = False,
    language: Annotated[str | None, "Take the file to be of this language."] = None,
) -> Renamed:
    """Rename what stands at a place in code wherever it is used, by a language server: in all files or none."""
    of = language or language_of(path)
    text_edits.check_name(new_name, ALIASES.get(of, of) if of else None)
    document = ctx.files.peek(path)
    places = Positions(document.text)
    old = places.word(line, character)
    found = ctx.servers.rename(document.path, line, character, new_name, ctx.token, language)
    if not found:
        raise ToolError(
            ErrorCode.VALIDATION,
            f"There is nothing to rename at line {line}, character {character}. {places.hint(line)}",
        )
    drafts = [(draft, text_edits.apply(draft.text, one.edits), one) for one in found if (draft := _draft(ctx, one))]
    files = [RenamedFile(one.path, len(one.edits), diff.unified(draft.text, text)) for draft, text, one in drafts]
    changed = [(draft, text, _receipt(one)) for draft, text, one in drafts if text != draft.text]
    broken = () if preview else ctx.files.save_all(changed)
    left = [] if preview else _left(ctx, old, new_name)
    taken = [one.path for draft, _, one in drafts if new_name != old and text_edits.holds(draft.text, new_name)]
    note = "\n".join(filter(None, [_taken(new_name, taken), _note(old, left), *broken]))
    return Renamed(old, new_name, files, sum(len(one.edits) for one in found), preview, left, note)


def _draft(ctx: Context, found: FileEdits) -> TextFile:
    """The file, if it is what the server saw."""
    draft = ctx.files.at(".").draft(found.path)
    if draft.text != found.text:
        raise ToolError(ErrorCode.CONFLICT, f"{found.path!r} was changed meanwhile. Nothing was renamed: do it again.")
    return draft


def _receipt(found: FileEdits) -> dict[str, Any]:
    return {"relation": "exact", "spans": [(edit.start, edit.end) for edit in found.edits]}


def _left(ctx: Context, old: str, new: str) -> list[str]:
    """Where the old name still stands: in comments and texts, or as the name of something else."""
    if not old or old == new:
        return []
    found = ctx.search.grep(Query(old, literal=True, whole_word=True), Scope(), sort="path", token=ctx.token)
    return [f"{row.path}:{row.line}" for row in found.rows]


def _taken(new: str, paths: list[str]) -> str:
    if not paths:
        return ""
    return f"({new!r} was there before, in {_few(paths)}: look whether two things have one name now.)"


def _few(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + ", ..." * (len(names) > _SHOWN)


def _note(old: str, left: list[str]) -> str:
    if not left:
        return ""
    return f"({old!r} still stands in other places, as text or as the name of something else: {_few(left)}.)"
