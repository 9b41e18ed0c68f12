"""Search in the workspace, for lines (`grep`) and for names (`find`): by ripgrep, or in Python without it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from toolroll.host import ignore, survey
from toolroll.host.query import (
    BINARY,
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
from toolroll.host.walk import Kind
from toolroll.policy import paths
from toolroll.policy.effects import Effect
from toolroll.policy.limits import Limits
from toolroll.policy.rules import Policy, has_paths, judge_path
from toolroll.result import ErrorCode, ToolError
from toolroll.text import globs

if TYPE_CHECKING:
    from toolroll.host.root import Root
    from toolroll.host.token import Token

__all__ = ["Entry", "Found", "Listing", "Query", "Row", "Scope", "Search", "Survey", "find_program"]

Wanted = Literal["file", "directory", "both"]

_EVERYWHERE = Scope()
_SHARE = 0.8  # of the time that the call has left, so that it can still answer with what was found
_CONTEXT = 5  # lines around matches that are kept, for each matching line that may be


class Search:
    """Searches beneath one root. Several threads may use it at a time."""

    def __init__(
        self, root: Root, *, limits: Limits, policy: Policy | None = None, program: str | None = "auto"
    ) -> None:
        """`program` is the path of ripgrep; "auto" looks for it, None does without."""
        self._root = root
        self._limits = limits
        self._policy = policy if policy is not None and has_paths(policy) else None
        self._program = program

    def on(self, root: Root) -> Search:
        """The same search beneath another root."""
        return self if root is self._root else Search(root, limits=self._limits, program=self._program)

    @cached_property
    def engine(self) -> Engine:
        """The engine that does the work."""
        program = find_program() if self._program == "auto" else self._program
        if program is None:
            from toolroll.host.scan import Scan

            return Scan(self._limits)
        from toolroll.host.ripgrep import Ripgrep

        return Ripgrep(program, self._limits)

    def grep(
        self,
        query: Query,
        scope: Scope = _EVERYWHERE,
        *,
        sort: Literal["modified", "path"] = "modified",
        token: Token | None = None,
    ) -> Found:
        """The lines that match, newest file first or by path. At a limit: those found so far."""
        scope = self._checked(scope)
        with self._ground(scope, token) as ground:
            hits, stopped = self._collect(ground, query, scope)
            hits = {path: found for path, found in hits.items() if self._may_read(found[0].path)}
            rows = [row for path in _sorted(ground, hits, sort) for row in hits[path]]
            return Found(
                rows=rows,
                matches=sum(row.column > 0 for row in rows),
                files=len(hits),
                complete=stopped is None,
                stopped=stopped,
                survey=self._of_contents(ground, query, scope) if stopped or not rows else None,
                engine=self.engine.name,
                unreadable=ground.unreadable,
            )

    def survey(self, query: Query, scope: Scope = _EVERYWHERE, *, token: Token | None = None) -> Survey:
        """What a `grep` for this does not show. It makes one itself when its answer is empty or cut."""
        scope = self._checked(scope)
        with self._ground(scope, token) as ground:
            return self._of_contents(ground, query, scope)

    def find(
        self,
        pattern: str,
        scope: Scope = _EVERYWHERE,
        *,
        kind: Wanted = "file",
        sort: Sort = "modified",
        token: Token | None = None,
    ) -> Listing:
        """The files or folders whose name or path matches. The order is exact, also if not all are listed."""
        with self._ground(scope, token, folder=True) as ground:
            pattern = self._relative(pattern, ground)
            matcher = globs.compile(pattern)
            scope = self._checked(replace(scope, hidden=scope.hidden or matcher.names_dot))
            entries, stopped = self._matching(ground, scope, kind, pattern, matcher)
            total, limit = len(entries), self._limits.search_rows
            entries = _ordered(entries, sort)[:limit]
            stopped = stopped or ("rows" if total > limit else None)
            return Listing(
                entries=entries,
                total=total,
                complete=stopped is None,
                stopped=stopped,
                survey=self._of_names(ground, scope, kind, matcher) if stopped or not entries else None,
                engine=self.engine.name,
                unreadable=ground.unreadable,
            )

    def _may_read(self, path: str) -> bool:
        policy = self._policy
        return policy is None or judge_path(path.split("/"), Effect.READ, policy).decision != "deny"

    def _collect(self, ground: Ground, query: Query, scope: Scope) -> tuple[dict[str, list[Row]], Stopped | None]:
        """The rows of each file with a match, and what made the search stop early."""
        hits: dict[str, list[Row]] = {}
        limit, matches, count, name = self._limits.search_rows, 0, 0, ""
        try:
            with closing(self.engine.rows(ground, query, scope)) as rows:
                for path, line, byte, raw in rows:
                    if line == BINARY:
                        hits.pop(path, None)
                        continue
                    matches += byte > 0
                    count += 1
                    if matches > limit or count > _CONTEXT * limit:
                        return hits, "rows"
                    if path not in hits:
                        hits[path] = []
                        name = _shown(ground, path)
                    text, column = _cut(raw, byte, self._limits.line_chars)
                    hits[path].append(Row(name, line, column, text))
        except TimeoutError:
            return hits, "time"
        return hits, None

    def _matching(
        self, ground: Ground, scope: Scope, kind: Wanted, pattern: str, matcher: globs.Matcher
    ) -> tuple[list[Entry], Stopped | None]:
        entries: list[Entry] = []
        if not scope.include:  # so that ripgrep can leave out the others by itself
            scope = replace(scope, include=(pattern,))
        try:
            for path, what in self._names(ground, scope, kind):
                if matcher.matches(path) and (about := _stat(ground, path)):
                    entries.append(Entry(_shown(ground, path), what, about.st_size, about.st_mtime_ns))
        except TimeoutError:
            return entries, "time"
        return entries, None

    def _names(self, ground: Ground, scope: Scope, kind: Wanted) -> Iterator[tuple[str, Kind]]:
        if kind == "file":
            yield from ((path, "file") for path in self.engine.files(ground, scope))
            return
        for seen in ground.walk(scope):
            if kind in ("both", seen.kind):
                yield seen.path, seen.kind

    def _of_contents(self, ground: Ground, query: Query, scope: Scope) -> Survey:
        soon = replace(ground, deadline=_deadline(survey.SECONDS, ground.token))
        return survey.of_contents(self.engine, soon, query, scope, self._limits.search_bytes)

    def _of_names(self, ground: Ground, scope: Scope, kind: Wanted, matcher: globs.Matcher) -> Survey:
        soon = replace(ground, deadline=_deadline(survey.SECONDS, ground.token))
        return survey.of_names(
            lambda where: (path for path, _ in self._names(soon, where, kind)), matcher.matches, scope
        )

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
                rules=[] if is_file or scope.ignored else ignore.inherited(self._root, parts),
                token=token,
                deadline=_deadline(self._limits.search_seconds, token),
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


def find_program() -> str | None:
    """The path of ripgrep: that of this Python's own environment, else the one on PATH, else None."""
    import shutil
    import sysconfig

    return shutil.which("rg", path=sysconfig.get_path("scripts")) or shutil.which("rg")


