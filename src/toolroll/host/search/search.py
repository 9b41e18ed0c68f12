"""Search in the workspace, for lines (`grep`) and for names (`find`): by ripgrep, or in Python without it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from toolroll.host.files import ignore
from toolroll.host.runtime.launcher import AccessRules, folder_path
from toolroll.host.search import list_files as listing
from toolroll.host.search import skipped as survey
from toolroll.host.search.grep import collected
from toolroll.host.search.hits import all_shown, shown
from toolroll.host.search.ordering import about, by_age, ordered
from toolroll.host.search.query import (
    Engine,
    Entry,
    Found,
    Ground,
    Listing,
    Query,
    Row,
    Scope,
    Sort,
    Stopped,
    Survey,
)
from toolroll.policy import paths
from toolroll.policy.effects import Effect
from toolroll.policy.limits import Limits
from toolroll.policy.rules import Policy, has_paths, judge_path
from toolroll.result import ErrorCode, ToolError
from toolroll.text.search import globs

if TYPE_CHECKING:
    from toolroll.host.files.root import Root
    from toolroll.host.runtime.cancellation import Token
    from toolroll.host.runtime.launcher import Launcher
    from toolroll.host.runtime.state import State
    from toolroll.host.search.index.live import First, Sight, Warm
    from toolroll.text.edit.replace import Expression

__all__ = ["Entry", "Found", "Listing", "Query", "Row", "Scope", "Search", "Survey"]

Wanted = Literal["file", "directory", "both"]

_EVERYWHERE = Scope()
_SHARE = 0.8  # of the time that the call has left, so that it can still answer with what was found
_LESS = 0.5  # the same for what comes after the search


class Search:
    """Searches beneath one root. Several threads may use it at a time."""

    def __init__(
        self,
        root: Root,
        *,
        limits: Limits,
        policy: Policy | None = None,
        launcher: Launcher,
        program: str | None = "auto",
        state: State | None = None,
    ) -> None:
        """`program` is the path of ripgrep; "auto" lets the launcher look for it, None does without.

        With `state`, the tree is remembered between searches and an index is kept there, and `close` is to be called.
        """
        self._root = root
        self._limits = limits
        self._launcher = launcher
        self.warm = None if state is None else _warm(root, state, limits, launcher)
        limiting = policy is not None and (has_paths(policy) or policy.extensions is not None)
        self._policy = policy if limiting else None
        self._program = program
        self._large: set[tuple[str, ...]] = set()

    def on(self, root: Root) -> Search:
        """The same search beneath another root."""
        if root is self._root:
            return self
        return Search(root, limits=self._limits, launcher=self._launcher, program=self._program)

    @cached_property
    def engine(self) -> Engine:
        """The engine that does the work."""
        if self._ripgrep is None or self._root.trust.hides:  # it opens by name, so it could be led to what is hidden
            from toolroll.host.search.python_engine import Scan

            return Scan(self._limits)
        from toolroll.host.search.ripgrep import Ripgrep

        reach = AccessRules((), (folder_path(self._root.fd),), system=False)
        return Ripgrep(self._ripgrep, self._limits, self._launcher, reach)

    @cached_property
    def _ripgrep(self) -> str | None:
        return self._launcher.find("rg") if self._program == "auto" else self._program

    def expression(self, source: str, case: bool, token: Token | None = None) -> Expression:
        """A regular expression to be looked for in texts."""
        from toolroll.host.search.regex_by_ripgrep import compiled

        return compiled(source, case, self._ripgrep, self._launcher, token)

    def close(self) -> None:
        """End what works beside the searches."""
        if self.warm is not None:
            self.warm.close()

    def grep(
        self,
        query: Query,
        scope: Scope = _EVERYWHERE,
        *,
        sort: Literal["modified", "path"] = "modified",
        limit: int | None = None,
        token: Token | None = None,
    ) -> Found:
        """The lines that match, newest file first or by path. At a limit: those found so far.

        Who needs no more than the `limit` newest matches may get little more than those, if that is quicker.
        """
        scope = self._checked(scope)
        with self._ground(scope, token) as ground:
            scope = self._shown(scope, ground)
            sight = self._sight(ground, query, scope)
            few = limit if sort == "modified" and self._policy is None else None  # some may have to go
            hits, stopped = collected(self.engine, self._limits, ground, query, scope, sight, few)
            if self._policy is not None:
                hits = {path: found for path, found in hits.items() if self._may_read(found[0].path)}
            rows = [row for path in by_age(ground, hits, sort) for row in hits[path]]
            asks = not rows or stopped == "time" or (stopped == "rows" and limit is None)
            return Found(
                rows=rows,
                matches=sum([row.column > 0 for row in rows]),
                files=len(hits),
                complete=stopped is None,
                stopped=stopped,
                survey=self._of_contents(ground, query, scope, sight) if asks else None,
                engine=self.engine.name,
                unreadable=ground.unreadable,
            )

    def grep_leniently(
        self, query: Query, scope: Scope = _EVERYWHERE, *, limit: int | None = None, token: Token | None = None
    ) -> Found:
        """As `grep`, but a pattern that is no regular expression is looked for as plain text; the error if in vain."""
        try:
            return self.grep(query, scope, limit=limit, token=token)
        except ToolError as error:
            if error.code != ErrorCode.VALIDATION or query.literal:
                raise
            found = self.grep(replace(query, literal=True), scope, limit=limit, token=token)
            if not found.rows:
                raise
            return found

    def survey(self, query: Query, scope: Scope = _EVERYWHERE, *, token: Token | None = None) -> Survey:
        """What a `grep` for this does not show. It makes one itself when its answer is empty or cut."""
        scope = self._checked(scope)
        with self._ground(scope, token) as ground:
            scope = self._shown(scope, ground)
            return self._of_contents(ground, query, scope, self._sight(ground, query, scope))

    def find(
        self,
        pattern: str,
        scope: Scope = _EVERYWHERE,
        *,
        kind: Wanted = "file",
        sort: Sort = "modified",
        limit: int | None = None,
        token: Token | None = None,
    ) -> Listing:
        """The files or folders whose name or path matches. The order is exact, also if not all are listed.

        Who needs no more than the first `limit` entries may get the rest by their paths alone, if that is quicker.
        """
        with self._ground(scope, token, folder=True) as ground:
            pattern = self._relative(pattern, ground)
            matcher = globs.compile(pattern)
            scope = self._shown(self._checked(replace(scope, hidden=scope.hidden or matcher.names_dot)), ground)
            most = self._limits.search_rows
            first = limit if sort == "modified" else None
            entries, total, whole, stopped = self._listed(ground, scope, kind, matcher, first)
            if kind != "file" or sort != "modified":  # else they are in order
                entries = ordered(entries, sort)
            stopped = stopped or ("rows" if total > most else None)
            return Listing(
                entries=list(entries[:most]),
                whole=whole,
                total=total,
                complete=stopped is None,
                stopped=stopped,
                survey=self._of_names(ground, scope, kind, matcher) if stopped == "time" or not entries else None,
                engine=self.engine.name,
                unreadable=ground.unreadable,
            )

    def _listed(
        self, ground: Ground, scope: Scope, kind: Wanted, matcher: globs.Matcher, first: int | None
    ) -> tuple[Sequence[Entry], int, str, Stopped | None]:
        """The first entries, the newest if not all are asked for; how many there are; the paths of all if these are
        fewer, a line each; what made it stop early.
        """
        if kind != "file":
            entries, stopped = self._matching(ground, scope, kind, matcher)
            return entries, len(entries), "", stopped
        if (known := self._known(first, ground, scope, matcher)) is not None:
            return *known, None
        aged, whole = listing.newest(ground, scope, matcher)
        entries = [Entry(shown(ground, path), "file", size, -age) for age, path, size in aged[:first]]
        most = 0 if len(entries) == len(aged) else self._limits.search_rows
        return entries, len(aged), all_shown(ground, [one[1] for one in aged[:most]]), None if whole else "time"

    def _may_read(self, path: str) -> bool:
        policy = self._policy
        suffix = os.path.splitext(path)[1].lower()
        if policy is not None and suffix and suffix not in (policy.extensions or (suffix,)):
            return False
        return policy is None or judge_path(path.split("/"), Effect.READ, policy).decision != "deny"

    def _sight(self, ground: Ground, query: Query, scope: Scope) -> Sight | None:
        """What is known beforehand; nothing of a single file."""
        if ground.is_file or self.warm is None or self.engine.name != "ripgrep":
            return None
        sight = self.warm.sight(query, scope, ground.parts)
        self.warm.searched()
        return self._few(ground, query, scope) if sight is None else sight

    def _few(self, ground: Ground, query: Query, scope: Scope) -> Sight | None:
        """The same of a folder with few files, though nothing is known of it."""
        from toolroll.host.search.in_process import glance
        from toolroll.host.search.index import small_tree as few

        if ground.parts in self._large or (look := glance(query)) is None:
            return None
        found = few.sight(ground, look, scope, self._limits.search_bytes)
        if found is None:
            self._large.add(ground.parts)  # it is never wrong to have ripgrep search it
        return found

    def _matching(
        self, ground: Ground, scope: Scope, kind: Wanted, matcher: globs.Matcher
    ) -> tuple[list[Entry], Stopped | None]:
        entries: list[Entry] = []
        try:
            for seen in ground.walk(scope):
                if kind in ("both", seen.kind) and matcher.matches(seen.path) and (found := about(ground, seen.path)):
                    entries.append(Entry(shown(ground, seen.path), seen.kind, found.st_size, found.st_mtime_ns))
        except TimeoutError:
            return entries, "time"
        return entries, None

    def _known(self, first: int | None, ground: Ground, scope: Scope, matcher: globs.Matcher) -> First | None:
        """The same, if the tree is known."""
        if self.warm is None:
            return None
        found = self.warm.first(first, self._limits.search_rows, scope, ground.parts, matcher)
        self.warm.searched()
        return found

    def _of_contents(self, ground: Ground, query: Query, scope: Scope, sight: Sight | None) -> Survey:
        soon = replace(ground, deadline=_deadline(survey.SECONDS, ground.token, _LESS))
        return survey.of_search(self.engine, soon, query, scope, sight, self._limits.search_bytes)

    def _of_names(self, ground: Ground, scope: Scope, kind: Wanted, matcher: globs.Matcher) -> Survey:
        soon = replace(ground, deadline=_deadline(survey.SECONDS, ground.token, _LESS))

        def names(where: Scope) -> Iterator[str]:
            if kind == "file":
                return listing.names(soon, where)
            return (seen.path for seen in soon.walk(where) if kind in ("both", seen.kind))

        return survey.of_names(names, matcher.matches, scope, ground.unreadable)

    @contextmanager
    def _ground(self, scope: Scope, token: Token | None, *, folder: bool = False) -> Iterator[Ground]:
        is_file = False
        try:
            fd = self._root.folder(scope.path)
        except NotADirectoryError:
            if folder:
                raise
            fd, is_file = self._root.file(scope.path), True
        try:
            yield Ground(
                fd=fd,
                folder=self._root.fd if is_file else fd,
                parts=(parts := self._parts(fd, scope.path, is_file)),
                is_file=is_file,
                rules=[] if is_file or scope.ignored else ignore.inherited_rules(self._root, parts),
                token=token,
                deadline=_deadline(self._limits.search_seconds, token),
                opener=self._root.opener,
            )
        finally:
            os.close(fd)

    def _parts(self, fd: int, path: str, is_file: bool) -> tuple[str, ...]:
        if not is_file:
            return self._root.real(fd)
        with self._root.place(path) as place:
            return place.parts

    def _checked(self, scope: Scope) -> Scope:
        """The scope, with hidden files if a pattern names some; no pattern leads out of the workspace."""
        for text in (*scope.include, *scope.exclude):
            if globs.escapes(text.lstrip("/")):
                raise paths.outside(text, self._root.path)
        dot = any(globs.compile(text).names_dot for text in scope.include)
        return replace(scope, hidden=True) if dot else scope

    def _shown(self, scope: Scope, ground: Ground) -> Scope:
        """The scope without what is hidden in this workspace."""
        hidden = [] if ground.is_file else self._root.trust.hidden_in(ground.parts)
        return (
            replace(scope, exclude=(*scope.exclude, *(f"/{globs.quoted(one)}" for one in hidden))) if hidden else scope
        )

    def _relative(self, pattern: str, ground: Ground) -> str:
        """The pattern from the searched folder, if it is absolute; one that leads out is a SecurityError."""
        if not globs.escapes(pattern):
            return pattern
        rest = ""
        if pattern.startswith("/"):
            names = self._root.text(pattern).split("/")
            above = list(ground.parts)
            if names[: len(above)] != above:
                raise ToolError(
                    ErrorCode.VALIDATION,
                    f"The pattern {pattern!r} is not in the searched folder {'/'.join(above)!r}. "
                    "Give a pattern relative to that folder.",
                )
            rest = "/".join(names[len(above) :]) + ("/" if pattern.endswith("/") else "")
        if not rest or globs.escapes(rest):
            raise paths.outside(pattern, self._root.path)
        return f"/{rest}"


def _warm(root: Root, state: State, limits: Limits, launcher: Launcher) -> Warm | None:
    from toolroll.host.search.index.live import Warm, is_off

    return None if is_off() else Warm(root, state, limits.search_bytes, launcher)


def _deadline(seconds: float, token: Token | None, share: float = _SHARE) -> float:
    left = seconds if token is None else min(seconds, share * token.remaining())
    return time.monotonic() + left
