"""A workspace of several folders: the first is the workspace itself, each other one is seen as NAME/... in it.

`RootGroup` is the one place where a path is given to the folder that it belongs to. Each folder has its own descriptor,
guard and trust check; to everything above, a group is one root.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from toolroll.host.files.openat import Check, PathHandle
from toolroll.host.files.root import Examine, Root
from toolroll.host.files.trust import Parts, Trust, WorkspaceError
from toolroll.host.runtime.launcher import AccessRules, is_beneath
from toolroll.policy import paths
from toolroll.result import ErrorCode, ToolError


def make_root(workspace: str, roots: Sequence[str], *, folder_mode: int, trust: Examine) -> Root:
    """The root of a workspace, alone or with further folders; WorkspaceError if one of them cannot be used."""
    if not roots:
        return Root(workspace, folder_mode=folder_mode, trust=trust)
    group = RootGroup(workspace, folder_mode=folder_mode, trust=trust)
    try:
        for path in roots:
            group.add(_opened(path, folder_mode, trust))
    except BaseException:
        group.close()
        raise
    return group


def _opened(path: str, folder_mode: int, trust: Examine) -> Root:
    try:
        return Root(path, folder_mode=folder_mode, trust=trust)
    except OSError as error:
        raise WorkspaceError(f"The root {path!r} cannot be opened: {os.strerror(error.errno or 0)}.") from None


class RootGroup(Root):
    """A root with further folders in it, by the names of their own."""

    def __init__(self, path: str, *, folder_mode: int, trust: Examine) -> None:
        super().__init__(path, folder_mode=folder_mode, trust=trust)
        self.others: dict[str, Root] = {}
        self._own_trust = self.trust

    def add(self, other: Root) -> None:
        """Take a folder in; WorkspaceError when its name is taken, or one of the folders is in the other."""
        try:
            self._check_new(other.path, other.name)
        except BaseException:
            other.close()
            raise
        self.others[other.name] = other
        self.trust = TrustGroup(self._own_trust, self.others)

    def _check_new(self, path: str, name: str) -> None:
        for known in self.folders:
            if is_beneath(path, known) or is_beneath(known, path):
                raise WorkspaceError(f"The root {path!r} overlaps with {known!r}. Name folders that are apart.")
        if name in self.others or super().has(name):
            raise WorkspaceError(
                f"The root {path!r} clashes: paths in it would begin with {name!r}, which is "
                f"{self.others[name].path if name in self.others else f'{self.path}/{name}'!r} already. "
                "Rename one of them, or leave it out."
            )

    @property
    def folders(self) -> tuple[str, ...]:
        return (self.path, *(one.path for one in self.others.values()))

    def owner(self, parts: Parts) -> tuple[str, Root, Parts]:
        if parts and (other := self.others.get(parts[0])) is not None:
            return parts[0], other, parts[1:]
        return "", self, parts

    def open(self, path: str, flags: int = os.O_RDONLY) -> int:
        if (found := self.split(path)) is None:
            return super().open(path, flags)
        with _naming(path):
            return found[1].open(found[2], flags)

    def file(self, path: str) -> int:
        if (found := self.split(path)) is None:
            return super().file(path)
        with _naming(path):
            return found[1].file(found[2])

    def located(self, path: str) -> tuple[int, os.stat_result, Parts]:
        if (split := self.split(path)) is None:
            return super().located(path)
        name, other, inner = split
        with _naming(path):
            fd, status, parts = other.located(inner)
        return fd, status, (name, *parts)

    def folder(self, path: str = ".", *, create: bool = False, check: Check | None = None) -> int:
        if (split := self.split(path)) is None:
            return super().folder(path, create=create, check=check)
        name, other, inner = split
        with _naming(path):
            return other.folder(inner, create=create, check=_beneath(name, check))

    def place(self, path: str, *, create: bool = False, follow: bool = True, check: Check | None = None) -> PathHandle:
        if (split := self.split(path)) is None:
            return super().place(path, create=create, follow=follow, check=self._own_check(check))
        name, other, inner = split
        if other.text(inner) == ".":
            raise ToolError(ErrorCode.SECURITY, f"{path!r} is a root, which stays as it is. Name something inside it.")
        with _naming(path):
            place = other.place(inner, create=create, follow=follow, check=_beneath(name, check))
        place.parts, place.shown = (name, *place.parts), path
        return place

    def place_listed(self, path: str, *, create: bool = False, check: Check | None = None) -> PathHandle:
        name, other, inner = self.owner(tuple(path.split("/")))
        if not name:
            return super().place_listed(path, create=create, check=self._own_check(check))
        with _naming(path):
            place = other.place_listed("/".join(inner), create=create, check=_beneath(name, check))
        place.parts, place.shown = (name, *place.parts), path
        return place

    def has(self, path: str) -> bool:
        if (found := self.split(path)) is None:
            return super().has(path)
        return found[1].text(found[2]) == "." or found[1].has(found[2])

    def real(self, fd: int) -> Parts:
        try:
            parts = super().real(fd)
        except (ToolError, OSError):
            for name, other in self.others.items():
                with suppress(ToolError, OSError):
                    return (name, *other.real(fd))
            raise
        self._check_own(parts)
        return parts

    def text(self, path: str) -> str:
        if (found := self.split(path)) is None:
            return super().text(path)
        inner = found[1].text(found[2])
        return found[0] if inner == "." else f"{found[0]}/{inner}"

    def close(self) -> None:
        for other in self.others.values():
            other.close()
        super().close()

    def split(self, path: str) -> tuple[str, Root, str] | None:
        """The name and root of another folder that a path is in, and the path there; None for the workspace's own."""
        if path.startswith("/"):
            named = ((name, one, path) for name, one in self.others.items() if one.names(path))
            return next(named, None)
        names = paths.components(path)
        if not names or (other := self.others.get(names[0])) is None:
            return None
        inner = "/".join(names[1:]) or "."
        return names[0], other, f"{inner}/" if paths.ends_in_folder(path) else inner

    def _own_check(self, check: Check | None) -> Check:
        def checked(parts: Parts) -> None:
            self._check_own(parts)
            if check is not None:
                check(parts)

        return checked

    def _check_own(self, parts: Parts) -> None:
        """ToolError for what came into the workspace later under the name of another root."""
        if parts and parts[0] in self.others:
            raise ToolError(
                ErrorCode.SECURITY,
                f"{parts[0]!r} in the workspace has the name of the root {self.others[parts[0]].path!r}. Ask the user "
                "to rename it.",
            )


