"""The todo list of each session, kept in the state folder."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from toolroll.host.files.sessions import TODOS, session_file_name
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.dir_entries import reopen
from toolroll.host.runtime.file_lock import hold_lock
from toolroll.host.runtime.state import State
from toolroll.result import ErrorCode, ToolError
from toolroll.text.knowledge.todos import Todo

_LOCK = "lock"
_SUFFIX = ".json"
_MAX_LISTS = 1000  # lists that are kept; the oldest go first

TodoList = tuple[Todo, ...]


@dataclass(frozen=True, slots=True)
class _File:
    session: str
    todos: TodoList


class TodoFile:
    """The todo list of one session. Two processes may write at once."""

    def __init__(self, state: State, session: str, token: CancelToken) -> None:
        self._state = state
        self._session = session
        self._token = token
        self._name = session_file_name(session) + _SUFFIX

    def read(self) -> TodoList:
        """The list; empty when none was written. ToolError when others broke the file."""
        try:
            with open(os.path.join(self._state.path, TODOS, self._name), "rb") as file:
                return msgspec.json.decode(file.read(), type=_File).todos
        except FileNotFoundError:
            return ()
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ToolError(
                ErrorCode.IO,
                f"The kept list {self._name!r} is broken ({error}). Write the whole list again with `todo_write`.",
            ) from None

    def change(self, change: Callable[[TodoList], TodoList], *, replace: bool) -> TodoList:
        """Store the list that `change` computes from the stored one; with `replace` a broken file is no error."""
        folder = self._state.folder(TODOS)
        with hold_lock(folder, _LOCK, self._token):
            try:
                kept = self.read()
            except ToolError:
                if not replace:
                    raise
                kept = ()
            todos = change(kept)
            data = msgspec.json.encode(_File(self._session, todos))
            self._state.put(TODOS, self._name, msgspec.json.format(data, indent=1))
            _sweep(folder, self._name)
        return todos


def _sweep(folder: int, but: str) -> None:
    """Delete the oldest lists, if there are too many, and what killed processes left."""
    with reopen(folder) as listed:
        names = os.listdir(listed)
    lists = [name for name in names if name.endswith(_SUFFIX) and name != but]
    gone = [name for name in names if name.startswith(".")]
    if len(lists) >= _MAX_LISTS:
        age = {name: os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime for name in lists}
        gone += sorted(lists, key=lambda name: age[name])[: len(lists) - _MAX_LISTS + 1]
    for name in gone:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
