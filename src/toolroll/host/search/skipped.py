"""Report what an empty or cut answer did not show: how much was searched, what was skipped and why."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice

from toolroll.host.search.file_kind import is_binary
from toolroll.host.search.list_files import list_paths
from toolroll.host.search.query import CountingEngine, Query, Scope, SearchRoot, Survey, is_hidden
from toolroll.text.search import patterns
from toolroll.text.search.file_types import TEXT_DOCUMENTS
from toolroll.text.search.skipped import DOCUMENT

SECONDS = 2.0
"""What a report may take on top of the search itself."""

_MAX_NAMED = 2_000  # files and folders
_MAX_NEAR = 5


def report_grep(
    engine: CountingEngine,
    root: SearchRoot,
    query: Query,
    scope: Scope,
    max_bytes: int,
    *,
    is_empty: bool,
    may_read: Callable[[str], bool],
) -> Survey:
    """The report of a content search, by one scan of all files: hidden, ignored and binary ones too.

    If the answer `is_empty`, the scan ignores case, and the few files that it names are looked at once more.
    """
    survey = Survey()
    try:
        before = root.unreadable
        inside = {""} if root.is_file else set(list_paths(root, scope))
        _note_unreadable(survey, root.unreadable - before)
        counts = _count_everywhere(engine, root, replace(query, ignore_case=True) if is_empty else query, scope)
        left, matched = _note_scanned(survey, root, counts, inside)
        exact = matched if query.ignore_case or not is_empty else _count_again(engine, root, query, scope, matched)
        for path, count in exact.items():
            kind = "binary" if _is_binary(root, path) else "" if path in inside else _reason(path)
            if kind and (path in inside or kind != "binary"):
                survey.elsewhere[kind] = survey.elsewhere.get(kind, 0) + count
        others = (path for path in matched.keys() & inside - exact.keys() if may_read(root.shown(path)))
        survey.other_case = is_empty and any(not _is_binary(root, path) for path in others)
        if is_empty and not query.literal and patterns.may_be_text(query.pattern):
            plain = engine.counts(root, replace(query, literal=True), scope)
            shown = ((root.shown(path), count) for path, count in plain if count)
            survey.as_text = {path: count for path, count in shown if may_read(path)}
        for path in left:
            _add(survey, "too big" if _size(root, path) > max_bytes else "unreadable", 0)
    except TimeoutError:
        survey.complete = False
    return survey


def _count_everywhere(
    engine: CountingEngine, root: SearchRoot, query: Query, scope: Scope
) -> Iterator[tuple[str, int]]:
    return engine.counts(root, query, wide(scope), binary=True)


def _note_scanned(
    survey: Survey, root: SearchRoot, counts: Iterable[tuple[str, int]], inside: set[str]
) -> tuple[set[str], dict[str, int]]:
    """Note the files that were scanned; returns those in scope that were not, and the matching lines of each file."""
    left, matched = set(inside), dict[str, int]()
    for path, count in counts:
        if count:
            matched[path] = count
        if path not in inside:
            _add(survey, _reason(path), 0)
            continue
        left.discard(path)
        is_document = path.lower().endswith(TEXT_DOCUMENTS) and _is_binary(root, path)
        if is_document:
            _add(survey, DOCUMENT, 0)
        else:
            survey.searched += 1
    return left, matched


def _count_again(
    engine: CountingEngine, root: SearchRoot, query: Query, scope: Scope, paths: Iterable[str]
) -> dict[str, int]:
    """The matching lines of these files alone."""
    asked = list(paths)
    if not asked:
        return {}
    if root.is_file or len(asked) > _MAX_NAMED:
        known = set(asked)
        return {path: count for path, count in _count_everywhere(engine, root, query, scope) if count and path in known}
    return {path: count for path, count in engine.counts(root, query, scope, binary=True, only=asked) if count}


def _is_binary(root: SearchRoot, path: str) -> bool:
    if root.is_file:
        return is_binary(root.fd)
    try:
        fd = root.open(path)
    except OSError:
        return False
    try:
        return is_binary(fd)
    except OSError:
        return False
    finally:
        os.close(fd)


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


def _note_unreadable(survey: Survey, folders: int) -> None:
    if folders:
        survey.skipped["unreadable folders"] = folders


def _size(root: SearchRoot, path: str) -> int:
    about = root.stat(path)
    return 0 if about is None else about.st_size
