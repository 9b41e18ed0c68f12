"""Give a symbol another name, everywhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from toolroll.host.code.file_uses import describe_tests, find_tests
from toolroll.host.code.place_resolver import LeftPlace
from toolroll.host.code.renames import RenamePlanner
from toolroll.host.context import Context
from toolroll.host.files.reader import TextFile
from toolroll.host.lsp.answers import FileEdits
from toolroll.host.lsp.servers import ALIASES, language_of
from toolroll.host.search.search import Query, Scope
from toolroll.result import ErrorCode, Looked, ToolError
from toolroll.schema import Field, FilePath
from toolroll.text import diff
from toolroll.text.edit import text_edits
from toolroll.text.lines import counted
from toolroll.text.positions import Positions
from toolroll.tool import Effect, tool


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
    resolved: list[str]
    """Every place in code with the old name is here, in `ruled_out` or in `unknown`."""
    ruled_out: list[LeftPlace]
    unknown: list[LeftPlace]
    tests: list[str]
    """Test files that have the name, or name the file that defines it."""
    server: str
    """The language server that resolved the uses; without one they are by name."""
    note: str
    looked: Looked | None = field(default=None, compare=False)

    def __str__(self) -> str:
        done = "Would rename" if self.preview else "Renamed"
        where = f"{counted(self.total, 'place')} in {counted(len(self.files), 'file')}"
        how = f"resolved by {self.server}" if self.server else "by name"
        head = f"{done} {self.old!r} to {self.new!r}: {where}, {how}."
        return "\n".join([head, *(f"{one.path} ({one.replacements})\n{one.diff}" for one in self.files)])


@tool(Effect.READ | Effect.WRITE, rare=True)
def rename(
    ctx: Context,
    new_name: Annotated[str, "The new name."],
    symbol: Annotated[str | None, Field(min_length=1, max_length=500), "What to rename, such as Parser.parse."] = None,
    path: Annotated[FilePath | None, "File or folder that has it."] = None,
    line: Annotated[int | None, Field(ge=1), "A line of the file that has it."] = None,
    character: Annotated[int | None, Field(ge=1), "Any character of the name in that line."] = None,
    preview: Annotated[bool, "Only show what would change."] = False,
    unknown: Annotated[bool, "Also where it may be another of this name."] = False,
    *,
    language: Annotated[str | None, "Take the file to be of this language."] = None,
) -> Renamed:
    """Rename a symbol everywhere it is used, unless that causes errors. All files change, or none."""
    lookup = ctx.lookup
    target = lookup.locate("rename", symbol, path, line, character, new_name=new_name)
    of = language or language_of(target.path)
    text_edits.check_name(new_name, ALIASES.get(of, of) if of else None)
    plan = RenamePlanner(lookup).plan(target, new_name, language, unknown=unknown)
    if not plan.files:
        hint = Positions(lookup.text(target.path)).hint(target.line)
        message = f"There is nothing to rename at line {target.line}, character {target.character}. {hint}"
        raise ToolError(ErrorCode.VALIDATION, message)
    drafts = [
        (draft, text_edits.apply(draft.text, one.edits), one) for one in plan.files if (draft := _draft(ctx, one))
    ]
    files = [RenamedFile(one.path, len(one.edits), diff.unified(draft.text, text)) for draft, text, one in drafts]
    changed = [(draft, text, _receipt(one)) for draft, text, one in drafts if text != draft.text]
    texts = {one.path: (draft.text, text) for draft, text, one in drafts}
    users = [row.path for row in (*plan.unknown, *plan.ruled_out)]
    notes = lookup.check_changes(texts, {new_name: target.name}, users, "renamed")
    broken = () if preview else ctx.files.save_all(changed)
    left = [] if preview else _left(ctx, target.name, new_name)
    touched = [*texts, *users, *(place.partition(":")[0] for place in left)]
    tests = find_tests(touched, target.path, ctx.files, ctx.search, ctx.token)
    notes += [*plan.describe_left(target.name, left), *describe_tests(tests), *broken]
    total, looked = sum(len(one.edits) for one in plan.files), lookup.looked(counted(len(files), "file"))
    what = target.name, new_name, files, total, preview, left
    places = [row.left for row in plan.ruled_out], [row.left for row in plan.unknown]
    resolved = [f"{path}:{line}:{column}" for path, line, column in plan.spots]
    return Renamed(*what, resolved, *places, tests, plan.server, "\n".join(filter(None, notes)), looked)


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
