"""All MCP servers of one kit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from toolroll.host.mcp.config import VARIABLE, Config, Entry, default_path, load
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.approval.guard import Guard
    from toolroll.host.approval.taint import Taint
    from toolroll.host.files.root import Root
    from toolroll.host.http.client import Client
    from toolroll.host.mcp.server import Remote
    from toolroll.host.runtime.state import State
    from toolroll.host.sandbox.git.guard import GitGuard
    from toolroll.policy.limits import Limits

T = TypeVar("T")
_AT_ONCE = 4


class Remotes:
    """Other people's MCP servers, as the operator has named them. Nothing is started before it is used."""

    def __init__(
        self,
        config: Config | None,
        root: Root,
        state: State,
        guard: Guard,
        taint: Taint,
        http: Client,
        limits: Limits,
        environment: Mapping[str, str],
        git: GitGuard,
    ) -> None:
        """`config` is a file, or what would be in one; ValueError for one that cannot be understood."""
        self._entries: dict[str, Entry] = load(config, environment)
        self._parts = (root, state, guard, taint, http, limits, environment, git)
        self._lock = threading.Lock()
        self._remotes: dict[str, Remote] = {}
        self.problems: dict[str, str] = {}
        """Why servers that were to be expanded from the start were not, by name."""

    def names(self) -> list[str]:
        """The servers that there are."""
        return list(self._entries)

    def server(self, name: str | None) -> Remote:
        """A server by its name; without one, the only one that there is."""
        if not self._entries:
            raise ToolError(
                ErrorCode.UNSUPPORTED,
                f"No MCP server is set up. The user can name some in {default_path()!r}, or in the file of {VARIABLE}.",
            )
        if name is None and len(self._entries) == 1:
            name = next(iter(self._entries))
        if name is None or name not in self._entries:
            there = f"There are: {', '.join(self._entries)}."
            text = "Say which `server` is meant." if name is None else f"There is no MCP server {name!r}."
            raise ToolError(ErrorCode.VALIDATION if name is None else ErrorCode.NOT_FOUND, f"{text} {there}")
        return self._remote(self._entries[name])

    def each(self, name: str | None, ask: Callable[[Remote], T]) -> tuple[dict[str, T], list[ToolError]]:
        """What one server gives, or every one when none is named, and the errors of those that gave nothing."""
        if name is not None or len(self._entries) <= 1:
            one = self.server(name)
            return {one.name: ask(one)}, []
        return self._each(self._entries.values(), ask)

    def expanded(self) -> list[Remote]:
        """The servers whose tools are to be the kit's from the start; `problems` tells of those that fail."""
        marked = [entry for entry in self._entries.values() if entry.expand]
        if not marked:
            return []
        found, failed = self._each(marked, lambda one: one.offered())
        self.problems = {str(error.details): error.message for error in failed}
        return [self.server(name) for name in found]

    def close(self) -> None:
        """End all servers and whatever they started."""
        with self._lock:
            remotes, self._remotes, self._entries = list(self._remotes.values()), {}, {}
        enders = [threading.Thread(target=remote.close) for remote in remotes]
        for ender in enders:
            ender.start()
        for ender in enders:
            ender.join()

    def _each(self, entries: Iterable[Entry], ask: Callable[[Remote], T]) -> tuple[dict[str, T], list[ToolError]]:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(_AT_ONCE, "toolroll mcp") as pool:
            asked = {entry.name: pool.submit(ask, self._remote(entry)) for entry in entries}
        found: dict[str, T] = {}
        failed: list[ToolError] = []
        for name, future in asked.items():
            error = future.exception()
            if error is None:
                found[name] = future.result()
            elif isinstance(error, ToolError) and error.code is not ErrorCode.CANCELLED:
                failed.append(ToolError(error.code, error.message, details=name))
            else:
                raise error
        return found, failed

    def _remote(self, entry: Entry) -> Remote:
        with self._lock:
            if entry.name not in self._remotes:
                self._remotes[entry.name] = self._made(entry)
            return self._remotes[entry.name]

    def _made(self, entry: Entry) -> Remote:
        from toolroll.host.mcp.lifecycle import World
        from toolroll.host.mcp.pins import Pins
        from toolroll.host.mcp.server import Remote
        from toolroll.host.mcp.spawn import Spawner

        root, state, guard, taint, http, limits, environment, git = self._parts
        spawner = Spawner(root, state, guard, environment, git)
        return Remote(entry, World(spawner, http, Pins(state), guard, taint, environment, limits.memory_bytes))
