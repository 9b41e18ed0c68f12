"""Pins: the tool definitions of each server when they were first seen. A changed definition is not trusted."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from toolroll.host.mcp.definitions import ToolDefinition
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.mcp.config import ServerConfig
    from toolroll.host.runtime.cancellation import CancelToken
    from toolroll.host.runtime.state import State

_FOLDER, _FILE = "servers", "pins.json"


class ToolPins:
    """Pinned definitions, stored with the workspace's state. Removing the file resets all pins."""

    def __init__(self, state: State) -> None:
        self._state = state

    @property
    def path(self) -> str:
        return os.path.join(self._state.path, _FOLDER, _FILE)

    def of(self, config: ServerConfig) -> dict[str, ToolDefinition]:
        """The pinned tools of a server by name; none when its program or URL changed."""
        stored = self._load().get(config.name)
        if not isinstance(stored, dict) or stored.get("source") != config.source:
            return {}
        try:
            found = msgspec.convert(stored.get("tools"), list[ToolDefinition])
        except msgspec.ValidationError as error:
            raise self._broken(error) from error
        return {one.name: one for one in found}

    def add(self, config: ServerConfig, found: Iterable[ToolDefinition], token: CancelToken) -> None:
        """Pin these definitions; they replace those of the same names."""
        from toolroll.host.runtime.file_lock import hold_lock

        with hold_lock(self._state.folder(_FOLDER), ".lock", token):
            tools = {**self.of(config), **{one.name: one for one in found}}
            stored = {**self._load(), config.name: {"source": config.source, "tools": list(tools.values())}}
            self._state.put(_FOLDER, _FILE, msgspec.json.format(msgspec.json.encode(stored), indent=1))

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
        text = f"{self.path!r}, with the known tools of MCP servers, is broken: {error}. Ask the user."
        return ToolError(ErrorCode.IO, text)


def describe_changes(before: ToolDefinition, now: ToolDefinition) -> str:
    """The difference between two definitions, in words; empty when there is none."""
    if before.digest == now.digest:
        return ""
    parts = {
        "its description": before.description != now.description,
        "its parameters": before.schema != now.schema,
        "its annotations": before.annotations != now.annotations,
    }
    return " and ".join(name for name, changed in parts.items() if changed) or "parts of it that are not shown"
