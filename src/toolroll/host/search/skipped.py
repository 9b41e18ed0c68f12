"""Report what an empty or cut answer did not show: how much was searched, what was skipped and why."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, cast

from toolroll.host.files.walk import Kind, Walk, enter
from toolroll.host.search.in_process import MAX_FILES, LineMatcher, is_text, read_text
from toolroll.host.search.list_files import list_paths
from toolroll.host.search.query import CountingEngine, Query, Scope, SearchRoot, SkippedFiles, Survey, is_hidden
from toolroll.text.search.file_types import TEXT_DOCUMENTS
from toolroll.text.search.skipped import DOCUMENT

if TYPE_CHECKING:
    from toolroll.host.search.ripgrep import Ripgrep

SECONDS = 2.0
"""What a report may take on top of the search itself."""

_MAX_NAMED = 2_000  # files and folders
_MAX_NEAR = 5


def report_grep(
    engine: CountingEngine,
    root: SearchRoot,
    query: Query,
    scope: Scope,
    matcher: LineMatcher | None,
    skipped: SkippedFiles | None,
    max_bytes: int,
) -> Survey:
    """The report of a content search: by the `skipped` files if they are known, or by a search."""
    if engine.name == "ripgrep" and not root.unreadable and skipped is not None:
        report = _report_known(cast("Ripgrep", engine), root, query, scope, matcher, skipped, max_bytes)
        if report is not None:
            return report
    return _report_by_search(engine, root, query, scope, max_bytes)


def _report_by_search(engine: CountingEngine, root: SearchRoot, query: Query, scope: Scope, max_bytes: int) -> Survey:
    """Search once more in all files, hidden and ignored ones too, and then in binary files."""
    survey, binary = Survey(), 0
    try:
        before = root.unreadable
        inside = {""} if root.is_file else set(list_paths(root, scope))
        _note_unreadable(survey, root.unreadable - before)
        left = set(inside)
        for path, count in engine.counts(root, query, wide(scope)):
            if path in inside:
                left.discard(path)
                survey.searched += 1
            else:
                _add(survey, _reason(path), count)
        small = [path for path in left if _size(root, path) <= max_bytes]
        if small:
            only = small if len(small) <= _MAX_NAMED and not root.is_file else None
            for path, count in engine.counts(root, query, scope, binary=True, only=only):
                if path in left:
                    left.discard(path)
                    survey.searched += 1
                    _set_aside_documents(survey, [path])
                    binary += count
        for path in left:
            _add(survey, "too big" if _size(root, path) > max_bytes else "unreadable", 0)
    except TimeoutError:
        survey.complete = False
    if binary:
        survey.elsewhere["binary"] = binary
    return survey


def _report_known(
    engine: Ripgrep,
    root: SearchRoot,
    query: Query,
    scope: Scope,
    matcher: LineMatcher | None,
    skipped: SkippedFiles,
    max_bytes: int,
) -> Survey | None:
    """Search only the skipped files; None if there are too many."""
    survey = Survey(skipped.searched, {"too big": skipped.too_big} if skipped.too_big else {})
    _set_aside_documents(survey, skipped.binary)
    if scope.skip or scope.depth is not None or max(len(skipped.left_out), len(skipped.binary)) > _MAX_NAMED:
        return None
    counter = _Counter(root, scope, matcher, max_bytes)
    try:
        for path, count in counter.count_text([one for one in skipped.left_out if one[1] != "link"]):
            _add(survey, _reason(path), count)
        if counter.left:
            for path, count in engine.counts(root, query, wide(scope), only=counter.left):
                _add(survey, _reason(path), count)
        matches = counter.count_binary(skipped.binary)
        if counter.left:
            matches += sum(count for _, count in engine.counts(root, query, scope, binary=True, only=counter.left))
        if matches:
            survey.elsewhere["binary"] = matches
    except TimeoutError:
        survey.complete = False
    return survey


class _Counter:
    """Counts matches in skipped files, as far as they are few and simple."""

    def __init__(self, root: SearchRoot, scope: Scope, matcher: LineMatcher | None, max_bytes: int) -> None:
        self._root = root
        self._wanted = scope.filter()
        self._matcher = matcher
        self._max_bytes = max_bytes
        self.left: list[str] = []
        """Files and folders of the last count that are left to ripgrep."""

    def count_text(self, entries: Iterable[tuple[str, Kind]]) -> Iterator[tuple[str, int]]:
        """The text files among these entries and in these folders, with their numbers of matching lines."""
        self.left = []
        for path, kind in entries:
            inner = self._inside(path) if kind == "directory" else [path]
            if inner is None:
                self.left.append(path)
                continue
            for one in filter(self._wanted.wants, inner):
                data, count = self._count(one)
                if data is None or count is None:
                    self.left += [one] if is_text(self._root, one, self._max_bytes) else []
                elif b"\0" not in data:
                    yield one, count

    def count_binary(self, paths: Sequence[str]) -> int:
        """The matching lines of these files."""
        self.left, matches = [], 0
        for path in paths:
            count = self._count(path)[1] if len(paths) <= MAX_FILES else None
            if count is None:
                self.left.append(path)
            else:
                matches += count
        return matches

    def _count(self, path: str) -> tuple[bytes | None, int | None]:
        """The content of a file and its number of matching lines; None if ripgrep must count them."""
        data = None if self._matcher is None else read_text(self._root, path, self._max_bytes)
        return data, None if self._matcher is None or data is None else self._matcher.count(data)

    def _inside(self, path: str) -> list[str] | None:
        """The files in a folder; None if there are too many, or it cannot be entered."""
        found: list[str] = []
        try:
            fd = enter(self._root.fd, f"{path}/")
        except OSError:
            return None
        try:
            for seen in Walk(fd, hidden=True, ignored=True):
                self._root.check()
                if len(found) == MAX_FILES or self._matcher is None:
                    return None
                if seen.kind == "file":
                    found.append(f"{path}/{seen.path}")
        finally:
            os.close(fd)
        return found


def report_find(
    names: Callable[[Scope], Iterable[str]],
    matches: Callable[[str], bool],
    is_near: Callable[[str], bool],
    scope: Scope,
    unreadable: int,
) -> Survey:
    """The report of a search for names; `names` lists all in a scope, and `unreadable` counts folders.

    If nothing matches, it names some that are near.
    """
    survey = Survey()
    _note_unreadable(survey, unreadable)
    try:
        inside = set(names(scope))
        survey.searched = len(inside)
        folders = {path[: at + 1] for path in inside for at, char in enumerate(path) if char == "/"}
        every = sorted([*inside, *folders])
        survey.near = list(islice((path for path in every if is_near(path.removesuffix("/"))), _MAX_NEAR))
        for path in names(wide(scope)):
            if path not in inside:
                _add(survey, _reason(path), int(matches(path)))
    except TimeoutError:
        survey.complete = False
    return survey


def wide(scope: Scope) -> Scope:
    """The same scope with hidden and ignored files."""
    return replace(scope, hidden=True, ignored=True, skip=())


def _reason(path: str) -> str:
    return "hidden" if is_hidden(path) else "ignored"


def _add(survey: Survey, reason: str, matches: int) -> None:
    survey.skipped[reason] = survey.skipped.get(reason, 0) + 1
    if matches:
        survey.elsewhere[reason] = survey.elsewhere.get(reason, 0) + matches


def _set_aside_documents(survey: Survey, binary: Sequence[str]) -> None:
    """Take documents among the binary files out of those that were searched."""
    documents = sum(path.lower().endswith(TEXT_DOCUMENTS) for path in binary)
    if documents:
        survey.searched -= documents
        survey.skipped[DOCUMENT] = survey.skipped.get(DOCUMENT, 0) + documents


def _note_unreadable(survey: Survey, folders: int) -> None:
    if folders:
        survey.skipped["unreadable folders"] = folders


def _size(root: SearchRoot, path: str) -> int:
    about = root.stat(path)
    return 0 if about is None else about.st_size
