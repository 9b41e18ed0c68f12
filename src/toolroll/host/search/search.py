"""Search the workspace for lines (`grep`) and for names (`find`): by ripgrep, or in Python without it."""

from __future__ import annotations

import copy
import math
import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Self

from toolroll.host.files import ignore
from toolroll.host.files.openat import PATH
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.launcher import AccessRules, Launcher, folder_path
from toolroll.host.search.grep import GrepRun
from toolroll.host.search.list_files import list_aged, list_paths
from toolroll.host.search.query import (
    Candidates,
    CountingEngine,
    FileEntry,
    FindResult,
    GrepResult,
    GrepRow,
    Query,
    Scope,
    SearchRoot,
    Sort,
    Stopped,
    Survey,
)
from toolroll.policy import paths
from toolroll.policy.effects import Effect
from toolroll.policy.limits import Limits
from toolroll.policy.rules import Policy, has_paths, judge_path
from toolroll.result import ErrorCode, ToolError
from toolroll.text import names
from toolroll.text.search import globs

if TYPE_CHECKING:
    from toolroll.host.files.root import Root
    from toolroll.host.search.live_files import LiveFiles, NewestFiles
    from toolroll.text.edit.replace import Expression

__all__ = ["FileEntry", "FindResult", "GrepResult", "GrepRow", "Query", "Scope", "Search", "Survey"]

Wanted = Literal["file", "directory", "both"]

