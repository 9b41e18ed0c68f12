"""A tool with four typed arguments that does nothing, as toolroll and each peer call it.

Peers are imported when they are asked for, so that a fresh process can measure one alone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

ARGUMENTS: dict[str, Any] = {"name": "a", "count": 3, "share": 0.5, "deep": True}
JSON = '{"name": "a", "count": 3, "share": 0.5, "deep": true}'
BAD = {"name": "a", "count": "many", "share": 0.5}


def noop(name: str, count: int, share: float, deep: bool) -> str:  # noqa: ARG001
    """Do nothing."""
    return "done"


async def anoop(name: str, count: int, share: float, deep: bool) -> str:  # noqa: ARG001
    """Do nothing. For peers that would send `noop` to a thread, which costs them more."""
    return "done"


def toolroll(workspace: str, state: str) -> Callable[[Any], Any]:
    """`kit.call`, with everything that belongs to a call."""
    from toolroll import Kit, tool

    kit = Kit(workspace, state_dir=state)
    kit.register(tool(noop))
    return lambda arguments: kit.call("noop", arguments)


def langchain() -> Callable[[Any], Any]:
    from langchain_core.tools import StructuredTool

    return StructuredTool.from_function(noop).invoke


def mcp() -> Callable[[Any], Awaitable[Any]]:
    """The official SDK's server, called in process, without a transport."""
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("bench")
    server.tool(name="noop")(anoop)
    return lambda arguments: server.call_tool("noop", arguments)


def openai_agents() -> Callable[[str], Awaitable[Any]]:
    from agents import function_tool
    from agents.tool_context import ToolContext

    tool = function_tool(anoop)

    def call(arguments: str) -> Awaitable[Any]:
        context = ToolContext(None, tool_name="anoop", tool_call_id="1", tool_arguments=arguments)
        return tool.on_invoke_tool(context, arguments)

    return call


def pydantic_ai() -> Callable[[Any], Awaitable[Any]]:
    from pydantic_ai import RunContext
    from pydantic_ai.messages import ToolCallPart
    from pydantic_ai.models.test import TestModel
    from pydantic_ai.tool_manager import ToolManager
    from pydantic_ai.toolsets import FunctionToolset
    from pydantic_ai.usage import RunUsage

    context: Any = RunContext(deps=None, model=TestModel(), usage=RunUsage(), run_step=1)
    ready: list[Any] = []

    async def call(arguments: Any) -> Any:
        if not ready:
            ready.append(await ToolManager(FunctionToolset([anoop])).for_run_step(context))
        return await ready[0].handle_call(ToolCallPart("anoop", arguments))

    return call