class TrustGroup(Trust):
    """The trust checks of several roots; each path is judged by that of its own root."""

    def __init__(self, own: Trust, others: Mapping[str, Root]) -> None:
        super().__init__()
        self._first = own
        self._others = others
        self.hides = any(one.hides for one in self._all())
        self.protects = any(one.protects for one in self._all())

    def _all(self) -> list[Trust]:
        return [self._first, *(one.trust for one in self._others.values())]

    def _owner(self, parts: Sequence[str]) -> tuple[Trust, Parts]:
        if parts and (other := self._others.get(parts[0])) is not None:
            return other.trust, tuple(parts[1:])
        return self._first, tuple(parts)

    @property
    def locks(self) -> tuple[str, ...]:
        named = (f"{name}/{one}" for name, other in self._others.items() for one in other.trust.locks)
        return (*self._first.locks, *named)

    def check_read(self, parts: Sequence[str]) -> None:
        trust, inner = self._owner(parts)
        trust.check_read(inner)

    def check_write(self, parts: Sequence[str]) -> None:
        trust, inner = self._owner(parts)
        trust.check_write(inner)

    def check_remove(self, parts: Sequence[str]) -> None:
        trust, inner = self._owner(parts)
        trust.check_remove(inner)

    def hidden_in(self, parts: Parts) -> list[str]:
        trust, inner = self._owner(parts)
        return trust.hidden_in(inner)

    def protect(self, access: AccessRules) -> AccessRules:
        for one in self._all():
            access = one.protect(access)
        return access

    def drop_imports(self) -> None:
        for one in self._all():
            one.drop_imports()


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Report an OSError of the block with the path as the caller gave it."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None


def _beneath(name: str, check: Check | None) -> Check | None:
    return None if check is None else lambda parts: check((name, *parts))
