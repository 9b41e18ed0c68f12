"""`toolroll mcp --install` and `--uninstall`: print, set or remove the server's entry in a client's settings."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from toolroll.cli.clients.known_clients import CLIENTS, TOKEN, TRANSPORT_KEYS, McpClient, settings_folders
from toolroll.cli.clients.settings_file import rewrite
from toolroll.cli.clients.settings_text import Change, edit_json, edit_toml
from toolroll.cli.screen import write
from toolroll.host.runtime.launcher import run_for_operator

ALL = "all"


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """The server that clients are to start or to connect to."""

    name: str
    options: tuple[str, ...]
    """Of `toolroll mcp`, without the workspace."""
    workspace: str | None
    """The folder that the user named."""
    port: int | None = None
    """With one, clients connect to it over HTTP."""
    project: bool = False
    """Whether it goes into the project's own file."""

    def path(self, client: McpClient) -> str:
        """The file that it goes into; empty for the one that only the client itself changes."""
        if self.in_project(client):
            return os.path.join(os.path.abspath(self.workspace or "."), client.project)
        path = _in_folders(client.path)
        return f"{path}c" if os.path.exists(f"{path}c") and not os.path.exists(path) else path  # .jsonc

    def in_project(self, client: McpClient) -> bool:
        return self.project or (not client.path and _claude() is None)

    def value(self, client: McpClient) -> dict[str, Any]:
        """The entry in the client's shape; ValueError when the client cannot have it."""
        if self.project and not client.project:
            raise ValueError(f"{client.title} has no settings file in a project. Leave out --project.")
        if self.port is not None:
            return self._remote(client, self.port)
        shared = self.in_project(client)
        if not client.in_session and self.workspace is None:
            raise ValueError(f"{client.title} has no folder for a session. Name the one to work in with -C DIR.")
        place = ["-C", os.path.abspath(self.workspace)] if self.workspace is not None and not shared else []
        command, *args = shared_command() if shared else own_command()
        return client.local(command, [*args, "mcp", *place, *self.options])

    def _remote(self, client: McpClient, port: int) -> dict[str, Any]:
        if client.remote is None:
            raise ValueError(
                f"{client.title} cannot take the token of --http from the environment. Leave out --http: it starts the "
                "server by itself."
            )
        return client.remote(f"http://127.0.0.1:{port}/mcp")

    def text(self, client: McpClient) -> str:
        """A settings file with only this entry."""
        return self._edit(client, lambda _: self.value(client))("")

    def install(self, client: McpClient) -> str:
        """Set the entry; returns a sentence about it. ValueError when the file cannot be changed."""
        value = self.value(client)
        if not self.path(client):
            return self._add_by_claude(value)
        return self._rewrite(client, lambda before: _merge(before, value), "Wrote {!r} into {}.")

    def uninstall(self, client: McpClient) -> str:
        """Remove the entry; returns a sentence about it."""
        if not self.path(client):
            return f"Removed {self.name!r} from Claude Code." if self._remove_by_claude() else ""
        return self._rewrite(client, lambda _: None, "Removed {!r} from {}.")

    def _rewrite(self, client: McpClient, change: Change, sentence: str) -> str:
        path = self.path(client)
        changed, backup = rewrite(path, self._edit(client, change))
        if not changed:
            return ""
        return sentence.format(self.name, path) + (f" As it was: {backup}" if backup else "")

    def _edit(self, client: McpClient, change: Change) -> Callable[[str], str]:
        edit = edit_toml if client.toml else edit_json
        return partial(edit, key=client.key, name=self.name, change=change)

    def _add_by_claude(self, value: dict[str, Any]) -> str:
        before = _claude_entry(self.name)
        value = _merge(before, value)
        if before == value:
            return ""
        if before is not None:  # it does not replace an entry
            self._remove_by_claude()
        add = ("add-json", "--scope", "user", self.name, json.dumps(value, ensure_ascii=False))
        if not _run_claude(*add) and not (before is None and self._remove_by_claude() and _run_claude(*add)):
            raise ValueError("`claude mcp add-json` failed.")
        return f"Added {self.name!r} to Claude Code, for all projects."

    def _remove_by_claude(self) -> bool:
        return _run_claude("remove", "--scope", "user", self.name)


def _merge(before: Mapping[str, Any] | None, value: dict[str, Any]) -> dict[str, Any]:
    """The new entry with what the user has added to the old one."""
    kept = before if isinstance(before, dict) else {}
    return {**value, **{name: one for name, one in kept.items() if name not in TRANSPORT_KEYS}}


