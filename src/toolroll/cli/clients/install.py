"""Configuration entries with which MCP clients start the server: file, key and format of each client."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolroll.cli.clients.settings_file import merge_json, merge_toml, rewrite

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
class McpClient:
    """A program that starts MCP servers."""

    title: str
    path: str
    """Its settings file. `~` is the home folder, `{config}` the configuration folder, `{project}` the workspace."""
    key: str = "mcpServers"
    shape: Shape = _plain
    toml: bool = False
    has_roots: bool = True
    """Whether it sends its roots to servers, so that one entry serves all projects."""


CLIENTS: dict[str, McpClient] = {
    "claude": McpClient("Claude Code", "{project}/.mcp.json", shape=_typed),
    "claude-desktop": McpClient("Claude Desktop", "{config}/Claude/claude_desktop_config.json", has_roots=False),
    "codex": McpClient("Codex", "~/.codex/config.toml", "mcp_servers", toml=True, has_roots=False),
    "cursor": McpClient("Cursor", "~/.cursor/mcp.json"),
    "gemini": McpClient("Gemini CLI", "~/.gemini/settings.json"),
    "opencode": McpClient("opencode", "~/.config/opencode/opencode.json", "mcp", _local, has_roots=False),
    "vscode": McpClient("Visual Studio Code", "{config}/Code/User/mcp.json", "servers", _typed),
    "windsurf": McpClient("Windsurf", "~/.codeium/windsurf/mcp_config.json", has_roots=False),
    "zed": McpClient("Zed", "~/.config/zed/settings.json", "context_servers", _custom, has_roots=False),
}


@dataclass(frozen=True, slots=True)
class ClientEntry:
    """The entry of the server in a client's settings."""

    client: McpClient
    name: str
    command: str
    args: tuple[str, ...]
    project: str

    @property
    def path(self) -> str:
        """The client's settings file."""
        filled = self.client.path.format(config=_config(), project=self.project)
        return os.path.expanduser(filled)

    @property
    def value(self) -> dict[str, Any]:
        """The entry in the client's format."""
        return self.client.shape(self.command, self.args)

    def text(self) -> str:
        """A settings file with only this entry."""
        return self._merge("")

    def write(self) -> str | None:
        """Add the entry to the client's file; returns the path of the backup, if the file existed.

        Raises ValueError when the file cannot be parsed, and leaves it unchanged.
        """
        return rewrite(self.path, self._merge)

    def _merge(self, before: str) -> str:
        merge = merge_toml if self.client.toml else merge_json
        return merge(before, self.client.key, self.name, self.value)


def own_command() -> tuple[str, ...]:
    """The absolute command line that starts this program."""
    program = os.path.abspath(sys.argv[0])
    if os.path.basename(program).startswith("toolroll") and os.access(program, os.X_OK) and os.path.isfile(program):
        return (program,)
    return (sys.executable, "-P", "-m", "toolroll")  # -P: import nothing from the folder where the client starts it


def _config(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> str:
    if platform == "darwin":
        return "~/Library/Application Support"
    if platform == "win32":
        return environment.get("APPDATA") or "~/AppData/Roaming"
    return environment.get("XDG_CONFIG_HOME") or "~/.config"
