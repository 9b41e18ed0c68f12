"""Sessions that outlast a process: which files were read, in which encodings, and the working folder."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TypeVar

import msgspec

from toolroll.host.files.versions import FileRecord
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.file_lock import hold_lock
from toolroll.host.runtime.state import State

IDLE_SECONDS = 24 * 3600
"""A session that was not used for so long is over."""
_FOLDER, _LOCK, _SUFFIX, _DAMAGED = "sessions", "lock", ".json", ".damaged"
TODOS = "todos"
"""The folder of the state that holds the todo list of each session, under the same file name."""
_Value = TypeVar("_Value")
_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}|~[0-9a-f]{32}")


class SavedShell(msgspec.Struct, frozen=True):
    """Where a shell is, and which variables its commands have exported or unset (None)."""

    cwd: str = "."
    variables: dict[str, str | None] = {}


class SavedSession(msgspec.Struct):
    """What is kept of a session."""

    name: str
    used: float = 0.0
    """When, in seconds since 1970."""
    files: dict[str, FileRecord] = {}
    shells: dict[str, SavedShell] = {}
    """By name; the empty name is the usual one."""
    grants: list[tuple[str, ...]] = []
    """The keys of requests that were allowed for the session."""
    secret: str = ""
    """How it could have read a secret, in words; empty if it could not."""

    @property
    def cwd(self) -> str:
        return self.shells.get("", SavedShell()).cwd


class DamagedSessionError(Exception):
    """A session file that cannot be read; the message is one sentence for the user."""


def session_file_name(session: str) -> str:
    """A file name for any session: its own where that is plain, else one that no plain name is like."""
    if _PLAIN.fullmatch(session):
        return session
    import hashlib

    return "~" + hashlib.blake2b(session.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


class SessionStore:
    """The sessions of one workspace, in its state folder. Several processes may use one at a time."""

    def __init__(self, state: State) -> None:
        self._state = state

    def load(self, name: str) -> SavedSession:
        """The session of this name; an empty one if there is none, or if it is over.

        A damaged file is kept under another name, and DamagedSessionError says which.
        """
        path = self._path(name)
        try:
            found = _read(path)
        except FileNotFoundError:
            return SavedSession(name)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            aside = f"{path}.{time.time_ns()}{_DAMAGED}"
            with suppress(OSError):
                os.replace(path, aside)
            raise DamagedSessionError(
                f"The session {name!r} starts empty: its file was damaged, and is kept as {aside!r}."
            ) from None
        if found.used > time.time() - IDLE_SECONDS:
            return found
        self.clear(name)
        return SavedSession(name)

    def save(
        self,
        before: SavedSession,
        shells: Mapping[str, SavedShell],
        files: Mapping[str, FileRecord],
        grants: Iterable[tuple[str, ...]] = (),
        secret: str = "",
    ) -> None:
        """Keep what a process has changed of a session since it has loaded it; another's changes stay."""
        with hold_lock(self._state.folder(_FOLDER), _LOCK, CancelToken()):
            try:
                now = self.load(before.name)
            except DamagedSessionError:
                now = SavedSession(before.name)
            granted = list(dict.fromkeys((*now.grants, *grants)))
            seen, kept = _merge(before.files, files, now.files), _merge(before.shells, shells, now.shells)
            made = SavedSession(before.name, time.time(), seen, kept, granted, secret or now.secret)
            self._state.put(_FOLDER, session_file_name(before.name) + _SUFFIX, msgspec.json.encode(made))

    def all(self) -> list[SavedSession]:
        """The sessions, the last used first; one that cannot be read is empty and was never used."""
        found = []
        for name in self._names():
            try:
                found.append(_read(os.path.join(self._state.path, _FOLDER, name)))
            except FileNotFoundError:
                continue
            except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
                found.append(SavedSession(name.removesuffix(_SUFFIX)))
        return sorted(found, key=lambda one: -one.used)

    def clear(self, name: str) -> None:
        """Forget a session and its todo list."""
        for folder in (_FOLDER, TODOS):
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(self._state.path, folder, session_file_name(name) + _SUFFIX))

    def _names(self) -> list[str]:
        try:
            found = os.listdir(os.path.join(self._state.path, _FOLDER))
        except FileNotFoundError:
            return []
        return [name for name in found if name.endswith(_SUFFIX)]

    def _path(self, name: str) -> str:
        return os.path.join(self._state.path, _FOLDER, session_file_name(name) + _SUFFIX)


def _merge(before: Mapping[str, _Value], after: Mapping[str, _Value], now: Mapping[str, _Value]) -> dict[str, _Value]:
    """What is there now with what changed from `before` to `after`, which comes last."""
    changed = {name: one for name, one in after.items() if before.get(name) != one}
    gone = before.keys() - after.keys()
    return {name: one for name, one in now.items() if name not in gone and name not in changed} | changed


def _read(path: str) -> SavedSession:
    with open(path, "rb") as file:
        return msgspec.json.decode(file.read(), type=SavedSession)
