"""Search file contents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Annotated, Any, Literal

from toolroll.host.context import Context
from toolroll.host.search.search import GrepResult, GrepRow, Query, Scope
from toolroll.policy.limits import Limits
from toolroll.result import Status, Suggestion
from toolroll.schema import Field, FilePath
from toolroll.text import names
from toolroll.text.lines import counted
from toolroll.text.search.skipped import sentence
from toolroll.tool import Effect, tool

Output = Literal["content", "files", "count"]


@dataclass(frozen=True, slots=True)
class Matches:
    """Matching lines, newest file first. `total` counts all that were found, `rows` are those shown."""

    rows: list[GrepRow]
    shown: int
    total: int
    files: int
    output: Output
    note: str
    status: Status = "success"
    more: Suggestion | None = None
    whole: Callable[[], str] | None = None

    def located(self) -> str:
        """A count, then each match under its file with line and character."""
        lines = [f"Found {self.total} matches"]
        for path, group in groupby(self.rows, key=attrgetter("path")):
            lines.append(f"{path}:")
            lines += [f"  Line {row.line}, Char {row.column}: {row.text}" for row in group if row.column]
        return "\n".join(lines) if self.rows else "No matches found"

    def __str__(self) -> str:
        return _text(self.rows, self.output) or "No matches."


@tool(Effect.READ)
def grep(
    ctx: Context,
    pattern: Annotated[str, Field(min_length=1), "Regular expression, without look-around and back-references."],
    path: Annotated[FilePath, "Folder, file or spill: handle."] = ".",
    include: Annotated[str | None, "Glob of files, such as *.{ts,tsx}."] = None,
    exclude: Annotated[str | None, "Glob of files to leave out."] = None,
    literal: Annotated[bool, "The pattern is plain text."] = False,
    ignore_case: Annotated[bool, "Match either case."] = False,
    context: Annotated[int, Field(ge=0), "Lines around each match."] = 0,
    multiline: Annotated[bool, "Let a match span lines."] = False,
    output: Annotated[Output, "Lines, file names, or counts by file."] = "content",
    limit: Annotated[int, Field(ge=1), "Most lines, or files, to show."] = 100,
    hidden: Annotated[bool, "Dot files too."] = False,
    ignored: Annotated[bool, "What .gitignore leaves out, too."] = False,
    *,
    whole_word: Annotated[bool, "Match whole words only."] = False,
    skip: Annotated[tuple[str, ...], "Names of folders not to enter."] = (),
    depth: Annotated[int | None, Field(ge=1), "How many levels of folders to enter."] = None,
    lenient: Annotated[bool, "What is no regular expression may be plain text."] = False,
) -> Matches:
    """Search file contents, newest file first. When nothing is found, says what was not searched."""
    query = Query(pattern, literal, ignore_case, whole_word, multiline, before=context, after=context)
    search, where = ctx.search.of(*ctx.files.where(path))
    within, without = ((glob,) if glob else () for glob in (include, exclude))
    scope = Scope(where, within, without, hidden, ignored, skip, depth)
    ask = search.grep_leniently if lenient else search.grep
    found = ask(query, scope, limit=limit if output == "content" else None, token=ctx.call.token)
    if ctx.files.where(path)[0] is not ctx.files.root:
        found.rows = [replace(row, path=path) for row in found.rows]  # the model knows it by its handle
    rows = _first(found.rows, limit, output)
    ctx.taint.notice_files({row.path for row in rows if output == "content"})
    cut = len(rows) < len(found.rows) and found.stopped != "limit"  # a search that had enough has no whole answer
    files = {"path": path, "include": include, "exclude": exclude, "hidden": hidden, "ignored": ignored}
    how = {"literal": literal, "ignore_case": ignore_case, "multiline": multiline, "whole_word": whole_word}
    return Matches(
        rows=rows,
        shown=sum(1 for row in rows if row.column),
        total=found.matches,
        files=found.files,
        output=output,
        note=_note(found, rows, output, ctx.call.limits),
        status="success" if found.complete or found.stopped == "limit" else "partial",
        more=None if found.rows else _elsewhere(found, {"pattern": pattern, **files, **how}),
        whole=partial(_text, names.show_names(found.rows), output) if cut else None,
    )


def _text(rows: Sequence[GrepRow], output: Output) -> str:
    """Rows by file, `12:` before a match and `12-` before context."""
    if output == "files":
        return "\n".join(dict.fromkeys(row.path for row in rows))
    if output == "count":
        counts = Counter(row.path for row in rows if row.column)
        return "\n".join(f"{path}: {count}" for path, count in counts.items())
    lines: list[str] = []
    for path, group in groupby(rows, key=attrgetter("path")):
        lines += [path, *[f"{row.line}{':' if row.column else '-'}{row.text}" for row in group]]
    return "\n".join(lines)


def _first(rows: list[GrepRow], limit: int, output: Output) -> list[GrepRow]:
    """The rows up to the last match within the limit, with its context, or those of the first files."""
    counted, last = 0, None
    for at, row in enumerate(rows):
        counted += row.column > 0 if output == "content" else row.path != last
        last = row.path
        if counted > limit:
            return rows[:at]
    return rows


def _note(found: GrepResult, rows: list[GrepRow], output: Output, limits: Limits) -> str:
    notes = []
    if found.stopped == "time":
        after = f"{limits.search_seconds:g} s: this is a part of the matches. Narrow `path` or `include`."
        notes.append(f"Stopped after {after}")
    if found.stopped == "rows":
        notes.append(f"Stopped after {limits.search_rows} matches: there are more. Make `pattern` more exact.")
    if len(rows) < len(found.rows):
        of, files = "more than " if found.stopped == "limit" else "", counted(found.files, "file")
        matches = f"{sum(1 for row in rows if row.column)} of {of}{found.matches} matches in {of}{files}"
        shown = matches if output == "content" else f"{len({row.path for row in rows})} of {files}"
        notes.append(f"{shown} shown (limit reached).")
    if found.survey is not None:
        notes.append(sentence(found.survey.searched, found.survey.skipped, found.survey.elsewhere))
        notes += ["There are matches in other case: set `ignore_case`."] if found.survey.other_case else []
    return f"({' '.join(notes)})" if notes else ""


def _elsewhere(found: GrepResult, asked: dict[str, Any]) -> Suggestion | None:
    """The call that also searches the skipped files with matches, or ignores case."""
    switches = {kind: True for kind in ("hidden", "ignored") if found.survey and found.survey.elsewhere.get(kind)}
    if found.survey and found.survey.other_case and not switches:
        switches = {"ignore_case": True}
    given = {name: value for name, value in {**asked, **switches}.items() if value}
    return Suggestion("grep", given) if switches else None
