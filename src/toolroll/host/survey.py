"""What an empty or cut answer did not show: how much was looked at, what was passed over and why."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace

from toolroll.host.query import Engine, Ground, Query, Scope, Survey

SECONDS = 2.0
"""What a survey may take on top of the search itself."""


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
        if left:
            for path, count in engine.counts(ground, query, scope, binary=True):
                if path in left:
                    left.discard(path)
                    _add(survey, "binary", count)
        for path in left:
            _add(survey, "too big" if _size(ground, path) > max_bytes else "unreadable", 0)
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


def _size(ground: Ground, path: str) -> int:
    try:
        return os.stat(path, dir_fd=ground.fd, follow_symlinks=False).st_size
    except OSError:
        return 0