def run(server: ServerEntry, chosen: str, action: str) -> int:
    """Do `print`, `install` or `uninstall` for a client, or for all that this machine has; the exit status."""
    names = [name for name in CLIENTS if _is_present(name, server)] if chosen == ALL else [chosen]
    if not names:
        raise ValueError(f"None of the clients is set up on this machine. Name one: {', '.join(CLIENTS)}.")
    failed = 0
    for name in names:
        try:
            _act(server, CLIENTS[name], action)
        except (OSError, ValueError) as error:
            if chosen != ALL:
                raise
            failed += 1
            write(f"{CLIENTS[name].title}: {error}", to=sys.stderr)
    return 1 if failed == len(names) else 0


def _act(server: ServerEntry, client: McpClient, action: str) -> None:
    if action == "uninstall":
        write(server.uninstall(client) or f"{client.title} has no entry {server.name!r}.")
        return
    if action == "install":
        write(server.install(client) or f"{client.title} has this entry {server.name!r} already.")
    else:
        where = server.path(client) or "its own settings, by `claude mcp add-json`"
        text = server.text(client)
        write(f"For {client.title}, in {where}:", to=sys.stderr)
        write(text, end="")
    for note in _notes(server, client):
        write(note, to=sys.stderr)


def _notes(server: ServerEntry, client: McpClient) -> list[str]:
    """What the user must know to use the entry."""
    notes = [client.note] if client.note else []
    if server.port is not None:
        folder = f" -C {server.workspace}" if server.workspace is not None else ""
        notes.append(f"Set {TOKEN} for both, and start: toolroll mcp --http --port {server.port}{folder}")
    elif server.workspace is not None and client.in_session and not server.in_project(client):
        notes.append(f"Without -C, {client.title} would use the folder of each session. This entry always uses one.")
    elif server.in_project(client):
        notes.append("Others who use this file need `toolroll` on their PATH.")
    return notes


def _is_present(name: str, server: ServerEntry) -> bool:
    """Whether this machine has the client: its program, or the folder of its settings."""
    client = CLIENTS[name]
    if server.project:
        return bool(client.project)
    path = server.path(client)
    return bool(shutil.which(name)) or (bool(client.path) and os.path.isdir(os.path.dirname(path)))


def _in_folders(path: str) -> str:
    return os.path.expanduser(path.format(**settings_folders()))


def _claude_entry(name: str) -> Any:
    """The user's entry of this name in Claude Code's own file, which only Claude Code changes; None if it has none."""
    try:
        with open(_in_folders("{claude}/.claude.json"), encoding="utf-8") as file:
            return json.load(file)["mcpServers"][name]
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _claude() -> str | None:
    return shutil.which("claude")


def _run_claude(*words: str) -> bool:
    return run_for_operator([_claude() or "claude", "mcp", *words]) == 0


def own_command() -> tuple[str, ...]:
    """The command line that starts this program on this machine."""
    if (source := _uvx_source()) is not None:  # its cache is cleaned
        return ("uvx", "--from", source, "toolroll")
    program = os.path.abspath(sys.argv[0])
    if os.path.basename(program).startswith("toolroll") and os.access(program, os.X_OK) and os.path.isfile(program):
        return (program,)
    return (sys.executable, "-P", "-m", "toolroll")  # -P: import nothing from the folder where the client starts it


def shared_command() -> tuple[str, ...]:
    """The command line that starts this program on any machine."""
    source = _uvx_source()
    return ("toolroll",) if source is None or os.path.isabs(source) else ("uvx", "--from", source, "toolroll")


def _uvx_source() -> str | None:
    """What uvx was given, if it has started this program."""
    try:
        with open(f"/proc/{os.getppid()}/cmdline", "rb") as file:
            words = file.read().decode(errors="surrogateescape").split("\0")[:-1]
    except OSError:
        return None
    return find_uvx_source(words)


def find_uvx_source(words: Sequence[str]) -> str | None:
    """The package that a command line of `uvx` or `uv tool run` runs; None for another program."""
    match [os.path.basename(words[0]) if words else "", *words[1:]]:
        case ["uv", "tool", "run" | "uvx", *rest] | ["uvx", *rest]:
            pass
        case _:
            return None
    for at, word in enumerate(rest):
        option, equals, value = word.partition("=")
        if option == "--from" and (equals or at + 1 < len(rest)):
            source = value if equals else rest[at + 1]
            return os.path.abspath(source) if os.path.exists(source) else source
        if word.startswith("toolroll"):
            name, _, version = word.partition("@")
            return f"{name}=={version}" if version not in ("", "latest") else name
    return "toolroll"
