"""All configured MCP servers of one kit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from toolroll.host.mcp.config import VARIABLE, Config, ServerConfig, default_path, load
from toolroll.result import CouldNotLookError, ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.approval.guard import Guard
    from toolroll.host.approval.secret_access import SecretAccess
    from toolroll.host.capture.capture import Capture
    from toolroll.host.files.root import Root
    from toolroll.host.http.client import Client
    from toolroll.host.mcp.server import McpServer
    from toolroll.host.runtime.state import State
    from toolroll.host.sandbox.git.guard import GitGuard
    from toolroll.policy.limits import Limits

T = TypeVar("T")
_MAX_PARALLEL = 4


class McpServers:
    """The MCP servers that the operator configured. Each is started when it is first used."""

    def __init__(
        self,
        config: Config | None,
        root: Root,
        state: State,
        guard: Guard,
        secrets: SecretAccess,
        http: Client,
        limits: Limits,
        environment: Mapping[str, str],
        git: GitGuard,
        capture: Capture,
    ) -> None:
        """`config` is a file or its content; ValueError for an invalid one."""
        self._configs: dict[str, ServerConfig] = load(config, environment)
        self._parts = (root, state, guard, secrets, http, limits, environment, git, capture)
        self._lock = threading.Lock()
        self._servers: dict[str, McpServer] = {}
        self.problems: dict[str, str] = {}
        """By name, why the tools of a server with `expand` could not be registered."""

    def names(self) -> list[str]:
        return list(self._configs)

    def server(self, name: str | None) -> McpServer:
        """A server by its name; without a name, the only one."""
        if not self._configs:
            where = f"{default_path()!r}, or in the file of {VARIABLE}"
            raise ToolError(ErrorCode.UNSUPPORTED, f"No MCP server is set up. The user can name some in {where}.")
        if name is None and len(self._configs) == 1:
            name = next(iter(self._configs))
        if name is None or name not in self._configs:
            there = f"There are: {', '.join(self._configs)}."
            text = "Say which `server` is meant." if name is None else f"There is no MCP server {name!r}."
            raise ToolError(ErrorCode.VALIDATION if name is None else ErrorCode.NOT_FOUND, f"{text} {there}")
        return self._get(self._configs[name])

    def each(
        self, name: str | None, ask: Callable[[McpServer], T]
    ) -> tuple[dict[str, T], dict[str, CouldNotLookError]]:
        """Run `ask` on one server, or on all without a name; the results by name, and the errors."""
        if name is not None or len(self._configs) <= 1:
            one = self.server(name)
            return {one.name: ask(one)}, {}
        return self._each(self._configs.values(), ask)

    def expanded(self) -> list[McpServer]:
        """The servers with `expand`, whose tools the kit registers at its start; failures go to `problems`."""
        marked = [config for config in self._configs.values() if config.expand]
        if not marked:
            return []
        found, failed = self._each(marked, lambda one: one.kit_tools())
        self.problems = {name: error.message for name, error in failed.items()}
        return [self.server(name) for name in found]

    def close(self) -> None:
        with self._lock:
            servers, self._servers, self._configs = list(self._servers.values()), {}, {}
        enders = [threading.Thread(target=server.close) for server in servers]
        for ender in enders:
            ender.start()
        for ender in enders:
            ender.join()

    def _each(
        self, configs: Iterable[ServerConfig], ask: Callable[[McpServer], T]
    ) -> tuple[dict[str, T], dict[str, CouldNotLookError]]:
        from concurrent.futures import ThreadPoolExecutor
        from contextvars import copy_context  # so that the approver of the call answers

        with ThreadPoolExecutor(_MAX_PARALLEL, "toolroll mcp") as pool:
            asked = {config.name: pool.submit(copy_context().run, ask, self._get(config)) for config in configs}
        found: dict[str, T] = {}
        failed: dict[str, CouldNotLookError] = {}
        for name, future in asked.items():
            error = future.exception()
            if error is None:
                found[name] = future.result()
            elif isinstance(error, ToolError) and error.code is not ErrorCode.CANCELLED:
                failed[name] = CouldNotLookError.of(f"The MCP server {name!r}", error)
            else:
                raise error
        return found, failed

    def _get(self, config: ServerConfig) -> McpServer:
        with self._lock:
            if config.name not in self._servers:
                self._servers[config.name] = self._make(config)
            return self._servers[config.name]

    def _make(self, config: ServerConfig) -> McpServer:
        from toolroll.host.mcp.lifecycle import ServerDependencies
        from toolroll.host.mcp.pins import ToolPins
        from toolroll.host.mcp.server import McpServer
        from toolroll.host.mcp.spawn import McpSpawner

        root, state, guard, secrets, http, limits, environment, git, capture = self._parts
        spawner = McpSpawner(root, state, guard, environment, git, capture)
        pins, memory = ToolPins(state), limits.memory_bytes
        return McpServer(config, ServerDependencies(spawner, http, pins, guard, secrets, environment, memory))
