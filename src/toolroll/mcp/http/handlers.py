"""An `Offer` as a server of the official SDK: one handler for each method, each of them a few lines."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

import mcp_types as types
from mcp.server import NotificationOptions, Server
from mcp.server.caching import CACHEABLE_METHODS, CacheHint
from mcp.server.models import InitializationOptions
from mcp.server.session import ServerSession
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolroll.mcp.backend import Item, Kind, Offer, Unknown
from toolroll.mcp.http.caller import Context, LackingError
from toolroll.mcp.http.calls import Calls
from toolroll.result import ToolError

MOST_LISTENERS = 64
_MOST_VALUES = 100  # of a completion, by the protocol
_NO_RESOURCE = -32002  # as the handshake protocols have it
_EVENTS: dict[Kind, type[ToolsListChanged | ResourcesListChanged | PromptsListChanged]] = {
    "tools": ToolsListChanged,
    "resources": ResourcesListChanged,
    "prompts": PromptsListChanged,
}

T = TypeVar("T")
_log = logging.getLogger("toolroll.mcp")


class Handlers:
    """What the server does for each method that a client may use."""

    def __init__(self, offer: Offer, calls: Calls) -> None:
        self._offer = offer
        self._calls = calls
        self._loop = asyncio.get_running_loop()
        self._bus = InMemorySubscriptionBus()
        self._telling: set[asyncio.Task[None]] = set()
        # A session is not told when another one ends, so those that were quiet the longest are forgotten.
        self._sessions: OrderedDict[str, ServerSession] = OrderedDict()
        self._schemas: dict[str, Item] | None = None
        self.listening = ListenHandler(self._bus, max_subscriptions=MOST_LISTENERS)

    def changed(self, kind: Kind) -> None:
        """Tell every client that a list is another one; may be called from any thread."""
        self._loop.call_soon_threadsafe(self._tell, kind)

    async def list_tools(self, _: Context, __: types.PaginatedRequestParams | None) -> Item:
        tools = await self._aside(self._offer.tools)
        self._schemas = {one["name"]: one["inputSchema"] for one in tools}
        return _whole(tools=tools)

    def schema(self, name: str) -> Item | None:
        """What a tool takes, as far as it was listed: some of it may have to stand in the headers as well."""
        if self._schemas is None:
            self._schemas = {one["name"]: one["inputSchema"] for one in self._offer.tools()}
        return self._schemas.get(name)

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> Any:
        try:
            result = await self._calls.call(context, params)
        except Exception as error:
            raise _wrong(error) from error
        return _whole(**result) if isinstance(result, dict) else result

    async def list_resources(self, _: Context, __: types.PaginatedRequestParams | None) -> Item:
        return _whole(resources=await self._aside(self._offer.resources))

    async def list_templates(self, _: Context, __: types.PaginatedRequestParams | None) -> Item:
        return _whole(resourceTemplates=await self._aside(self._offer.templates))

    async def read_resource(self, context: Context, params: types.ReadResourceRequestParams) -> Item:
        try:
            return _whole(contents=await self._calls.aside(self._offer.read, params.uri))
        except Unknown as unknown:
            modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
            code = types.INVALID_PARAMS if modern else _NO_RESOURCE
            raise MCPError(code, str(unknown), {"uri": params.uri}) from None
        except Exception as error:
            raise _wrong(error) from error

    async def list_prompts(self, _: Context, __: types.PaginatedRequestParams | None) -> Item:
        return _whole(prompts=await self._aside(self._offer.prompts))

    async def get_prompt(self, _: Context, params: types.GetPromptRequestParams) -> Item:
        return _whole(**await self._aside(self._offer.prompt, params.name, params.arguments or {}))

    async def complete(self, _: Context, params: types.CompleteRequestParams) -> Item:
        ref, argument = (one.model_dump(by_alias=True, exclude_none=True) for one in (params.ref, params.argument))
        values = await self._aside(self._offer.complete, ref, argument)
        more = len(values) > _MOST_VALUES
        return _whole(completion={"values": values[:_MOST_VALUES], "total": len(values), "hasMore": more})

    async def set_level(self, _: Context, __: types.SetLevelRequestParams) -> Item:
        """Taken note of; a tool that tells something is rare enough not to be filtered."""
        return {}

    async def initialized(self, context: Context, _: types.NotificationParams) -> None:
        name = context.request.headers.get("mcp-session-id") if context.request else None
        if name:
            self._sessions[name] = context.session
            while len(self._sessions) > MOST_LISTENERS:
                self._sessions.popitem(last=False)

    async def _aside(self, work: Callable[..., T], *arguments: Any) -> T:
        try:
            return await self._calls.aside(work, *arguments)
        except Exception as error:
            raise _wrong(error) from error

    def _tell(self, kind: Kind) -> None:
        if kind == "tools":
            self._schemas = None
        task = self._loop.create_task(self._tell_all(kind))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _tell_all(self, kind: Kind) -> None:
        await self._bus.publish(_EVENTS[kind]())
        told = types.server_notification_adapter.validate_python({"method": f"notifications/{kind}/list_changed"})
        for session in tuple(self._sessions.values()):
            await session.send_notification(told)


class _Server(Server[Any]):
    """The SDK's server, which says that its lists may change."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,  # noqa: ARG002
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        every = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
        return super().create_initialization_options(every, experimental_capabilities, extensions)


def server_of(offer: Offer, handlers: Handlers) -> Server[Any]:
    """The server of the SDK that asks these handlers."""
    # The SDK takes mappings as results and types the handlers more narrowly than that.
    does: dict[str, Any] = {
        "on_list_tools": handlers.list_tools,
        "on_call_tool": handlers.call_tool,
        "on_list_resources": handlers.list_resources,
        "on_list_resource_templates": handlers.list_templates,
        "on_read_resource": handlers.read_resource,
        "on_list_prompts": handlers.list_prompts,
        "on_get_prompt": handlers.get_prompt,
        "on_completion": handlers.complete,
        "on_subscriptions_listen": handlers.listening,
        "get_tool_input_schema": handlers.schema,
        # Lists change with the workspace, so a client that keeps them asks whether they are still true.
        "cache_hints": dict.fromkeys(CACHEABLE_METHODS, CacheHint()),
    }
    server: Server[Any] = _Server(
        offer.name, version=offer.version, title=offer.title, instructions=offer.instructions, **does
    )
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, handlers.set_level)
    server.add_notification_handler("notifications/initialized", types.NotificationParams, handlers.initialized)
    return server


def _whole(**result: Any) -> Item:
    """A result that is complete; the SDK takes the word out again for clients that do not know it."""
    return {"resultType": "complete", **result}


def _wrong(error: Exception) -> MCPError:
    """What a client learns of an error. Of a fault in here it is only that there is one; the rest is in the log."""
    match error:
        case MCPError():
            return error
        case LackingError():
            needed: Item = {"requiredCapabilities": {error.capability: {}}}
            return MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, str(error), needed)
        case Unknown() | ValueError():
            return MCPError(types.INVALID_PARAMS, str(error))
        case ToolError():
            return MCPError(types.INTERNAL_ERROR, str(error))
    _log.error("a request failed: %r", error, exc_info=error)
    return MCPError(types.INTERNAL_ERROR, "The server failed at this; its log says why.")
