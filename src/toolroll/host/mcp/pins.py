"""What the tools of each server were when they were first seen. A definition that has changed since is not trusted."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from toolroll.host.mcp.definitions import Definition
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.mcp.config import Entry
    from toolroll.host.runtime.cancellation import Token
    from toolroll.host.runtime.state import State

_FOLDER, _FILE = "servers", "pins.json"


class Pins:
    """Kept with the workspace's state. Removing the file lets every definition be seen for the first time again."""

    def __init__(self, state: State) -> None:
        self._state = state

    @property
    def path(self) -> str:
        """Where they are, whether or not there are any."""
        return os.path.join(self._state.path, _FOLDER, _FILE)

    def of(self, entry: Entry) -> dict[str, Definition]:
        """The pinned tools of a server, by name; none when its entry now names another program."""
        kept = self._load().get(entry.name)
        if not isinstance(kept, dict) or kept.get("source") != entry.source:
            return {}
        try:
            found = msgspec.convert(kept.get("tools"), list[Definition])
        except msgspec.ValidationError as error:
            raise self._broken(error) from error
        return {one.name: one for one in found}

    def add(self, entry: Entry, found: Iterable[Definition], token: Token) -> None:
        """Keep these, in place of those of the same names."""
        from toolroll.host.runtime.file_lock import hold_lock

        with hold_lock(self._state.folder(_FOLDER), ".lock", token):
            tools = {**self.of(entry), **{one.name: one for one in found}}
            kept = {**self._load(), entry.name: {"source": entry.source, "tools": list(tools.values())}}
            self._state.put(_FOLDER, _FILE, msgspec.json.format(msgspec.json.encode(kept), indent=1))

    def _load(self) -> dict[str, Any]:
        try:
            with open(self.path, "rb") as file:
                found = msgspec.json.decode(file.read())
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except msgspec.DecodeError as error:
            raise self._broken(error) from error
        return found if isinstance(found, dict) else {}

    def _broken(self, error: Exception) -> ToolError:
        return ToolError(
            ErrorCode.IO, f"{self.path!r}, with the known tools of MCP servers, is broken: {error}. Ask the user."
        )


def changes(before: Definition, now: Definition) -> str:
    """What is different about a tool, in words; empty when nothing is."""
    if before.digest == now.digest:
        return ""
    parts = {
        "its description": before.description != now.description,
        "its parameters": before.schema != now.schema,
        "its annotations": before.annotations != now.annotations,
    }
    return " and ".join(name for name, changed in parts.items() if changed) or "parts of it that are not shown"
