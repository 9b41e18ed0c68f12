"""What an empty or cut answer did not show: how much was looked at, what was passed over and why."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from toolroll.host.query import Engine, Ground, Query, Scope, Survey

if TYPE_CHECKING:
    from toolroll.host.index.warm import Sight
    from toolroll.host.ripgrep import Ripgrep

SECONDS = 2.0
"""What a survey may take on top of the search itself."""

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_MOST_NAMED = 2_000  # files and folders


def of_contents(engine: Engine, ground: Ground, query: Query, scope: Scope, max_bytes: int) -> Survey:
    """The survey of a content search. An engine lists no binary file unless it is asked to."""
    survey = Survey()
    try:
        inside = set(engine.files(ground, scope))
        left = set(inside)
        for path, count in engine.counts(ground, query, wide(scope)):
            if path in inside:
                left.discard(path)
                survey.searched += 1
            else:
                _add(survey, _reason(path), count)
        small = [path for path in left if _size(ground, path) <= max_bytes]
        if small:
            only = small if len(small) <= _MOST_NAMED and not ground.is_file else None
            for path, count in engine.counts(ground, query, scope, binary=True, only=only):
                if path in left:
                    left.discard(path)
                    _add(survey, "binary", count)
        for path in left:
            _add(survey, "too big" if _size(ground, path) > max_bytes else "unreadable", 0)
    except TimeoutError:
        survey.complete = False
    return survey


def of_known(
    engine: Ripgrep, ground: Ground, query: Query, scope: Scope, sight: Sight, max_bytes: int
) -> Survey | None:
    """The same from what is known of the tree, in little time; None if too much of it is hidden or ignored."""
    counts = {"binary": sight.binaries, "too big": sight.big}
    survey = Survey(sight.text, {reason: count for reason, count in counts.items() if count})
    wanted = scope.filter()
    left = [(path, kind) for path, kind in sight.left if kind == "directory" or (kind == "file" and wanted.wants(path))]
    if scope.skip or scope.depth is not None or max(len(left), len(sight.binary)) > _MOST_NAMED:
        return None
    named = [path for path, kind in left if kind == "directory" or is_text(ground, path, max_bytes)]
    try:
        if named:
            for path, count in engine.counts(ground, query, wide(scope), only=named):
                _add(survey, _reason(path), count)
        if sight.binary:
            found = engine.counts(ground, query, scope, binary=True, only=sight.binary)
            if matches := sum(count for _, count in found):
                survey.elsewhere["binary"] = matches
    except TimeoutError:
        survey.complete = False
    return survey


def of_names(names: Callable[[Scope], Iterable[str]], matches: Callable[[str], bool], scope: Scope) -> Survey:
    """The survey of a search for names; `names` gives all that there are in a scope."""
    survey = Survey()
    try:
        inside = set(names(scope))
        survey.searched = len(inside)
        for path in names(wide(scope)):
            if path not in inside:
                _add(survey, _reason(path), int(matches(path)))
    except TimeoutError:
        survey.complete = False
    return survey


def wide(scope: Scope) -> Scope:
    """The same place with nothing kept out but what the caller excluded."""
    return replace(scope, hidden=True, ignored=True, skip=())


def _reason(path: str) -> str:
    return "hidden" if path.startswith(".") or "/." in path else "ignored"


def _add(survey: Survey, reason: str, matches: int) -> None:
    survey.skipped[reason] = survey.skipped.get(reason, 0) + 1
    if matches:
        survey.elsewhere[reason] = survey.elsewhere.get(reason, 0) + matches


def is_text(ground: Ground, path: str, max_bytes: int) -> bool:
    """Whether a file can be searched. It is told here, for ripgrep takes what is named for text."""
    from toolroll.host.index.build import is_binary

    try:
        fd = os.open(path, _OPEN, dir_fd=ground.fd)
    except OSError:
        return False
    try:
        return os.fstat(fd).st_size <= max_bytes and not is_binary(fd)
    except OSError:
        return False
    finally:
        os.close(fd)


def _size(ground: Ground, path: str) -> int:
    try:
        return os.stat(path, dir_fd=ground.fd, follow_symlinks=False).st_size
    except OSError:
        return 0
