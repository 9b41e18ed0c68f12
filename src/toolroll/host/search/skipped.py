"""What an empty or cut answer did not show: how much was looked at, what was passed over and why."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from toolroll.host.files.walk import Kind, Walk, enter
from toolroll.host.search import list_files as listing
from toolroll.host.search.in_process import FEW, Glance, glance, text
from toolroll.host.search.query import Engine, Ground, Query, Scope, Survey, is_hidden
from toolroll.host.search.text_files import is_text

if TYPE_CHECKING:
    from toolroll.host.search.index.live import Sight
    from toolroll.host.search.ripgrep import Ripgrep

SECONDS = 2.0
"""What a survey may take on top of the search itself."""

_MOST_NAMED = 2_000  # files and folders


def of_contents(engine: Engine, ground: Ground, query: Query, scope: Scope, max_bytes: int) -> Survey:
    """The survey of a content search. An engine lists no binary file unless it is asked to."""
    survey, binary = Survey(), 0
    try:
        before = ground.unreadable
        inside = {""} if ground.is_file else set(listing.names(ground, scope))
        _tell_closed(survey, ground.unreadable - before)
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
                    survey.searched += 1
                    binary += count
        for path in left:
            _add(survey, "too big" if _size(ground, path) > max_bytes else "unreadable", 0)
    except TimeoutError:
        survey.complete = False
    if binary:
        survey.elsewhere["binary"] = binary
    return survey


def of_search(
    engine: Engine, ground: Ground, query: Query, scope: Scope, sight: Sight | None, max_bytes: int
) -> Survey:
    """The same in the quickest way that there is after a search, which may have told what it passed over."""
    if engine.name == "ripgrep" and not ground.unreadable:
        ripgrep = cast("Ripgrep", engine)
        known = _known(ripgrep, ground, query, sight)
        found = None if known is None else of_known(ripgrep, ground, query, scope, known, max_bytes)
        if found is not None:
            return found
    return of_contents(engine, ground, query, scope, max_bytes)


def _known(engine: Ripgrep, ground: Ground, query: Query, sight: Sight | None) -> Sight | None:
    """What is known after a search of that which it passed over."""
    if sight is None or not (sight.narrowed or sight.few):
        return _told(engine, ground, query)
    if sight.narrowed:
        return sight
    from toolroll.host.search.index import small_tree as few

    return few.passed(sight)


def _told(engine: Ripgrep, ground: Ground, query: Query) -> Sight | None:
    if not ground.log or not engine.tells(ground):
        return None
    from toolroll.host.search.index.live import Sight
    from toolroll.host.search.told import told

    found = told(ground.log, ground)
    if found is None:
        return None
    big = ground.passed["too big"]
    return Sight([], True, found.binary, ground.searched - big, found.big + big, found.left, glance=glance(query))


def of_known(
    engine: Ripgrep, ground: Ground, query: Query, scope: Scope, sight: Sight, max_bytes: int
) -> Survey | None:
    """The same from what is known of the tree, in little time; None if too much of it is hidden or ignored."""
    survey = Survey(sight.searched, {"too big": sight.big} if sight.big else {})
    if scope.skip or scope.depth is not None or max(len(sight.left), len(sight.binary)) > _MOST_NAMED:
        return None
    look = _Look(ground, scope, sight.glance, max_bytes)
    try:
        for path, count in look.into([one for one in sight.left if one[1] != "link"]):
            _add(survey, _reason(path), count)
        if look.left:
            for path, count in engine.counts(ground, query, wide(scope), only=look.left):
                _add(survey, _reason(path), count)
        matches = ground.binary + look.in_binaries(sight.binary)
        if look.left:
            matches += sum(count for _, count in engine.counts(ground, query, scope, binary=True, only=look.left))
        if matches:
            survey.elsewhere["binary"] = matches
    except TimeoutError:
        survey.complete = False
    return survey


class _Look:
    """Looks into files and folders that were passed over, here as far as they are few."""

    def __init__(self, ground: Ground, scope: Scope, look: Glance | None, max_bytes: int) -> None:
        self._ground = ground
        self._wanted = scope.filter()
        self._glance = look
        self._most = max_bytes
        self.left: list[str] = []
        """What is left to ripgrep of that which was asked for last."""

    def into(self, named: Iterable[tuple[str, Kind]]) -> Iterator[tuple[str, int]]:
        """The text files among these and in these folders, with their numbers of matching lines."""
        self.left = []
        for path, kind in named:
            inner = self._inside(path) if kind == "directory" else [path]
            if inner is None:
                self.left.append(path)
                continue
            for one in filter(self._wanted.wants, inner):
                data = None if self._glance is None else text(self._ground, one, self._most)
                count = None if self._glance is None or data is None else self._glance.count(data)
                if data is None or count is None:
                    self.left += [one] if is_text(self._ground, one, self._most) else []
                elif b"\0" not in data:
                    yield one, count

    def in_binaries(self, paths: Sequence[str]) -> int:
        """The matching lines of these files."""
        self.left, matches = [], 0
        for path in paths:
            data = None if self._glance is None or len(paths) > FEW else text(self._ground, path, self._most)
            count = None if self._glance is None or data is None else self._glance.count(data)
            if count is None:
                self.left.append(path)
            else:
                matches += count
        return matches

    def _inside(self, path: str) -> list[str] | None:
        """The files in a folder; None if they are too many to be looked at here, or it cannot be entered."""
        found: list[str] = []
        try:
            fd = enter(self._ground.fd, f"{path}/")
        except OSError:
            return None
        try:
            for seen in Walk(fd, hidden=True, ignored=True):
                self._ground.check()
                if len(found) == FEW or self._glance is None:
                    return None
                if seen.kind == "file":
                    found.append(f"{path}/{seen.path}")
        finally:
            os.close(fd)
        return found


def of_names(
    names: Callable[[Scope], Iterable[str]], matches: Callable[[str], bool], scope: Scope, closed: int
) -> Survey:
    """The survey of a search for names; `names` gives all that are in a scope, and `closed` folders cannot be read."""
    survey = Survey()
    _tell_closed(survey, closed)
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
    return "hidden" if is_hidden(path) else "ignored"


def _add(survey: Survey, reason: str, matches: int) -> None:
    survey.skipped[reason] = survey.skipped.get(reason, 0) + 1
    if matches:
        survey.elsewhere[reason] = survey.elsewhere.get(reason, 0) + matches


def _tell_closed(survey: Survey, folders: int) -> None:
    if folders:
        survey.skipped["unreadable folders"] = folders


def _size(ground: Ground, path: str) -> int:
    try:
        return os.stat(path, dir_fd=ground.fd, follow_symlinks=False).st_size
    except OSError:
        return 0
