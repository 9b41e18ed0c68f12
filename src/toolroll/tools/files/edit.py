"""Replace text in a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from toolroll.host.context import Context
from toolroll.host.files.workspace import OfferingCalls
from toolroll.result import ErrorCode, Suggestion, ToolError
from toolroll.schema import Field, FilePath
from toolroll.text import diff
from toolroll.text import lines as text_lines
from toolroll.text.edit import match as text_match
from toolroll.text.edit import refusals
from toolroll.text.edit.match import Level
from toolroll.tool import Effect, tool


@dataclass(frozen=True, slots=True)
class Edited:
    """How many places of a file were replaced."""

    path: str
    replacements: int
    created: bool
    diff: str
    relation: str = "exact"
    """How the old text was found; anything but "exact" says what it differed in."""
    lines: tuple[int, int] | None = None
    """First and last line of the old file that were touched."""
    backup: str | None = None
    """The copy of the old file, if one was asked for."""
    note: str = ""
    """What else is to be known: a change by others since it was read, and where it does not parse any more."""

    @property
    def backed_up(self) -> bool:
        return self.backup is not None

    def __str__(self) -> str:
        if self.created:
            return f"Created {self.path}."
        how = "" if self.relation == "exact" else f"; the old text differed in: {self.relation}"
        where = f" in {text_lines.line_range(*self.lines)}" if self.lines else ""
        return f"Edited {self.path} ({self.replacements} replaced{where}{how}).\n{self.diff}"


@dataclass(frozen=True, slots=True)
class EditStep:
    """One of several replacements."""

    old: str
    new: str
    replace_all: bool = False
    first: bool = False


@tool(Effect.READ | Effect.WRITE)
def edit(
    ctx: Context,
    path: Annotated[FilePath, "File to change."],
    old: Annotated[str, "Exact text to replace, without line numbers."],
    new: Annotated[str, "Its replacement; empty to delete."],
    replace_all: Annotated[bool, "Replace every occurrence."] = False,
    near_line: Annotated[int | None, Field(ge=1), "Of several, take the one nearest to this line."] = None,
    *,
    create: Annotated[bool, "An empty old text makes a new file."] = False,
    encoding: Annotated[str | None, "Only for files that are not UTF-8 or UTF-16."] = None,
    match: Annotated[Level, "How the old text may differ from the file's."] = "safe",
    first: Annotated[bool, "Of several occurrences, replace the first."] = False,
    syntax: Annotated[bool, "Refuse what makes a Python file unparsable."] = False,
    backup: Annotated[bool, "Keep a copy of the old file beside it."] = False,
    edits: Annotated[tuple[EditStep, ...], "Instead of old and new: one after the other, all or none."] = (),
    dry_run: Annotated[bool, "Of several replacements, only show the diff."] = False,
) -> Edited:
    """Replace text in a file. It must fit one place, or say which with near_line or replace_all."""
    if edits:
        return _edit_all(ctx, path, edits, match, create, dry_run)
    if not old and (create or not ctx.tree.is_file(path)):
        return _created(ctx, path, new, create)
    draft = ctx.files.draft(path, encoding, quoted=True)
    if not old:
        raise refusals.empty_quote(draft.text, path, new)
    text_match.check_omissions(new, lambda: draft.text, path)
    quote = _as_ended(draft.text, old)
    ctx.files.check_quote(draft, quote)
    quoted = quote if match == "exact" else old
    with OfferingCalls({path: draft}):
        replaced = (text_match.unique(draft.data, old, new) if draft.plain else None) or text_match.replace(
            draft.text, quoted, new, every=replace_all, near_line=near_line, first=first, level=match
        )
    if syntax:
        ctx.files.check_syntax(draft, replaced.made)
    kept = ctx.files.back_up(draft) if backup else None
    change = ctx.files.save(draft, replaced.made, note={"relation": replaced.relation, "spans": replaced.spans})
    note = "\n".join(filter(None, [draft.since, change.verdict]))
    return Edited(
        change.path, replaced.count, False, change.diff(), replaced.relation, replaced.lines, backup=kept, note=note
    )


def _edit_all(ctx: Context, path: str, edits: Sequence[EditStep], match: Level, create: bool, dry_run: bool) -> Edited:
    if create and not edits[0].old and not ctx.tree.is_file(path):
        change = ctx.files.write(path, _replace_all(edits[0].new, edits[1:], match)[0], overwrite=False)
        return Edited(change.path, 0, created=True, diff="")
    with OfferingCalls({path: (draft := ctx.files.draft(path))}):
        text, count = _replace_all(draft.text, edits, match)
    if dry_run:
        return Edited(draft.path, count, False, diff.unified(draft.text, text))
    change = ctx.files.save(draft, text)
    return Edited(change.path, count, False, change.diff(), note=change.verdict)


def _replace_all(text: str, edits: Sequence[EditStep], match: Level) -> tuple[str, int]:
    """The text after all replacements, and how many places they were; ToolError names the one that does not fit."""
    count = 0
    for number, one in enumerate(edits, 1):
        old = _as_ended(text, one.old) if match == "exact" else one.old
        try:
            made = text_match.replace(text, old, one.new, every=one.replace_all, first=one.first, level=match)
        except ToolError as error:
            message = f"Edit {number} does not fit, so none was made. {error.message}"
            raise ToolError(error.code, message, details=error.details) from error
        text, count = made.text, count + made.count
    return text, count


def _as_ended(text: str, quote: str) -> str:
    """A quote to the letter with the line ending that the file has, which `read` does not show."""
    return quote if quote in text else text_lines.adapt(quote, text_lines.ending(text))


def _created(ctx: Context, path: str, content: str, create: bool) -> Edited:
    if not create:
        raise ToolError(
            ErrorCode.NOT_FOUND,
            f"There is no {path!r} to edit. To make it, use `write`.",
            suggest=(Suggestion("write", {"path": path, "content": content}),),
        )
    if not content:
        raise ToolError(
            ErrorCode.VALIDATION,
            "Both `old` and `new` are empty. Give the text to find, or the new file's content.",
        )
    if ctx.tree.is_file(path):
        raise ToolError(ErrorCode.CONFLICT, f"{path!r} exists. Give the text to replace as `old`, or another `path`.")
    change = ctx.files.write(path, content, overwrite=False)
    return Edited(change.path, 0, created=True, diff="", note=change.verdict)
