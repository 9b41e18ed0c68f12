"""How each client is told to start the server: where its settings are and what it wants to read there."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolroll.cli.settings_file import merged_json, merged_toml, written

Shape = Callable[[str, Sequence[str]], dict[str, Any]]


def _plain(command: str, args: Sequence[str]) -> dict[str, Any]:
    return {"command": command, "args": list(args)}


def _typed(command: str, args: Sequence[str]) -> dict[str, Any]:
    return {"type": "stdio", "command": command, "args": list(args)}


def _custom(command: str, args: Sequence[str]) -> dict[str, Any]:
    return {"source": "custom", "command": command, "args": list(args)}


def _local(command: str, args: Sequence[str]) -> dict[str, Any]:
    return {"type": "local", "command": [command, *args], "enabled": True}


@dataclass(frozen=True, slots=True)
class Client:
    """A program that starts MCP servers."""

    title: str
    path: str
    """Of its settings. `~` is the user's folder, `{config}` where programs keep settings, `{project}` the workspace."""
    key: str = "mcpServers"
    shape: Shape = _plain
    toml: bool = False
    places: bool = True
    """Whether it tells its servers where it works, so that one entry serves all projects."""


CLIENTS: dict[str, Client] = {
    "claude": Client("Claude Code", "{project}/.mcp.json", shape=_typed),
    "claude-desktop": Client("Claude Desktop", "{config}/Claude/claude_desktop_config.json", places=False),
    "codex": Client("Codex", "~/.codex/config.toml", "mcp_servers", toml=True, places=False),
    "cursor": Client("Cursor", "~/.cursor/mcp.json"),
    "gemini": Client("Gemini CLI", "~/.gemini/settings.json"),
    "opencode": Client("opencode", "~/.config/opencode/opencode.json", "mcp", _local, places=False),
    "vscode": Client("Visual Studio Code", "{config}/Code/User/mcp.json", "servers", _typed),
    "windsurf": Client("Windsurf", "~/.codeium/windsurf/mcp_config.json", places=False),
    "zed": Client("Zed", "~/.config/zed/settings.json", "context_servers", _custom, places=False),
}


@dataclass(frozen=True, slots=True)
class Entry:
    """What one client is to be told."""

    client: Client
    name: str
    command: str
    args: tuple[str, ...]
    project: str

    @property
    def path(self) -> str:
        """The client's file."""
        filled = self.client.path.format(config=_config(), project=self.project)
        return os.path.expanduser(filled)

    @property
    def value(self) -> dict[str, Any]:
        """The entry, as the client wants it."""
        return self.client.shape(self.command, self.args)

    def text(self) -> str:
        """A file that holds nothing but the entry."""
        return self._merged("")

    def write(self) -> str | None:
        """Put the entry into the client's file, beside what is there; the backup of what was there, if anything was.

        Raises ValueError when the file cannot be understood: then it is left as it is.
        """
        return written(self.path, self._merged)

    def _merged(self, before: str) -> str:
        merge = merged_toml if self.client.toml else merged_json
        return merge(before, self.client.key, self.name, self.value)


def own_command() -> tuple[str, ...]:
    """The absolute command line that starts this program."""
    program = os.path.abspath(sys.argv[0])
    if os.path.basename(program).startswith("toolroll") and os.access(program, os.X_OK) and os.path.isfile(program):
        return (program,)
    return (sys.executable, "-P", "-m", "toolroll")  # -P: not what lies in the folder where the client starts it


def _config(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> str:
    if platform == "darwin":
        return "~/Library/Application Support"
    if platform == "win32":
        return environment.get("APPDATA") or "~/AppData/Roaming"
    return environment.get("XDG_CONFIG_HOME") or "~/.config"
