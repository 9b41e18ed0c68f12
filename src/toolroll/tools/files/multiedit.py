"""Replace text in many files at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

from toolroll.host.context import Context
from toolroll.host.files.reader import TextFile
from toolroll.host.search.search import Scope
from toolroll.result import ErrorCode, ToolError
from toolroll.schema import Field, FilePath
from toolroll.text import diff
from toolroll.text.edit.replace import Finder
from toolroll.text.lines import counted
from toolroll.text.truncate import bound
from toolroll.tool import Effect, tool

_MAX_CHARS = 1_900  # of a success; a preview is shown whole


@dataclass(frozen=True, slots=True)
class FileChange:
    """What is replaced in one file. Ids name the occurrences: `path:line:column`."""

    path: str
    replacements: int
    ids: list[str]
    diff: str


@dataclass(frozen=True, slots=True)
class Replacements:
    """All files that change, or would."""

    files: list[FileChange]
    total: int
    searched: int
    preview: bool
    skipped: int = 0
    """Files of types that are not opened here."""
    left: int = 0
    """Files that would change too, beyond the most that may."""
    broken: tuple[str, ...] = ()
    """Where files do not parse any more."""

    @property
    def note(self) -> str:
        skipped = f"({counted(self.skipped, 'file')} of types that are not allowed left alone.)" if self.skipped else ""
        left = f"({self.left} more would change: raise `max_files`.)" if self.left else ""
        return "\n".join(filter(None, [skipped, left, *self.broken]))

    def __str__(self) -> str:
        done = "Would replace" if self.preview else "Replaced"
        head = f"{done} {self.total} in {len(self.files)} of {counted(self.searched, 'file')}."
        text = "\n".join([head, *(f"{one.path} ({one.replacements})\n{one.diff}" for one in self.files)])
        return text if self.preview else bound(text, _MAX_CHARS, "head").text


@tool(Effect.READ | Effect.WRITE, rare=True)
def multiedit(
    ctx: Context,
    pattern: Annotated[str, Field(min_length=1), "Glob of the files, such as src/**/*.py."],
    find: Annotated[str, Field(min_length=1), "Text to replace."],
    replace: Annotated[str, "Text to put in its place; with regex, $1 or ${name} are groups."],
    path: Annotated[FilePath, "Folder to look in."] = ".",
    include: Annotated[str | None, "Of those files, only the ones that match this glob."] = None,
    exclude: Annotated[str | None, "Not the files that match this glob."] = None,
    regex: Annotated[bool, "Take find as a regular expression."] = False,
    case_sensitive: Annotated[bool, "Tell upper from lower case."] = True,
    whole_word: Annotated[bool, "Match whole words only."] = False,
    preview: Annotated[bool, "Show what would change, and change nothing."] = False,
    expected_count: Annotated[int | None, Field(ge=0), "Change nothing unless there are exactly so many."] = None,
    max_files: Annotated[int, Field(ge=1), "Change nothing if more files would change."] = 100,
    *,
    beyond: Annotated[Literal["refuse", "leave"], "What becomes of files beyond max_files."] = "refuse",
    backup: Annotated[bool, "Keep copies of the old files beside them."] = False,
) -> Replacements:
    """Replace a text or regular expression in all files that match a glob: all of them or none."""
    search, where = ctx.search.of(*ctx.files.where(path))
    how = {"regex": regex, "case": case_sensitive, "words": whole_word}
    finder = Finder(find, compiled=partial(search.expression, token=ctx.token), **how)
    scope = Scope(where, (include,) if include else (), (exclude,) if exclude else ())
    found = search.find(pattern, scope, kind="file", sort="path", token=ctx.token)
    if not found.complete:
        raise ToolError(ErrorCode.TOO_LARGE, "There are too many files to be sure of all. Narrow `path` or `pattern`.")
    drafts, files, refused, kept = [], [], list[ToolError](), 0
    for entry in found.entries:
        ctx.token.check()
        draft = _draft(ctx, entry.path, refused)
        made = finder.replace(draft.text, replace) if draft is not None else None
        if draft is not None and made is not None and made.text == draft.text:
            kept += len(made.spans)
        elif draft is not None and made is not None:
            drafts.append((draft, made.text, {"relation": "exact", "spans": made.spans}))
            ids = [f"{entry.path}:{line}:{column}" for line, column in made.places]
            change = diff.unified(draft.text, made.text, made.same(draft.text))
            files.append(FileChange(entry.path, len(ids), ids, change))
    if not files and (refused or kept):
        raise refused[0] if refused else _unchanged(kept)
    shown = files[: max_files if beyond == "leave" else None]
    _check(_count(files), len(shown), expected_count, max_files, len(found.entries))
    broken, left = () if preview else _save(ctx, drafts[: len(shown)], backup), len(files) - len(shown)
    return Replacements(shown, _count(shown), len(found.entries), preview, len(refused), left, broken)


def _unchanged(kept: int) -> ToolError:
    return ToolError(ErrorCode.VALIDATION, f"The {kept} occurrences are what `replace` says: nothing would change.")


def _count(files: Sequence[FileChange]) -> int:
    return sum(one.replacements for one in files)


def _save(ctx: Context, drafts: Sequence[tuple[TextFile, str, Any]], backup: bool) -> tuple[str, ...]:
    for draft, *_ in drafts if backup else ():
        ctx.files.back_up(draft)
    return ctx.files.save_all(drafts)


def _draft(ctx: Context, path: str, refused: list[ToolError]) -> TextFile | None:
    try:
        return ctx.files.draft(path)
    except ToolError as error:
        if error.code is ErrorCode.SECURITY:
            refused.append(error)  # a glob names no file, so one that is not allowed does not speak for the others
        elif error.code is not ErrorCode.UNSUPPORTED:  # a binary file has no text to replace
            raise
        return None


def _check(total: int, files: int, expected: int | None, most: int, searched: int) -> None:
    if expected is not None and total != expected:
        raise ToolError(
            ErrorCode.CONFLICT,
            f"Found {counted(total, 'occurrence')} in {counted(files, 'file')}, not {expected}. Nothing was changed; "
            "look with `preview`, then give the right `expected_count`.",
        )
    if files > most:
        raise ToolError(
            ErrorCode.TOO_LARGE, f"{files} files would change, more than {most}. Narrow `pattern`, or set `max_files`."
        )
    if not total:
        looked = f"The text does not occur in the {counted(searched, 'file')} that match."
        raise ToolError(ErrorCode.NOT_FOUND, looked if searched else "No file matches `pattern`.")
