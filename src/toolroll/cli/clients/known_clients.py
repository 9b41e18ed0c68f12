"""The MCP clients that `toolroll mcp --install` knows: settings files, and the shape of an entry in each."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

TOKEN = "TOOLROLL_MCP_TOKEN"
Entry = dict[str, Any]
LocalShape = Callable[[str, Sequence[str]], Entry]
RemoteShape = Callable[[str], Entry]


def _plain(command: str, args: Sequence[str]) -> Entry:
    return {"command": command, "args": list(args)}


def _typed(command: str, args: Sequence[str]) -> Entry:
    return {"type": "stdio", "command": command, "args": list(args)}


def _custom(command: str, args: Sequence[str]) -> Entry:
    return {"source": "custom", "command": command, "args": list(args)}


def _local(command: str, args: Sequence[str]) -> Entry:
    return {"type": "local", "command": [command, *args], "enabled": True}


def _remote(key: str, variable: str, **more: Any) -> RemoteShape:
    """An entry with the address under `key`; `variable` is how the client writes one of the environment."""
    return lambda url: {**more, key: url, "headers": {"Authorization": f"Bearer {variable.format(TOKEN)}"}}


def _codex_remote(url: str) -> Entry:
    return {"url": url, "bearer_token_env_var": TOKEN}


@dataclass(frozen=True, slots=True)
class McpClient:
    """A program that starts MCP servers, or connects to them."""

    title: str
    path: str
    """The user's settings file. `~` is the home folder; names in braces are those of `settings_folders`."""
    remote: RemoteShape | None
    """Its entry for a server over HTTP; None if its file cannot hold one with a token from the environment."""
    local: LocalShape = _plain
    key: str = "mcpServers"
    project: str = ""
    """The settings file in a project, which others share."""
    toml: bool = False
    in_session: bool = True
    """Whether it starts the server in the session's folder, or tells it its roots."""
    note: str = ""
    """What the user may want to add."""


_CODEX_NOTE = """\
Codex asks before tools that change something, and `codex exec` refuses them. To allow all of them, add to the table:
default_tools_approval_mode = "approve". Calls run one after another; side by side with: \
supports_parallel_tool_calls = true. `required = true` makes Codex wait for the tools of a slow start."""

CLIENTS: dict[str, McpClient] = {
    # Only `claude mcp` changes its user-wide file.
    "claude": McpClient("Claude Code", "", _remote("url", "${{{}}}", type="http"), _typed, project=".mcp.json"),
    "claude-desktop": McpClient("Claude Desktop", "{config}/Claude/claude_desktop_config.json", None, in_session=False),
    "codex": McpClient("Codex", "{codex}/config.toml", _codex_remote, key="mcp_servers", toml=True, note=_CODEX_NOTE),
    "cursor": McpClient("Cursor", "~/.cursor/mcp.json", _remote("url", "${{env:{}}}"), project=".cursor/mcp.json"),
    "gemini": McpClient(
        "Gemini CLI", "{gemini}/.gemini/settings.json", _remote("httpUrl", "${}"), project=".gemini/settings.json"
    ),
    "opencode": McpClient(
        "opencode",
        "{xdg}/opencode/opencode.json",
        _remote("url", "{{env:{}}}", type="remote", enabled=True),
        _local,
        "mcp",
        "opencode.json",
    ),
    "vscode": McpClient(
        "Visual Studio Code",
        "{config}/Code/User/mcp.json",
        _remote("url", "${{env:{}}}", type="http"),
        _typed,
        "servers",
        ".vscode/mcp.json",
    ),
    "windsurf": McpClient("Windsurf", "~/.codeium/windsurf/mcp_config.json", _remote("serverUrl", "${{env:{}}}")),
    "zed": McpClient("Zed", "{xdg}/zed/settings.json", None, _custom, "context_servers", ".zed/settings.json"),
}
_LOCAL_KEYS = ("type", "source", "transport", "command", "args", "enabled")
TRANSPORT_KEYS = frozenset((*_LOCAL_KEYS, "url", "httpUrl", "serverUrl", "headers", "bearer_token_env_var"))
"""What an entry is made of; all else in one was added by the user and stays."""


def settings_folders(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> dict[str, str]:
    """Where programs keep their settings: usual ones (`config`), those that go by XDG everywhere, and single ones."""
    xdg = environment.get("XDG_CONFIG_HOME") or "~/.config"
    usual = {"darwin": "~/Library/Application Support", "win32": environment.get("APPDATA") or "~/AppData/Roaming"}
    return {
        "config": usual.get(platform, xdg),
        "xdg": xdg,
        "codex": environment.get("CODEX_HOME") or "~/.codex",
        "gemini": environment.get("GEMINI_CLI_HOME") or "~",
        "claude": environment.get("CLAUDE_CONFIG_DIR") or "~",
    }
