"""Lasting grants: requests that the approver has allowed for always, stored with the workspace's state."""

from __future__ import annotations

import os

import msgspec

from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.state import State

_FOLDER, _FILE, _PART = "grants", "grants.json", "keys"

Key = tuple[str, ...]


class Grants:
    """The keys of requests that need no further question in this workspace. Removing the file takes them back."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.keys = self._load()

    def add(self, key: Key) -> None:
        """Store one more key; keys that other processes added or removed meanwhile are respected."""
        from toolroll.host.runtime.file_lock import hold_lock

        with hold_lock(self._state.folder(_FOLDER), ".lock", CancelToken()):
            self.keys = tuple(dict.fromkeys((*self._load(), key)))
            data = msgspec.json.encode({_PART: self.keys})
            self._state.put(_FOLDER, _FILE, msgspec.json.format(data, indent=1))

    def _load(self) -> tuple[Key, ...]:
        try:
            with open(os.path.join(self._state.path, _FOLDER, _FILE), "rb") as file:
                found = msgspec.json.decode(file.read())
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except msgspec.DecodeError as error:
            raise ValueError(f"{_FILE} of {self._state.path!r} is broken: {error}. Repair or remove it.") from error
        # Other parts are those of older versions, which granted more than was shown: they are asked about again.
        kept = found.get(_PART) if isinstance(found, dict) else None
        return tuple(tuple(key) for key in kept if _is_key(key)) if isinstance(kept, list) else ()


def _is_key(found: object) -> bool:
    return isinstance(found, list) and bool(found) and all(isinstance(part, str) for part in found)
