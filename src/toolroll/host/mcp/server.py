"""One configured MCP server: its tools, resources and prompts. A tool that changed since it was pinned asks first."""

from __future__ import annotations

import difflib
import hashlib
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from toolroll.host.approval.guard import ApprovalRequest
from toolroll.host.mcp import results
from toolroll.host.mcp.definitions import ToolDefinition, find_mirrored_headers, parse_definitions
from toolroll.host.mcp.lifecycle import ServerDependencies, ServerLifecycle
from toolroll.host.mcp.pins import describe_changes
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.policy.effects import Effect
from toolroll.result import ErrorCode, ToolError
from toolroll.schema import Checker

if TYPE_CHECKING:
    from toolroll.host.mcp.config import ServerConfig
    from toolroll.host.mcp.results import McpResult
    from toolroll.host.mcp.session import McpSession
    from toolroll.host.runtime.call import Call

OnToolsChanged = Callable[[Iterable[str], Iterable["RemoteTool"]], None]
"""Takes the names of tools that are gone or changed, and the tools that replace them."""

_HTTP_LIST_AGE_S = 60.0  # over HTTP a server cannot report changes, so its tools are listed again after this time
_REFRESH_INTERVAL_S = 0.2  # between two lists of a server that reports changes all the time
_MAX_NAME_CHARS = 64  # the limit of model providers
_INVALID_NAME_CHARS = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True)
class PinnedTool:
    """A tool of a server: its definition now, and the one that was pinned when it was first seen."""

    now: ToolDefinition
    shown: ToolDefinition
    """What the model sees: the pinned definition, until the user approves the new one."""
    change: str = ""
    checker: Checker = field(default_factory=lambda: Checker({}))


@dataclass(frozen=True, slots=True)
class RemoteTool:
    """A tool of a server that a kit can register, under its own name and with the effects it may have at worst."""

    name: str
    description: str
    effects: Effect
    schema: dict[str, Any]
    server: McpServer
    own_name: str
    """The name on the server."""

    def kit_tools(self) -> list[RemoteTool]:
        return [self]

    def follow(self, _on_change: OnToolsChanged) -> None:
        """Do nothing: it stays as registered, and a call of a changed tool asks first."""

    def call(self, call: Call, /, **arguments: Any) -> McpResult:
        """Call the tool on the server; the kit's guard has approved the call."""
        return self.server.call(self.own_name, arguments, call, authorised=True)


