"""Search files that are elsewhere: the Python engine on the operations that a program gives."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from toolroll.host.files import ignore
from toolroll.host.files.file_ops import FileInfo, FileOps, OpsRoot, make_status
from toolroll.host.files.walk import Chain, WalkEntry, is_ignored
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.state import create_nameless_file
from toolroll.host.search.query import FileEntry, Query, Scope, SearchRoot, Stopped, Survey
from toolroll.host.search.search import Search, Wanted, find_deadline

if TYPE_CHECKING:
    from toolroll.host.files.root import Root
    from toolroll.policy.limits import Limits
    from toolroll.text.search import globs

_NO_RULES = ignore.IgnoreRules(())
_NO_ENTRY = cast("os.DirEntry[str]", None)


@dataclass(frozen=True, slots=True)
class OpsEntry(WalkEntry):
    """A file or folder that operations list."""

    root: OpsSearchRoot | None = None

    def stat(self) -> os.stat_result:
        found = self.root.stat(self.path) if self.root is not None else None
        if found is None:
            raise FileNotFoundError(2, os.strerror(2), self.path)
        return found

    def open(self) -> int:
        assert self.root is not None
        return self.root.open(self.path)


@dataclass(slots=True)
class OpsSearchRoot(SearchRoot):
    """The folder or file of one search."""

    ops: FileOps | None = None
    where: str = "."

    def open(self, path: str) -> int:
        assert self.ops is not None
        return create_nameless_file(self.ops.read(_join(self.where, path)))

    def stat(self, path: str) -> os.stat_result | None:
        assert self.ops is not None
        try:
            return _status(self.ops.stat(_join(self.where, path)))
        except OSError:
            return None

    def walk(self, scope: Scope) -> Iterator[WalkEntry]:
        wanted = scope.filter()
        for seen in self._walk("", 1, {}, scope):
            self.check()
            if not wanted.excludes(seen.path) and wanted.includes(seen.path):
                yield seen

    def _walk(self, path: str, depth: int, above: Chain, scope: Scope) -> Iterator[WalkEntry]:
        assert self.ops is not None
        found = sorted(self.ops.list(_join(self.where, path.rstrip("/"))), key=lambda one: one.name)
        chain = above if scope.ignored else self._rules(path, above, {one.name for one in found})
        excludes = scope.filter().excludes
        for info in found:
            where, folder = path + info.name, info.kind == "directory"
            if info.kind == "other" or (info.name.startswith(".") and not scope.hidden) or info.name == ".git":
                continue
            ignored = (folder and info.name in scope.skip) or is_ignored(where, folder, chain, _NO_RULES)
            if excludes(where) or (ignored and not scope.ignored):
                continue
            yield OpsEntry(where, info.kind, _NO_ENTRY, -1, self)
            if folder and depth != scope.depth:
                yield from self._walk(f"{where}/", depth + 1, chain, scope)

    def _rules(self, path: str, above: Chain, found: set[str]) -> Chain:
        own = found & set(ignore.NAMES)
        if not own:
            return above
        return {
            name: (((len(path), ignore.IgnoreRules(self._lines(path + name))),) if name in own else ())
            + above.get(name, ())
            for name in ignore.NAMES
        }

    def _lines(self, path: str) -> list[str]:
        assert self.ops is not None
        return self.ops.read(_join(self.where, path)).decode("utf-8", "replace").split("\n")


class OpsSearch(Search):
    """Searches by operations; nothing is watched."""

    _root: OpsRoot

    def of(self, root: Root, path: str, limits: Limits | None = None) -> tuple[Search, str]:
        return (self, path) if root is self._root else super().of(root, path, limits)

    @contextmanager
    def _open_root(self, scope: Scope, token: CancelToken | None, *, folder: bool = False) -> Iterator[SearchRoot]:
        ops, where = self._root.ops, self._root.names_of(scope.path)
        is_file = where != "." and ops.stat(where).kind != "directory"
        if is_file and folder:
            raise NotADirectoryError(20, os.strerror(20), scope.path)
        fd = create_nameless_file(ops.read(where) if is_file else b"")
        parts = () if where == "." else tuple(where.split("/"))
        deadline = find_deadline(token or CancelToken(self._limits.answer_seconds))
        try:
            yield OpsSearchRoot(fd, -1, parts, is_file, [], token, deadline, ops=ops, where=where)
        finally:
            os.close(fd)

    def _listed(
        self,
        root: SearchRoot,
        scope: Scope,
        kind: Wanted,
        matcher: globs.Matcher,
        first: int | None,  # noqa: ARG002
    ) -> tuple[Sequence[FileEntry], int, str, Stopped | None, list[str]]:
        entries, stopped = self._matching(root, scope, kind, matcher)
        return sorted(entries, key=lambda one: (-one.mtime, one.path)), len(entries), "", stopped, []

    def _report_grep(self, root: SearchRoot, query: Query, scope: Scope, *, is_empty: bool) -> Survey:  # noqa: ARG002
        return _survey(root, scope, "file")

    def _report_find(self, root: SearchRoot, scope: Scope, kind: Wanted, _matcher: Any) -> Survey:
        return _survey(root, scope, kind)


def _survey(root: SearchRoot, scope: Scope, kind: Wanted) -> Survey:
    if root.is_file:
        return Survey(1)
    return Survey(sum(1 for seen in root.walk(scope) if kind in ("both", seen.kind)))


def _status(info: FileInfo) -> os.stat_result:
    kind = stat.S_IFDIR if info.kind == "directory" else stat.S_IFREG
    return make_status(kind | info.mode, info.size, int(info.modified * 1e9))


def _join(where: str, path: str) -> str:
    return path or where if where == "." or not path else f"{where}/{path}"
