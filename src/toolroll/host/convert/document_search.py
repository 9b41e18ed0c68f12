"""Search the texts of documents: they are written to a folder, which is searched as any other."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from toolroll.host.files.root import Root
from toolroll.host.search.query import DocumentRow, GrepResult, GrepRow, Query, Scope, Survey
from toolroll.host.search.search import find_deadline
from toolroll.result import ErrorCode, ToolError
from toolroll.text import lines, notebook
from toolroll.text.knowledge.passages import name_page
from toolroll.text.names import show_name
from toolroll.text.search.file_types import DOCUMENT_EXTENSION

if TYPE_CHECKING:
    from toolroll.host.convert.converter import Converter
    from toolroll.host.files.workspace import Workspace
    from toolroll.host.runtime.call import Call
    from toolroll.host.runtime.cancellation import CancelToken
    from toolroll.host.search.search import Search

_MAX_DOCUMENTS = 1_000
_GIVEN_UP = (ErrorCode.CANCELLED, ErrorCode.TIMEOUT)


class DocumentSearch:
    """Searches the documents in a scope, and the other files in it by `search`, on behalf of one call."""

    def __init__(
        self, files: Workspace, search: Search, converter: Converter, call: Call, named: Sequence[str]
    ) -> None:
        """`named` are the paths and globs that say which kinds of documents are searched."""
        self._files = files.at(".")
        self._search = search
        self._converter = converter.without_progress()
        self._call = call
        self._extensions = sorted({one.lower() for glob in named for one in DOCUMENT_EXTENSION.findall(glob)})
        self._places: dict[str, list[str]] = {}  # the page of each line, by document
        self._failed: list[str] = []

    def grep(self, query: Query, scope: Scope, *, limit: int | None, token: CancelToken) -> GrepResult:
        """As that of `Search`; lines of a document are counted as `read` shows them."""
        return self._grep(query, scope, limit, token, lenient=False)

    def grep_leniently(self, query: Query, scope: Scope, *, limit: int | None, token: CancelToken) -> GrepResult:
        """As that of `Search`."""
        return self._grep(query, scope, limit, token, lenient=True)

    def _grep(self, query: Query, scope: Scope, limit: int | None, token: CancelToken, *, lenient: bool) -> GrepResult:
        found = GrepResult([], 0, 0, True, None, Survey())
        if DOCUMENT_EXTENSION.search(scope.path) and self._files.tree.is_file(scope.path):
            paths, complete, alone = ["/".join(self._files.key(scope.path))], True, True
        else:
            others = replace(scope, exclude=(*scope.exclude, *(f"*.{one}" for one in self._extensions)))
            found = _ask(self._search, lenient)(query, others, limit=limit, token=token)
            listed = self._search.find("**", scope, token=token)
            ends = tuple(f".{one}" for one in self._extensions)
            every = [one.path for one in listed.entries if one.kind == "file" and one.path.lower().endswith(ends)]
            every = list(filter(self._search.may_read, every))
            paths, complete, alone = every[:_MAX_DOCUMENTS], listed.complete and len(every) <= _MAX_DOCUMENTS, False
        with tempfile.TemporaryDirectory(prefix="toolroll-documents-") as folder:
            complete = self._write_texts(folder, paths, alone) and complete
            with closing(Root(folder)) as root:
                search, _ = self._search.of(root, ".")
                more = _ask(search, lenient)(query, Scope(hidden=True, ignored=True), token=token)
        self._add(found, more, complete)
        return found

    def _write_texts(self, folder: str, paths: list[str], alone: bool) -> bool:
        """Write the text of each document to a file, whose name is its number; returns whether the time sufficed."""
        deadline = find_deadline(self._call.token)
        for done, path in enumerate(paths):
            if done and time.monotonic() > deadline:
                return False
            self._call.progress(done, len(paths), path)
            try:
                text, places = self._read(path)
            except ToolError as error:
                if alone or error.code in _GIVEN_UP:
                    raise
                self._failed.append(show_name(error.message.partition(". ")[0].rstrip(".")))
                continue
            with open(os.path.join(folder, f"{len(self._places):06}"), "w", encoding="utf-8") as file:
                file.write(text)
            self._places[path] = places
        return True

    def _add(self, found: GrepResult, more: GrepResult, complete: bool) -> None:
        """Add what was found in the texts to what was found in other files."""
        names = list(self._places)
        found.rows = [self._cite(row, names[int(row.path)]) for row in sorted(more.rows, key=_by_path)] + found.rows
        found.matches += more.matches
        found.files += more.files
        found.complete = found.complete and more.complete and complete
        found.stopped = found.stopped or more.stopped or (None if complete else "time")
        found.failed = self._failed
        if found.rows and found.complete:
            found.survey = None
        elif found.survey is not None:
            found.survey.searched += len(names)
            found.survey.other_case |= more.survey is not None and more.survey.other_case

    def _cite(self, row: GrepRow, path: str) -> GrepRow:
        places = self._places[path]
        return DocumentRow(
            path, row.line, row.column, row.text, places[row.line - 1] if row.line <= len(places) else ""
        )

    def _read(self, path: str) -> tuple[str, list[str]]:
        """The text of a document, and the page of each line."""
        if path.lower().endswith(".ipynb"):
            cells = notebook.cells(self._files.peek(path).text)
            counts = [cell.count("\n") + 1 for cell in cells]  # with the blank line after it
            names = [name_page("notebook", number, "") for number in range(1, len(cells) + 1)]
            return "\n".join(cells), [name for name, count in zip(names, counts, strict=True) for _ in range(count)]
        found = self._converter.read(self._files, path)
        if found is not None:
            return found.text, found.places
        text = self._files.peek(path).text  # it only has the name of a document
        return text, [""] * len(lines.split_bare(text))


def _ask(search: Search, lenient: bool) -> Callable[..., GrepResult]:
    return search.grep_leniently if lenient else search.grep


def _by_path(row: GrepRow) -> str:
    return row.path