class McpServer:
    """One server. It is started when it is first needed."""

    def __init__(self, config: ServerConfig, dependencies: ServerDependencies) -> None:
        self.config = config
        self._dependencies = dependencies
        self._lifecycle = ServerLifecycle(config, dependencies, self._on_list_changed)
        self._tools: dict[str, PinnedTool] = {}
        self._listed_from: McpSession | None = None
        self._listed_at = 0.0
        self._is_stale = False
        self._registered: dict[str, RemoteTool] = {}
        self._on_change: OnToolsChanged | None = None
        self._refreshing = threading.Lock()
        self._closed = threading.Event()

    @property
    def name(self) -> str:
        return self.config.name

    def kit_tools(self) -> list[RemoteTool]:
        """Its tools for a kit. Pinned tools are returned without starting the server."""
        if self._listed_from is None and (pinned := self._dependencies.pins.of(self.config)):
            known = [one for one in pinned.values() if self._is_wanted(one)]
        else:
            known = [one.shown for one in self.tools(self._start_token()).values() if not one.now.problem]
        tools = [self._as_kit_tool(one) for one in known]
        self._registered = {one.name: one for one in tools}
        return tools

    def tool(self, name: str) -> RemoteTool:
        return self._as_kit_tool(self._find(name, self._start_token()).shown)

    def follow(self, on_change: OnToolsChanged) -> None:
        """Call `on_change` whenever the tools differ from what `kit_tools` returned."""
        self._on_change = on_change

    def tools(self, token: CancelToken) -> dict[str, PinnedTool]:
        """Its current tools, by their names on the server."""
        session = self._lifecycle.session
        alive = session is not None and session is self._listed_from and session.transport.gone is None
        old = bool(self.config.url) and time.monotonic() - self._listed_at > _HTTP_LIST_AGE_S
        if not alive or old or self._is_stale:
            self._is_stale = False
            self._list(token)
        return self._tools

    def call(self, name: str, arguments: Mapping[str, Any], call: Call, *, authorised: bool = False) -> McpResult:
        """Call a tool. `authorised`: the guard has approved this call already."""
        known = self._find(name, call.token)
        if known.now.problem:
            raise ToolError(ErrorCode.UNSUPPORTED, f"The tool {name!r} cannot be used: {known.now.problem}.")
        checked, _ = known.checker.check(arguments)
        effects = self._effects(known.now)
        if not authorised:
            self._dependencies.guard.authorise(kit_name(self.config, name), effects, checked)
        if known.change:
            self._confirm(known, call.token)
        self._dependencies.secrets.check_call(call, effects)
        params, headers = {"name": name, "arguments": checked}, find_mirrored_headers(known.now.schema, checked)

        def ask(session: McpSession, deadline: float) -> dict[str, Any]:
            return session.ask("tools/call", params, call.token, deadline, progress=call.progress, headers=headers)

        with self._dependencies.spawner.captured(self.config, call, name):
            result = self._lifecycle.use(call.token, ask, again=False)
        answer = results.tool_result(result, self._content(call), name)
        self._notice_answer(effects)
        return answer

    def read(self, uri: str, call: Call) -> McpResult:
        self._require("resources", call.token)
        self._dependencies.secrets.check_call(call, self._network)
        result = self._ask("resources/read", {"uri": uri}, call.token)
        answer = results.resource_result(result, self._content(call), uri)
        self._notice_answer(self._network)
        return answer

    def prompt(self, name: str, arguments: Mapping[str, Any], call: Call) -> McpResult:
        self._require("prompts", call.token)
        self._dependencies.secrets.check_call(call, self._network)
        texts = {key: value if isinstance(value, str) else str(value) for key, value in arguments.items()}
        result = self._ask("prompts/get", {"name": name, "arguments": texts}, call.token)
        return results.prompt_result(result, self._content(call), name)

    def resources(self, token: CancelToken) -> list[Mapping[str, Any]]:
        return [*self._list_all("resources", "resources/list", "resources", token), *self._templates(token)]

    def prompts(self, token: CancelToken) -> list[Mapping[str, Any]]:
        return self._list_all("prompts", "prompts/list", "prompts", token)

    def close(self) -> None:
        self._on_change = None
        self._closed.set()
        self._lifecycle.close()

    def _notice_answer(self, effects: Effect) -> None:
        self._dependencies.secrets.notice_result(effects)
        if not self.config.url:
            self._dependencies.secrets.notice_program(f"The MCP server {self.name!r}")

    def _content(self, call: Call) -> results.ResultContent:
        return results.ResultContent(self.name, call.limits.output_chars, self._lifecycle.hide)

    def _start_token(self) -> CancelToken:
        return CancelToken(self.config.start_timeout + self.config.timeout)

    def _find(self, name: str, token: CancelToken) -> PinnedTool:
        known = self.tools(token)
        if name in known:
            return known[name]
        near = difflib.get_close_matches(name, known, n=3)
        names = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"There are: {', '.join(known) or 'none'}."
        raise ToolError(ErrorCode.NOT_FOUND, f"The MCP server {self.name!r} has no tool {name!r}. {names}")

    def _list(self, token: CancelToken) -> None:
        def ask(session: McpSession, deadline: float) -> tuple[McpSession, list[Any]]:
            return session, session.list_all("tools/list", "tools", token, deadline) if session.can("tools") else []

        self._listed_from, raw = self._lifecycle.use(token, ask, again=True)
        self._listed_at = time.monotonic()
        found = [one for one in parse_definitions(raw) if self._is_wanted(one)]
        pins = self._dependencies.pins
        pinned = pins.of(self.config)
        if fresh := [one for one in found if one.name not in pinned and not one.problem]:
            pins.add(self.config, fresh, token)
        self._replace_tools({one.name: _compare(one, pinned.get(one.name, one)) for one in found})

    def _replace_tools(self, tools: dict[str, PinnedTool]) -> None:
        self._tools = tools
        if self._on_change is None:
            return
        current = [self._as_kit_tool(one.shown) for one in tools.values() if not one.now.problem]
        before, self._registered = self._registered, {one.name: one for one in current}
        gone = [name for name, one in before.items() if self._registered.get(name) != one]
        new = [one for one in current if before.get(one.name) != one]
        if gone or new:
            self._on_change(gone, new)

    def _confirm(self, known: PinnedTool, token: CancelToken) -> None:
        """Ask the user whether a changed tool may be used."""
        name = kit_name(self.config, known.now.name)
        shown = {"before": _describe(known.shown), "now": _describe(known.now)}
        pins = self._dependencies.pins
        why = (
            f"the tool {known.now.name!r} of the MCP server {self.name!r} is not what it was when it was first seen: "
            f"the server has changed {known.change}. The user can approve it or remove {pins.path!r}"
        )
        arguments = {"server": self.name, "tool": known.now.name, **shown}
        self._dependencies.guard.require(ApprovalRequest(name, self._effects(known.now), arguments, why))
        pins.add(self.config, [known.now], token)
        self._replace_tools({**self._tools, known.now.name: _compare(known.now, known.now)})

    def _on_list_changed(self) -> None:
        """The server reports that its tools changed; list them in a thread if a kit has registered them."""
        self._is_stale = True
        if self._on_change is not None and self._refreshing.acquire(blocking=False):
            threading.Thread(target=self._refresh, name="toolroll mcp tools", daemon=True).start()

    def _refresh(self) -> None:
        try:
            with suppress(ToolError):  # the next use of the server reports the error
                while self._is_stale and not self._closed.wait(self._refresh_pause()):
                    self.tools(CancelToken(self.config.timeout))
        finally:
            self._refreshing.release()

    def _refresh_pause(self) -> float:
        return max(0.0, self._listed_at + _REFRESH_INTERVAL_S - time.monotonic())

    def _ask(self, method: str, params: dict[str, Any], token: CancelToken) -> dict[str, Any]:
        return self._lifecycle.use(token, lambda one, until: one.ask(method, params, token, until), again=True)

    def _list_all(self, what: str, method: str, key: str, token: CancelToken) -> list[Mapping[str, Any]]:
        def ask(session: McpSession, deadline: float) -> list[Any]:
            return session.list_all(method, key, token, deadline) if session.can(what) else []

        return [one for one in self._lifecycle.use(token, ask, again=True) if isinstance(one, Mapping)]

    def _templates(self, token: CancelToken) -> list[Mapping[str, Any]]:
        try:
            return self._list_all("resources", "resources/templates/list", "resourceTemplates", token)
        except ToolError as error:
            if error.code is not ErrorCode.UNSUPPORTED:
                raise
            return []  # a server may have resources and no templates

    def _require(self, what: str, token: CancelToken) -> None:
        if not self._lifecycle.use(token, lambda session, _: session.can(what), again=True):
            raise ToolError(ErrorCode.UNSUPPORTED, f"The MCP server {self.name!r} offers no {what}.")

    def _is_wanted(self, one: ToolDefinition) -> bool:
        return self.config.tools is None or one.name in self.config.tools

    def _effects(self, one: ToolDefinition) -> Effect:
        """What a call may do at worst. Only a server that the operator trusts can declare a tool read-only."""
        if self.config.trust and one.is_read_only:
            return Effect.READ | self._network
        writes = self._dependencies.spawner.writes(self.config) != "nothing"
        return Effect.RUN | self._network | (Effect.WRITE | Effect.DELETE if writes else Effect.NONE)

    @property
    def _network(self) -> Effect:
        """NETWORK when the server may reach other machines, or is on one."""
        reaches = self.config.url or self.config.network or self._dependencies.guard.policy.network is True
        return Effect.NETWORK if reaches else Effect.NONE

    def _as_kit_tool(self, one: ToolDefinition) -> RemoteTool:
        name = kit_name(self.config, one.name)
        about = f"From the MCP server {self.name!r}: {one.description}"
        return RemoteTool(name, about, self._effects(one), dict(one.schema), self, one.name)


def kit_name(config: ServerConfig, own: str) -> str:
    """The name of a server's tool in a kit. No tool of ours has two underscores in its name."""
    name = f"{config.prefix}__{_INVALID_NAME_CHARS.sub('_', own)}"
    if name == f"{config.prefix}__{own}" and len(name) <= _MAX_NAME_CHARS:
        return name
    digest = hashlib.blake2b(own.encode("utf-8", "replace"), digest_size=3).hexdigest()
    return f"{name[: _MAX_NAME_CHARS - 7]}_{digest}"


def _compare(now: ToolDefinition, pinned: ToolDefinition) -> PinnedTool:
    change = describe_changes(pinned, now)
    return PinnedTool(now, pinned if change else now, change, Checker(dict(now.schema)))


def _describe(one: ToolDefinition) -> dict[str, Any]:
    return {"description": one.description, "parameters": one.schema, "annotations": one.annotations}
