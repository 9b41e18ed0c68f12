"""A `Backend` as a server of the official SDK: one handler for each method."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import mcp_types as types
from mcp.server import NotificationOptions, Server, subscriptions
from mcp.server.caching import CACHEABLE_METHODS, CacheHint
from mcp.server.models import InitializationOptions
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolroll.mcp.backend import Backend, Item, ListKind, UnknownItemError
from toolroll.mcp.http.calls import ToolCalls
from toolroll.mcp.http.peer import MissingCapabilityError, RequestContext, client_info, session_id
from toolroll.mcp.methods import completion_result
from toolroll.mcp.wire import NO_RESOURCE
from toolroll.result import ToolError

MAX_LISTENERS = 64
_EVENTS: dict[ListKind, Any] = {
    "tools": subscriptions.ToolsListChanged,
    "resources": subscriptions.ResourcesListChanged,
    "prompts": subscriptions.PromptsListChanged,
}

T = TypeVar("T")
_log = logging.getLogger("toolroll.mcp")


class Handlers:
    """One coroutine for each method that a client may use."""

    def __init__(self, backend: Backend, calls: ToolCalls) -> None:
        self._backend = backend
        self._calls = calls
        self._loop = asyncio.get_running_loop()
        self._bus = subscriptions.InMemorySubscriptionBus()
        self._notifying: set[asyncio.Task[None]] = set()
        # The SDK does not report the end of a session, so the oldest sessions are dropped.
        self._sessions: OrderedDict[str, ServerSession] = OrderedDict()
        self._schemas: dict[str, Item] | None = None
        self.subscriptions = subscriptions.ListenHandler(self._bus, max_subscriptions=MAX_LISTENERS)

    def on_list_changed(self, kind: ListKind) -> None:
        """Notify every client that a list changed; may be called from any thread."""
        self._loop.call_soon_threadsafe(self._notify, kind)

    async def list_tools(self, context: RequestContext, __: types.PaginatedRequestParams | None) -> Item:
        tools = await self._run(self._backend.tools, client_info(context))
        self._schemas = {one["name"]: one["inputSchema"] for one in tools}
        return _complete(tools=tools)

    def get_schema(self, name: str) -> Item | None:
        """The input schema of a tool: the SDK checks the headers that some parameters need."""
        if self._schemas is None:
            self._schemas = {one["name"]: one["inputSchema"] for one in self._backend.tools()}
        return self._schemas.get(name)

    async def call_tool(self, context: RequestContext, params: types.CallToolRequestParams) -> Any:
        try:
            result = await self._calls.call(context, params)
        except Exception as error:
            raise _as_mcp_error(error) from error
        return _complete(**result) if isinstance(result, dict) else result

    def list_by(self, key: str, listing: Callable[[], list[Item]]) -> Callable[..., Awaitable[Item]]:
        """The handler of a list."""

        async def handle(_: RequestContext, __: types.PaginatedRequestParams | None) -> Item:
            return _complete(**{key: await self._run(listing)})

        return handle

    async def read_resource(self, context: RequestContext, params: types.ReadResourceRequestParams) -> Item:
        try:
            return _complete(contents=await self._calls.run_aside(self._backend.read, params.uri))
        except UnknownItemError as unknown:
            modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
            code = types.INVALID_PARAMS if modern else NO_RESOURCE
            raise MCPError(code, str(unknown), {"uri": params.uri}) from None
        except Exception as error:
            raise _as_mcp_error(error) from error

    async def get_prompt(self, _: RequestContext, params: types.GetPromptRequestParams) -> Item:
        return _complete(**await self._run(self._backend.prompt, params.name, params.arguments or {}))

    async def complete(self, _: RequestContext, params: types.CompleteRequestParams) -> Item:
        ref, argument = (one.model_dump(by_alias=True, exclude_none=True) for one in (params.ref, params.argument))
        return _complete(**completion_result(await self._run(self._backend.complete, ref, argument)))

    async def set_level(self, _: RequestContext, __: types.SetLevelRequestParams) -> Item:
        """Accept the level and ignore it: tools send few log messages."""
        return {}

    async def remember_session(self, context: RequestContext, _: types.NotificationParams) -> None:
        name = session_id(context)
        if name:
            self._sessions[name] = context.session
            while len(self._sessions) > MAX_LISTENERS:
                self._sessions.popitem(last=False)

    async def cancel_early(self, context: RequestContext, params: types.CancelledNotificationParams) -> None:
        """Take note of a cancellation; the SDK has applied it already if it knew the request."""
        self._calls.cancel_early(context, params.request_id)

    async def _run(self, work: Callable[..., T], *arguments: Any) -> T:
        try:
            return await self._calls.run_aside(work, *arguments)
        except Exception as error:
            raise _as_mcp_error(error) from error

    def _notify(self, kind: ListKind) -> None:
        if kind == "tools":
            self._schemas = None
        task = self._loop.create_task(self._notify_all(kind))
        self._notifying.add(task)
        task.add_done_callback(self._notifying.discard)

    async def _notify_all(self, kind: ListKind) -> None:
        await self._bus.publish(_EVENTS[kind]())
        method = f"notifications/{kind}/list_changed"
        notification = types.server_notification_adapter.validate_python({"method": method})
        for session in tuple(self._sessions.values()):
            await session.send_notification(notification)


class _SdkServer(Server[Any]):
    """The SDK's server, which declares that its lists may change."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,  # noqa: ARG002
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        every = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
        return super().create_initialization_options(every, experimental_capabilities, extensions)


def build_server(backend: Backend, handlers: Handlers) -> Server[Any]:
    """The SDK's server with these handlers."""
    # The SDK accepts mappings as results, but its handler types are narrower.
    options: dict[str, Any] = {
        "on_list_tools": handlers.list_tools,
        "on_call_tool": handlers.call_tool,
        "on_list_resources": handlers.list_by("resources", backend.resources),
        "on_list_resource_templates": handlers.list_by("resourceTemplates", backend.templates),
        "on_read_resource": handlers.read_resource,
        "on_list_prompts": handlers.list_by("prompts", backend.prompts),
        "on_get_prompt": handlers.get_prompt,
        "on_completion": handlers.complete,
        "on_subscriptions_listen": handlers.subscriptions,
        "get_tool_input_schema": handlers.get_schema,
        # Lists change with the workspace, so a client that caches them must revalidate.
        "cache_hints": dict.fromkeys(CACHEABLE_METHODS, CacheHint()),
    }
    server: Server[Any] = _SdkServer(
        backend.name, version=backend.version, title=backend.title, instructions=backend.instructions, **options
    )
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, handlers.set_level)
    server.add_notification_handler("notifications/initialized", types.NotificationParams, handlers.remember_session)
    cancelled = types.CancelledNotificationParams
    server.add_notification_handler("notifications/cancelled", cancelled, handlers.cancel_early)
    return server


def _complete(**result: Any) -> Item:
    """Mark a result as complete; the SDK removes the mark for older clients."""
    return {"resultType": "complete", **result}


def _as_mcp_error(error: Exception) -> MCPError:
    """The error for the client. An internal fault is only logged: the client gets no details of it."""
    match error:
        case MCPError():
            return error
        case MissingCapabilityError():
            needed: Item = {"requiredCapabilities": {error.capability: {}}}
            return MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, str(error), needed)
        case UnknownItemError() | ValueError():
            return MCPError(types.INVALID_PARAMS, str(error))
        case ToolError():
            return MCPError(types.INTERNAL_ERROR, str(error))
    _log.error("a request failed: %r", error, exc_info=error)
    return MCPError(types.INTERNAL_ERROR, "The server failed at this; its log says why.")
