"""Search file contents."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

from toolroll.host.context import Context
from toolroll.host.files.spill import PREFIX
from toolroll.host.search.grep_report import (
    Matches,
    Output,
    RowWindow,
    Unit,
    keep_rows,
    offering_text,
    report,
)
from toolroll.host.search.search import Query, Scope, Search
from toolroll.schema import Field, FilePath
from toolroll.text.search.file_types import NAMES_DOCUMENTS, glob_of
from toolroll.tool import Effect, tool

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolroll.host.search.query import GrepResult


@tool(Effect.READ, asks=("the search", "the workspace"))
def grep(
    ctx: Context,
    pattern: Annotated[str, Field(min_length=1), "Regular expression without look-around or back-references."],
    path: Annotated[FilePath, "Folder, file or spill: handle."] = ".",
    include: Annotated[str | None, "Glob, such as *.{ts,tsx}; *.{pdf,docx} as text."] = None,
    exclude: Annotated[str | None, "Glob to leave out."] = None,
    literal: Annotated[bool, "The pattern is plain text."] = False,
    ignore_case: Annotated[bool, "Match either case."] = False,
    context: Annotated[int, Field(ge=0), "Lines around each match."] = 0,
    multiline: Annotated[bool, "Let a match span lines."] = False,
    output: Annotated[Output, "Lines, files, or counts by file."] = "content",
    limit: Annotated[int, Field(ge=1), "Most lines or files."] = 100,
    hidden: Annotated[bool, "Dot files too."] = False,
    ignored: Annotated[bool, "What .gitignore leaves out, too."] = False,
    *,
    whole_word: Annotated[bool, "Match whole words only."] = False,
    skip: Annotated[tuple[str, ...], "Names of folders not to enter."] = (),
    depth: Annotated[int | None, Field(ge=1), "How many levels of folders to enter."] = None,
    dotall: Annotated[bool, "Let `.` match line ends where a match may span lines."] = False,
    lenient: Annotated[bool, "What is no regular expression may be plain text."] = False,
    before: Annotated[int | None, Field(ge=0), "Lines before each match, instead of `context`."] = None,
    after: Annotated[int | None, Field(ge=0), "Lines after each match, instead of `context`."] = None,
    type: Annotated[str | None, "File type, such as py or rust."] = None,
    without: Annotated[str | None, "Regular expression of lines to leave out."] = None,
    only_matching: Annotated[bool, "Show the matches alone, one a line."] = False,
    offset: Annotated[int, Field(ge=0), "Leave out so many first, counted as for `limit`."] = 0,
    unit: Annotated[Unit, "Whether `limit` counts matching lines, or those of context as well."] = "matches",
    numbers: Annotated[bool, "Whether a form that shows line numbers does."] = True,
) -> Matches:
    """Search file contents, newest file first."""
    around = (context if lines is None else lines for lines in (before, after))
    query = Query(_spanning(pattern, dotall and multiline), literal, ignore_case, whole_word, multiline, *around)
    search, where = ctx.search.of(*ctx.files.where(path), ctx.limits if ctx.call.is_whole else None)
    within, outside, kinds = ((glob,) if glob else () for glob in (include, exclude, type and glob_of(type)))
    scope = Scope(where, within or kinds, outside, hidden, ignored, skip, depth)
    ask = _choose(ctx, search, (path, *within, *kinds), lenient)
    window = RowWindow(offset, limit, _form(path, output), unit, numbers)
    also, compiled = kinds if within else (), partial(search.expression, token=ctx.token)  # a scope takes either
    with offering_text(replace(query, pattern=pattern), replace(scope, path=path)):
        found = ask(query, scope, limit=None if also or without else window.max_matches, token=ctx.token)
    keep_rows(found, query, compiled, also, without, alone=only_matching and window.output == "content")
    _name_by_handle(found, ctx, path)
    shown = report(found, window, query, replace(scope, path=path), ctx.call.limits)
    ctx.secrets.notice_paths(map(ctx.files.key, {row.path for row in shown.rows if window.output == "content"}))
    return shown


def _name_by_handle(found: GrepResult, ctx: Context, path: str) -> None:
    """What is outside the workspace is known to the model by its handle."""
    if ctx.files.where(path)[0] is not ctx.files.root:
        found.rows = [replace(row, path=path) for row in found.rows]


def _form(path: str, output: Output) -> Output:
    """The list of files would name the handle alone: show its lines."""
    return "content" if output == "files" and path.startswith(PREFIX) else output


def _choose(ctx: Context, search: Search, named: tuple[str, ...], lenient: bool) -> Callable[..., GrepResult]:
    """The search of files, or of documents where they are named."""
    documents = list(filter(NAMES_DOCUMENTS.match, named))
    engine = ctx.search_documents(search, documents) if documents else search
    return engine.grep_leniently if lenient else engine.grep


def _spanning(pattern: str, dotall: bool) -> str:
    return f"(?s:{pattern})" if dotall else pattern