def _deadline(seconds: float, token: Token | None) -> float:
    left = seconds if token is None else min(seconds, _SHARE * token.remaining())
    return time.monotonic() + left


def _stat(ground: Ground, path: str) -> os.stat_result | None:
    try:
        return os.stat(path, dir_fd=ground.fd, follow_symlinks=False)
    except OSError:
        return None  # gone meanwhile


def _sorted(ground: Ground, names: Iterable[str], sort: str) -> list[str]:
    def age(path: str) -> int:
        about = _stat(ground, path)
        return -about.st_mtime_ns if about else 0

    return sorted(names) if sort == "path" or ground.is_file else sorted(names, key=lambda path: (age(path), path))


def _ordered(entries: list[Entry], sort: Sort) -> list[Entry]:
    if sort == "modified":
        return sorted(entries, key=lambda entry: (-entry.mtime, entry.path))
    if sort == "size":
        return sorted(entries, key=lambda entry: (-entry.size, entry.path))
    if sort == "name":
        return sorted(entries, key=lambda entry: (entry.path.rpartition("/")[2], entry.path))
    return sorted(entries, key=lambda entry: entry.path)


def _shown(ground: Ground, path: str) -> str:
    """The path from the workspace, as text that can be written down whatever bytes the name has."""
    text = "/".join((*ground.parts, path)) if path else "/".join(ground.parts)
    return text if text.isascii() else os.fsencode(text).decode("utf-8", "backslashreplace")


def _cut(raw: bytes, column: int, width: int) -> tuple[str, int]:
    """A line as text, of a long one what is around the match; and the column in characters."""
    text = raw.decode("utf-8", "backslashreplace").removesuffix("\r")
    if column > 1 and not raw.isascii():
        column = len(raw[: column - 1].decode("utf-8", "backslashreplace")) + 1
    if len(text) <= width:
        return text, column
    width = max(1, width - 2)
    start = max(0, min(column - 1 - width // 4, len(text) - width))
    end = start + width
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}", column