_EVERYWHERE = Scope()
_SEARCH_SHARE = 0.8  # of the time that the call has left, so that it can still answer with what was found
_REPORT_SHARE = 0.5  # the same for the report after the search


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
        watch: bool = False,
        name: str = "",
    ) -> None:
        """`program` is the path of ripgrep; "auto" lets the launcher find it, None searches in Python.

        With `watch`, the files are listed once and watched, and the caller must call `close`. `name` is that of a
        further root, which the policy's rules know its paths by.
        """
        self._name = name
        self._root = root
        self._limits = limits
        self._launcher = launcher
        self.files = _open_live_files(root) if watch else None
        limiting = policy is not None and (has_paths(policy) or policy.extensions is not None)
        self._policy = policy if limiting else None
        self._program = program
        self._engine: CountingEngine | None = None

    def of(self, root: Root, path: str, limits: Limits | None = None) -> tuple[Search, str]:
        """The search beneath a root, this one or another with the same settings or other limits, and the path there."""
        if root is self._root:
            return (self, path) if limits in (None, self._limits) else (self._within(limits), path)
        return Search(root, limits=limits or self._limits, launcher=self._launcher, program=self._program), path

    def _within(self, limits: Limits | None) -> Self:
        other = copy.copy(self)
        other._limits = limits or self._limits
        return other

    def engine(self) -> CountingEngine:
        """The engine of this machine: ripgrep, or Python."""
        if self._engine is None:
            self._engine = self._make_engine()
        return self._engine

    def _make_engine(self) -> CountingEngine:
        if self._ripgrep is None or self._root.trust.hides:  # ripgrep opens by name: a link could lead it there
            from toolroll.host.search.python_engine import PythonEngine

            return PythonEngine(self._limits)
        from toolroll.host.search.ripgrep import Ripgrep

        reach = AccessRules((), (folder_path(self._root.fd),), system=False)
        return Ripgrep(self._ripgrep, self._limits, self._launcher, reach)

    @cached_property
    def _ripgrep(self) -> str | None:
        return self._launcher.find("rg") if self._program == "auto" else self._program

    def expression(self, source: str, case: bool, token: CancelToken | None = None) -> Expression:
        """A regular expression for texts in memory."""
        from toolroll.host.search.regex_by_ripgrep import compile_expression

        return compile_expression(source, case, self._ripgrep, self._launcher, token)

    def may_read(self, path: str) -> bool:
        """Whether the policy lets this file be read."""
        policy = self._policy
        if policy is None:
            return True
        if self._has_barred_type(path):
            return False
        parts = (self._name, *path.split("/")) if self._name else path.split("/")
        return judge_path(parts, Effect.READ, policy).decision != "deny"

    def _has_barred_type(self, path: str) -> bool:
        allowed = None if self._policy is None else self._policy.extensions
        return allowed is not None and (suffix := paths.file_type(path)) != "" and suffix not in allowed

    def close(self) -> None:
        """End the background work."""
        if self.files is not None:
            self.files.close()

    def grep(
        self,
        query: Query,
        scope: Scope = _EVERYWHERE,
        *,
        sort: Literal["modified", "path"] = "modified",
        limit: int | None = None,
        token: CancelToken | None = None,
    ) -> GrepResult:
        """The matching lines, newest file first or by path; at a limit of time or rows, those found so far.

        With a `limit`, the answer may hold little more than the `limit` newest matches, if that is faster.
        """
        scope = self._checked(scope)
        with self._open_root(scope, token) as root:
            scope = self._without_hidden(scope, root)
            newest_files = self._newest(root, scope)
            run = GrepRun(self.engine, self._limits, root, query, scope, newest_files)
            newest = sort == "modified" and self._policy is None  # a policy may drop some of the newest
            hits, stopped = run.collect(limit if newest else None)
            barred = sum(self._has_barred_type(found[0].path) for found in hits.values())
            if self._policy is not None:
                hits = {path: found for path, found in hits.items() if self.may_read(found[0].path)}
            rows = [row for path in sort_paths(root, hits, sort) for row in hits[path]]
            if self.files is not None and not root.is_file and not self._root.trust.hides:
                self.files.read_in_background()  # after the search, so that it does not compete with it
            survey = None
            if not rows or stopped == "time" or (stopped == "rows" and limit is None):
                survey = self._report_grep(root, query, scope, is_empty=not rows and stopped is None)
            return GrepResult(
                rows=rows,
                matches=sum([row.column > 0 for row in rows]),
                files=len(hits),
                complete=stopped is None,
                stopped=stopped,
                survey=survey,
                unreadable=root.unreadable,
                barred=barred,
            )

    def grep_leniently(
        self, query: Query, scope: Scope = _EVERYWHERE, *, limit: int | None = None, token: CancelToken | None = None
    ) -> GrepResult:
        """As `grep`, but search for an invalid regular expression as plain text; raise its error if nothing matches."""
        try:
            return self.grep(query, scope, limit=limit, token=token)
        except ToolError as error:
            if error.code != ErrorCode.VALIDATION or query.literal:
                raise
            found = self.grep(replace(query, literal=True), scope, limit=limit, token=token)
            if not found.rows:
                raise
            return found

    def find(
        self,
        pattern: str,
        scope: Scope = _EVERYWHERE,
        *,
        kind: Wanted = "file",
        sort: Sort = "modified",
        limit: int | None = None,
        links: bool = False,
        token: CancelToken | None = None,
    ) -> FindResult:
        """The files or folders whose name or path matches, in exact order even if not all are listed.

        With a `limit`, entries after the first `limit` may come by their paths alone, if that is faster. With `links`,
        links to files count as files.
        """
        with self._open_root(scope, token, folder=True) as root:
            pattern = self._relative(pattern, root)
            matcher = globs.compile(pattern)
            scope = self._without_hidden(self._checked(replace(scope, hidden=scope.hidden or matcher.names_dot)), root)
            most = self._limits.search_rows
            first = limit if sort == "modified" else None
            found, total, whole, stopped, linked = self._listed(root, scope, kind, matcher, first)
            entries, dead = list(found), list[str]()
            if links and linked:
                more, dead = self._follow(root, linked)
                entries, total = entries + more, total + len(more)
                whole = "\n".join([whole, *(names.show_name(one.path) for one in more)]) if whole else ""
            if kind != "file" or sort != "modified" or len(entries) > len(found):  # else they are sorted
                entries = sort_entries(entries, sort)
            stopped = stopped or ("rows" if total > most else None)
            return FindResult(
                entries=entries[:most],
                whole=whole,
                total=total,
                complete=stopped is None,
                stopped=stopped,
                survey=self._report_find(root, scope, kind, pattern) if stopped == "time" or not entries else None,
                dead_links=dead,
                unreadable=root.unreadable,
            )

    def _listed(
        self, root: SearchRoot, scope: Scope, kind: Wanted, matcher: globs.Matcher, first: int | None
    ) -> tuple[Sequence[FileEntry], int, str, Stopped | None, list[str]]:
        """The first entries, the number of all, the paths of all if there are more, why it stopped early, and links."""
        if kind != "file":
            entries, stopped = self._matching(root, scope, kind, matcher)
            return entries, len(entries), "", stopped, []
        if (known := self._known(first, root, scope, matcher)) is not None:
            return known.entries, known.total, known.whole, None, known.links
        links: list[str] = []
        aged, whole = list_aged(root, scope, matcher, links)
        aged.sort()
        entries = [FileEntry(root.shown(path), "file", size, -age) for age, path, size in aged[:first]]
        most = 0 if len(entries) == len(aged) else self._limits.search_rows
        every = "\n".join([names.show_name(root.shown(path)) for _, path, _ in aged[:most]])
        return entries, len(aged), every, None if whole else "time", links

    def _follow(self, root: SearchRoot, links: Sequence[str]) -> tuple[list[FileEntry], list[str]]:
        """Those links that lead to files, and the paths of those that lead nowhere or out of the workspace."""
        found, dead = list[FileEntry](), list[str]()
        for path in links:
            try:
                fd = self._root.open("/".join((*root.parts, path)), PATH)
            except (OSError, ToolError):
                dead.append(root.shown(path))
                continue
            is_file = stat.S_ISREG(os.fstat(fd).st_mode)
            os.close(fd)
            if is_file and (about := root.stat(path)):
                found.append(FileEntry(root.shown(path), "link", about.st_size, about.st_mtime_ns))
        return found, dead

    def _newest(self, root: SearchRoot, scope: Scope) -> Candidates | None:
        """The files in scope, newest first, if the tree is known."""
        if root.is_file or self._root.trust.hides or self.files is None:
            return None
        return self.files.candidates(scope, root.parts)

    def _matching(
        self, root: SearchRoot, scope: Scope, kind: Wanted, matcher: globs.Matcher
    ) -> tuple[list[FileEntry], Stopped | None]:
        entries: list[FileEntry] = []
        try:
            for seen in root.walk(scope):
                if kind in ("both", seen.kind) and matcher.matches(seen.path) and (found := root.stat(seen.path)):
                    entries.append(FileEntry(root.shown(seen.path), seen.kind, found.st_size, found.st_mtime_ns))
        except TimeoutError:
            return entries, "time"
        return entries, None

    def _known(self, first: int | None, root: SearchRoot, scope: Scope, matcher: globs.Matcher) -> NewestFiles | None:
        """The newest files, if the tree is known."""
        if self.files is None:
            return None
        found = self.files.first_files(first, self._limits.search_rows, scope, root.parts, matcher)
        self.files.read_in_background()
        return found

    def _report_grep(self, root: SearchRoot, query: Query, scope: Scope, *, is_empty: bool) -> Survey:
        from toolroll.host.search.skipped import SECONDS, report_grep

        soon = replace(root, deadline=find_deadline(root.token, _REPORT_SHARE, SECONDS))
        engine = self.engine()
        survey = report_grep(
            engine, soon, query, scope, self._limits.search_bytes, is_empty=is_empty, may_read=self.may_read
        )
        if is_empty and not survey.searched and survey.skipped:
            engine.check_works(soon)
        return survey

    def _report_find(self, root: SearchRoot, scope: Scope, kind: Wanted, pattern: str) -> Survey:
        from toolroll.host.search.skipped import SECONDS, report_find

        soon = replace(root, deadline=find_deadline(root.token, _REPORT_SHARE, SECONDS))

        def names(where: Scope) -> Iterator[str]:
            if kind == "file":
                return list_paths(soon, where)
            return (seen.path for seen in soon.walk(where) if kind in ("both", seen.kind))

        near = globs.compile(globs.widen(pattern), case=False)
        survey = report_find(names, globs.compile(pattern).matches, near.matches, scope, root.unreadable)
        survey.near = [root.shown(path) for path in survey.near]
        return survey

    @contextmanager
    def _open_root(self, scope: Scope, token: CancelToken | None, *, folder: bool = False) -> Iterator[SearchRoot]:
        is_file = False
        try:
            fd = self._root.folder(scope.path)
        except NotADirectoryError:
            if folder:
                raise
            fd, is_file = self._root.file(scope.path), True
        try:
            yield SearchRoot(
                fd=fd,
                folder=self._root.fd if is_file else fd,
                parts=(parts := self._root.real(fd)),
                is_file=is_file,
                rules=[] if is_file or scope.ignored else ignore.inherited_rules(self._root, parts),
                token=token,
                deadline=find_deadline(token or CancelToken(self._limits.answer_seconds)),
                opener=self._root.opener,
            )
        finally:
            os.close(fd)

    def _checked(self, scope: Scope) -> Scope:
        """The scope, with hidden files if a glob names some; ToolError for a glob that leads out of the workspace."""
        if without := tuple(text[1:] for text in scope.include if text.startswith("!")):
            include = tuple(text for text in scope.include if not text.startswith("!"))
            scope = replace(scope, include=include, exclude=(*scope.exclude, *without))
        for text in (*scope.include, *scope.exclude):
            if text.startswith("!"):
                raise ToolError(ErrorCode.VALIDATION, f"`exclude` begins with '!': {text!r}. Use `include` instead.")
            if globs.escapes(text.lstrip("/")):
                raise paths.outside(text, self._root.path)
        dot = any(globs.compile(text).names_dot for text in scope.include)
        return replace(scope, hidden=True) if dot else scope

    def _without_hidden(self, scope: Scope, root: SearchRoot) -> Scope:
        """The scope without the paths that this workspace hides."""
        if root.is_file or not self._root.trust.hides:
            return scope
        hidden = self._root.trust.hidden_in(root.parts)
        return replace(scope, exclude=(*scope.exclude, *(f"/{globs.quote(one)}" for one in hidden)))

    def _relative(self, pattern: str, root: SearchRoot) -> str:
        """The pattern relative to the searched folder; SecurityError for one that leads out of the workspace."""
        if not globs.escapes(pattern):
            return pattern
        rest = ""
        if pattern.startswith("/"):
            names = self._root.text(pattern).split("/")
            above = list(root.parts)
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


