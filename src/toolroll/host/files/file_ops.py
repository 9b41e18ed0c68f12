"""Files that are not on this disk: a kit's file tools on operations that a program gives (`FileOps`)."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, Protocol, runtime_checkable

from toolroll.host.approval.auto_run import AutoRunCheck
from toolroll.host.files.reader import ContentChange, TextFile
from toolroll.host.files.root import Root
from toolroll.host.files.spill import PREFIX
from toolroll.host.files.tree import FileTree, TreeItem
from toolroll.host.files.trust import Trust
from toolroll.host.files.versions import Version, digest, modified_error, stamp_of
from toolroll.host.files.workspace import JUDGED, Workspace
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.state import create_nameless_file
from toolroll.policy import paths
from toolroll.result import ErrorCode, ToolError
from toolroll.text.edit.model import SplicedBytes
from toolroll.text.encoding import find_encoding

_MODES = {"file": stat.S_IFREG, "directory": stat.S_IFDIR, "link": stat.S_IFLNK, "other": 0}


@dataclass(frozen=True, slots=True)
class FileInfo:
    """What is at a path."""

    name: str
    """Its last component."""
    kind: Literal["file", "directory", "link", "other"] = "file"
    size: int = 0
    modified: float = 0.0
    """In seconds since 1970."""
    mode: int = 0o644


@runtime_checkable
class FileOps(Protocol):
    """Files in memory, in a container, on another machine. Paths are relative to its top, which is ".".

    A path that is not there is a FileNotFoundError, a folder where a file is wanted an IsADirectoryError, and so on.
    """

    def read(self, path: str) -> bytes: ...

    def write(self, path: str, data: bytes) -> None:
        """Write a whole file; missing folders are made."""

    def stat(self, path: str) -> FileInfo: ...

    def list(self, path: str) -> Iterable[FileInfo]:
        """What is in a folder."""


@runtime_checkable
class DeletingFileOps(FileOps, Protocol):
    """The same with `delete`, which tools need to remove a file."""

    def delete(self, path: str) -> None:
        """Remove a file."""


def unsupported(*_: object, **__: object) -> NoReturn:
    """Refuse what needs files on this machine."""
    raise ToolError(ErrorCode.UNSUPPORTED, "This needs local files, and the files of this kit are elsewhere.")


class Unavailable:
    """In the place of an engine that needs local files: every use of it is refused."""

    def __getattr__(self, name: str) -> NoReturn:
        unsupported(name)


class OpsRoot(Root):
    """The top of files that are elsewhere. Its contents come in files without a name; nothing else can be opened."""

    def __init__(self, ops: FileOps) -> None:
        self.ops = ops
        self.path = self._typed = str(getattr(ops, "root", "/"))
        self.kernel = False
        self.trust = Trust()
        self.trust.hides = True  # the search then uses the Python engine, which opens what it is given
        self._last = ".", paths.parts(".", self.path)

    def names_of(self, path: str) -> str:
        """The path for the operations; SecurityError for one with ".."."""
        names: list[str] = []
        for name in self.text(path).split("/"):
            if name == ".." and not names:
                raise paths.outside(path, self.path)
            if name == "..":
                names.pop()
            elif name != ".":
                names.append(name)
        return "/".join(names) or "."

    def located(self, path: str) -> tuple[int, os.stat_result, tuple[str, ...]]:
        where = self.names_of(path)
        data = self.ops.read(where)
        return create_nameless_file(data), status_of(data), tuple(where.split("/"))

    def file(self, path: str) -> int:
        return self.located(path)[0]

    def has(self, path: str) -> bool:
        try:
            self.ops.stat(self.names_of(path))
        except (OSError, ToolError):
            return False
        return True

    def close(self) -> None:
        pass

    open = folder = place = real = unsupported

    def __getattr__(self, name: str) -> NoReturn:
        unsupported(name)  # no descriptor leads to these files


def status_of(data: bytes) -> os.stat_result:
    """A status that differs for different contents, as there is no inode."""
    return make_status(stat.S_IFREG | 0o644, len(data), int.from_bytes(digest(data)[:6], "big"))


def make_status(mode: int, size: int, modified_ns: int) -> os.stat_result:
    """A status with this time as all its times."""
    seconds = modified_ns / 1e9
    return os.stat_result((mode, 0, 0, 1, 0, 0, size, *[int(seconds)] * 3, *[seconds] * 3, *[modified_ns] * 3))


class OpsWorkspace(Workspace):
    """Reads and writes by operations. Nothing is journalled: there is no undo."""

    root: OpsRoot

    @property
    def tree(self) -> FileTree:
        return OpsTree(self)

    def _ask_auto_run(self, check: AutoRunCheck, parts: tuple[str, ...]) -> None:
        check.check(-1, parts)

    def back_up(self, draft: TextFile) -> str:
        raise ToolError(
            ErrorCode.UNSUPPORTED, f"{draft.path!r} is elsewhere, and gets no copy beside it. Set `backup` to false."
        )

    def write(
        self,
        path: str,
        content: str | bytes,
        *,
        overwrite: bool = True,
        mode: int | None = None,  # noqa: ARG002 - permissions are for the operations to choose
        encoding: str | None = None,
    ) -> ContentChange:
        if path.startswith(PREFIX):
            raise ToolError(ErrorCode.PERMISSION, f"{path!r} is a kept output: it can be read, not written.")
        where = self.root.names_of(self.where(path)[1])
        self.may_write(tuple(where.split("/")))
        before = self._content(where)
        if before is not None and not overwrite:
            raise ToolError(ErrorCode.CONFLICT, f"{path!r} exists. Set `overwrite` to replace it, or use `edit`.")
        if before is not None:
            self._fresh.check(where, _version(before))
        used = find_encoding(encoding) if encoding else self._kept_encoding(before)
        return self._store(
            ContentChange(
                where, before, used.encode(content) if isinstance(content, str) else content, used, judged=self.judged
            )
        )

    def save(self, draft: TextFile, made: str | SplicedBytes, note: Mapping[str, Any] | None = None) -> ContentChange:  # noqa: ARG002
        self.may_write(tuple(draft.path.split("/")))
        if self._content(draft.path) != draft.data:
            raise modified_error(draft.path)
        data = made.data if isinstance(made, SplicedBytes) else draft.encoding.encode(made)
        return self._store(ContentChange(draft.path, draft.data, data, draft.encoding, judged=self.judged))

    def save_all(self, drafts: Sequence[tuple[TextFile, str, Mapping[str, Any]]]) -> tuple[str, ...]:
        changes = [self.save(draft, text, note) for draft, text, note in drafts]
        return tuple(change.verdict for change in changes[:JUDGED] if change.verdict)

    def _store(self, change: ContentChange) -> ContentChange:
        self._check_size(change.path, len(change.after), self._limits.write_bytes)
        if change.changed:
            self.root.ops.write(change.path, change.after)
            self.records.note(change.path, _version(change.after), change.encoding, written=True)
        return change

    def _content(self, path: str) -> bytes | None:
        try:
            return self.root.ops.read(path)
        except FileNotFoundError:
            return None


def _version(data: bytes) -> Version:
    return Version(stamp_of(status_of(data)), digest(data))


class OpsTree(FileTree):
    """Lists by operations; what moves or removes files is refused."""

    def __init__(self, files: OpsWorkspace) -> None:
        super().__init__(files)
        self._root = files.root

    def _named(self, path: str) -> str:
        return self._root.names_of(self._files.where(path)[1])

    def folder(
        self, path: str, depth: int, token: CancelToken, closed: list[str] | None = None
    ) -> tuple[str, list[TreeItem]]:
        where = self._named(path)
        try:
            items = list(self._items(where, depth, token, closed))
        except FileNotFoundError:
            raise self._files.missing(path) from None
        return "" if where == "." else where, items

    def item(self, path: str) -> TreeItem:
        where = self._named(path)
        try:
            return _item(where, self._root.ops.stat(where))
        except FileNotFoundError:
            raise self._files.missing(path) from None

    def is_empty_folder(self, path: str) -> bool:  # noqa: ARG002 - such stores have no folders of their own
        return False

    def is_file(self, path: str) -> bool:
        try:
            return self._root.ops.stat(self._named(path)).kind == "file"
        except OSError:
            return False

    def delete(self, path: str, recursive: bool) -> int:  # noqa: ARG002 - such stores have no folders of their own
        where, ops = self._named(path), self._root.ops
        if not isinstance(ops, DeletingFileOps):
            why = "The files of this kit are elsewhere, and its FileOps has no `delete(path)`. Ask the user to add it."
            raise ToolError(ErrorCode.UNSUPPORTED, why)
        if self.item(path).kind == "directory":
            raise ToolError(ErrorCode.VALIDATION, f"{path!r} is a directory; only files can be deleted here.")
        self._files.may_remove(tuple(where.split("/")))
        ops.delete(where)
        self._files.records.forget(where)
        return 1

    move = copy = make_folder = set_mode = set_executable = unsupported

    def _items(self, where: str, depth: int, token: CancelToken, closed: list[str] | None) -> Iterator[TreeItem]:
        for info in sorted(self._root.ops.list(where), key=lambda one: one.name):
            token.check()
            path = info.name if where == "." else f"{where}/{info.name}"
            yield _item(path, info)
            if info.kind == "directory" and depth > 1:
                yield from self._items(path, depth - 1, token, closed)


def _item(path: str, info: FileInfo) -> TreeItem:
    return TreeItem(path, info.kind, info.size, info.modified, _MODES[info.kind] | info.mode)
