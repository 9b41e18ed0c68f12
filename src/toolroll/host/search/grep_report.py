"""The rows of a search as a tool shows them: which of them, as text, and what is to be said of the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

from toolroll.host.search.query import GrepResult, GrepRow, Query, Scope
from toolroll.policy.limits import Limits
from toolroll.result import Status, Suggestion, ToolError
from toolroll.text import names
from toolroll.text.lines import counted, list_some
from toolroll.text.search import globs
from toolroll.text.search.skipped import sentence

if TYPE_CHECKING:
    from toolroll.text.edit.replace import Compile

Output = Literal["content", "files", "count"]
Unit = Literal["matches", "lines"]
_MAX_FAILED = 5  # documents that are named
_MAX_NAMED = 3  # files that have the pattern as plain text


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
    meta: Mapping[str, Any] = field(default_factory=dict)
    form: Literal["numbered", "bare"] = "numbered"

    def located(self) -> str:
        """A count, then each match under its file with line and character."""
        lines = [f"Found {self.total} matches"]
        for source, group in groupby(self.rows, key=attrgetter("source")):
            lines.append(f"{source}:")
            lines += [f"  Line {row.line}, Char {row.column}: {row.text}" for row in group if row.column]
        return "\n".join(lines) if self.rows else "No matches found"

    def like_ripgrep(self) -> str:
        """Each line behind its path, `--` between places that do not touch; files and counts with their sum."""
        counts = _counts(self.rows)
        if self.output == "content":
            return "\n".join(_ripgrep_lines(self.rows, self.form == "numbered")) or "No matches found"
        if not counts:
            return "No files found" if self.output == "files" else "No matches found"
        if self.output == "files":
            return "\n".join([f"Found {counted(len(counts), 'file')}", *counts])
        found = counted(sum(counts.values()), "total occurrence")
        rows = [f"{path}:{count}" for path, count in counts.items()]
        return "\n".join([*rows, "", f"Found {found} across {counted(len(counts), 'file')}."])

    def __str__(self) -> str:
        return format_rows(self.rows, self.output) or "No matches."


def format_rows(rows: Sequence[GrepRow], output: Output) -> str:
    """Rows by file, `12:` before a match and `12-` before context."""
    if output == "files":
        return "\n".join(dict.fromkeys(row.path for row in rows))
    if output == "count":
        return "\n".join(f"{path}: {count}" for path, count in _counts(rows).items())
    lines: list[str] = []
    for source, group in groupby(rows, key=attrgetter("source")):
        lines += [source, *[f"{row.line}{':' if row.column else '-'}{row.text}" for row in group]]
    return "\n".join(lines)


def _counts(rows: Sequence[GrepRow]) -> Counter[str]:
    return Counter(row.path for row in rows if row.column)


def _ripgrep_lines(rows: Sequence[GrepRow], numbers: bool) -> Iterator[str]:
    around = any(not row.column for row in rows)
    last: GrepRow | None = None
    for row in rows:
        if around and last is not None and (row.path != last.path or row.line > last.line + 1):
            yield "--"
        mark = ":" if row.column else "-"
        yield f"{row.source}{mark}{f'{row.line}{mark}' if numbers else ''}{row.text}"
        last = row


def _matched_parts(rows: Sequence[GrepRow], query: Query, compiled: Compile) -> list[GrepRow]:
    """A row for each match that is not empty, with its text alone."""
    from toolroll.text.edit.replace import Finder

    words, case = query.whole_word, not query.ignore_case
    finder = Finder(query.pattern, regex=not query.literal, case=case, words=words, compiled=compiled)
    lines = [row for row in rows if row.column]
    text = "\n".join([row.text for row in lines])
    found = [(line, column, text[start:end]) for (start, end), (line, column) in finder.places(text)]
    return [replace(lines[line - 1], column=column, text=part.partition("\n")[0]) for line, column, part in found]


def keep_rows(
    found: GrepResult, query: Query, compiled: Compile, files: tuple[str, ...], without: str | None, *, alone: bool
) -> None:
    """Leave out the rows of files that match none of some globs, and lines that another expression matches too.

    `alone`: a row for each match, with its text alone.
    """
    if files:
        matcher = globs.GlobFilter(tuple(map(globs.compile, files)))
        found.rows = [row for row in found.rows if matcher.includes(row.path)]
    if without:
        found.rows = _drop_lines(found.rows, without, query, compiled)
    if files or without:
        found.matches = sum(1 for row in found.rows if row.column)
        found.files = len({row.path for row in found.rows})
    if alone:
        found.rows = _matched_parts(found.rows, query, compiled)


def _drop_lines(rows: Sequence[GrepRow], pattern: str, query: Query, compiled: Compile) -> list[GrepRow]:
    """The rows without matches of an expression, and without context that is left without a match."""
    from toolroll.text.edit.replace import Finder

    finder = Finder(pattern, regex=True, case=not query.ignore_case, words=False, compiled=compiled)
    dropped = {line for _, (line, _) in finder.places("\n".join([row.text for row in rows]))}
    left = [replace(row, column=0) if at in dropped else row for at, row in enumerate(rows, 1)]
    # Lines of one file that follow each other differ from their places in the list by the same number.
    runs = groupby(enumerate(left), lambda one: (one[1].path, one[1].line - one[0]))
    groups = [[row for _, row in run] for _, run in runs]
    return [row for group in groups if any(row.column for row in group) for row in group]


@dataclass(frozen=True, slots=True)
class RowWindow:
    """Which rows are shown, and how: `limit` matches with their context, lines, or files, after those of `offset`."""

    offset: int
    limit: int
    output: Output
    unit: Unit
    numbers: bool

    @property
    def max_matches(self) -> int | None:
        """More than these need not be found."""
        return self.offset + self.limit if self.output == "content" else None

    def select(self, rows: list[GrepRow]) -> list[GrepRow]:
        number, first, last = 0, None if self.offset else 0, None
        for at, row in enumerate(rows):
            number += (row.column > 0 or self.unit == "lines") if self.output == "content" else row.path != last
            last = row.path
            if first is None and number > self.offset:
                first = at
            if number > self.offset + self.limit:
                return rows[first:at]
        return [] if first is None else rows[first:]


def report(found: GrepResult, window: RowWindow, query: Query, scope: Scope, limits: Limits) -> Matches:
    """What a window shows of a search."""
    rows = window.select(found.rows)
    cut = len(rows) < len(found.rows) and found.stopped != "limit"  # a search that had enough has no whole answer
    return Matches(
        rows=rows,
        shown=sum(1 for row in rows if row.column),
        total=found.matches,
        files=found.files,
        output=window.output,
        note=_describe(found, rows, window.output, limits),
        status="success" if found.complete or found.stopped == "limit" else "partial",
        more=None if found.rows else _search_elsewhere(found, query, scope),
        whole=partial(format_rows, names.show_names(found.rows), window.output) if cut else None,
        meta={"truncated": True} if found.stopped == "rows" else {},
        form="numbered" if window.numbers else "bare",
    )


def _describe(found: GrepResult, rows: Sequence[GrepRow], output: Output, limits: Limits) -> str:
    """What is not shown of a search, and why."""
    notes = []
    if found.stopped == "time":
        notes.append("Stopped for want of time: this is a part of the matches. Narrow `path` or `include`.")
    if found.stopped == "rows":
        notes.append(f"Stopped after {limits.search_rows} matches: there are more. Make `pattern` more exact.")
    if len(rows) < len(found.rows):
        of, files = "more than " if found.stopped == "limit" else "", counted(found.files, "file")
        matches = f"{sum(1 for row in rows if row.column)} of {of}{found.matches} matches in {of}{files}"
        shown = matches if output == "content" else f"{len({row.path for row in rows})} of {files}"
        why = " (limit reached)" if not rows or rows[-1] is not found.rows[-1] else ""
        notes.append(f"{shown} shown{why}.")
    if found.survey is not None:
        notes.append(sentence(found.survey.searched, found.survey.skipped, found.survey.elsewhere))
        notes += ["There are matches in other case: set `ignore_case`."] if found.survey.other_case else []
        if found.survey.as_text:
            lines = counted(sum(found.survey.as_text.values()), "line")
            where = list_some(list(map(names.show_name, found.survey.as_text)), _MAX_NAMED)
            notes.append(f"As plain text it is in {lines} of {where}: set `literal`.")
    if found.barred:
        notes.append(f"Left out: {counted(found.barred, 'file')} with matches, of types that are not allowed.")
    if found.failed:
        notes.append(f"Not searched: {list_some(found.failed, _MAX_FAILED)}.")
    return f"({' '.join(notes)})" if notes else ""


def _search_elsewhere(found: GrepResult, query: Query, scope: Scope) -> Suggestion | None:
    """The call that searches for plain text, also in the skipped files with matches, or ignores case."""
    if found.survey is None:
        return None
    if found.survey.as_text:
        return _ask_again(query, scope, literal=True)
    if switches := {kind: True for kind in ("hidden", "ignored") if found.survey.elsewhere.get(kind)}:
        return _ask_again(query, scope, **switches)
    return _ask_again(query, scope, ignore_case=True) if found.survey.other_case else None


@contextmanager
def offering_text(query: Query, scope: Scope) -> Iterator[None]:
    """A refusal of the pattern within it offers to search for it as plain text."""
    try:
        yield
    except ToolError as error:
        if isinstance(error.details, dict) and "invalid" in error.details:
            error.suggest = (_ask_again(query, scope, literal=True),)
        raise


def _ask_again(query: Query, scope: Scope, **switches: bool) -> Suggestion:
    """The same search with other switches, as a call."""
    how = {name: getattr(query, name) for name in ("pattern", "literal", "ignore_case", "multiline", "whole_word")}
    files = {"include": "".join(scope.include), "exclude": "".join(scope.exclude)}
    asked = {**how, "path": scope.path, **files, "hidden": scope.hidden, "ignored": scope.ignored, **switches}
    return Suggestion("grep", {name: value for name, value in asked.items() if value})