def _open_live_files(root: Root) -> LiveFiles:
    from toolroll.host.search.live_files import LiveFiles

    return LiveFiles(root)


def find_deadline(token: CancelToken | None, share: float = _SEARCH_SHARE, seconds: float = math.inf) -> float:
    """When a search ends that may take so long, and leaves its call a share of its time."""
    left = seconds if token is None else min(seconds, share * token.remaining())
    return time.monotonic() + left


def sort_paths(root: SearchRoot, paths: Iterable[str], sort: str) -> list[str]:
    """Sort the paths of files, newest first or by path."""

    def age(path: str) -> tuple[int, str]:
        known = root.ages.get(path)
        if known is not None:
            return known, path
        found = root.stat(path)
        return -found.st_mtime_ns if found else 0, path

    return sorted(paths) if sort == "path" or root.is_file else sorted(paths, key=age)


def sort_entries(entries: Sequence[FileEntry], sort: Sort) -> list[FileEntry]:
    """Sort entries as asked for."""
    if sort == "modified":
        return sorted(entries, key=lambda entry: (-entry.mtime, entry.path))
    if sort == "size":
        return sorted(entries, key=lambda entry: (-entry.size, entry.path))
    if sort == "name":
        return sorted(entries, key=lambda entry: (entry.path.rpartition("/")[2], entry.path))
    return sorted(entries, key=lambda entry: entry.path)
