"""OpenAI Agents: `Agent(name="coder", tools=tools(kit))`.

A call that needs approval is an interruption of the run, answered by `state.approve(...)` or `state.reject(...)`.
"""

from __future__ import annotations

import json
from typing import Any

from toolroll.adapters.approvals import NeedsApprovalError, PausedCalls, asks_before, shows_all
from toolroll.host.requirement import require

require("openai-agents", "openai-agents>=0.24,<1")

from agents import FunctionTool, RunContextWrapper, ToolOutputImage, ToolOutputText
from agents.tool_context import ToolContext

from toolroll.formats import data_url, wire_text
from toolroll.host.approval.request import Answer, ApprovalRequest, CannotAskError
from toolroll.kit import Kit
from toolroll.result import Result


def tools(kit: Kit) -> list[FunctionTool]:
    """Every tool that the kit shows to a model."""
    paused = PausedCalls(kit)  # of all runs: an approval covers only what its own call shows, so none needs a scope
    return [_function_tool(kit, paused, one["function"]) for one in kit.definitions("openai")]


def _function_tool(kit: Kit, paused: PausedCalls, definition: dict[str, Any]) -> FunctionTool:
    name = definition["name"]

    async def needs_approval(_ctx: RunContextWrapper[Any], arguments: dict[str, Any], _call_id: str) -> bool:
        return paused.is_paused(name, arguments) or asks_before(kit, name, arguments)

    async def invoke(ctx: ToolContext[Any], text: str) -> Any:
        try:
            arguments = json.loads(text or "{}")
        except ValueError:
            return _output(await kit.acall(name, text))  # which says what is wrong with it
        approved = ctx.is_tool_approved(name, ctx.tool_call_id) is True
        stop = paused.approver(name, arguments, approved=approved)

        def approve(request: ApprovalRequest) -> Answer:
            if not shows_all(kit, name, arguments, request):
                raise CannotAskError("OpenAI Agents shows a person the call alone, and this question is about more")
            return stop(request)

        try:
            result = await kit.acall(name, arguments, approve=approve, id=ctx.tool_call_id)
        except NeedsApprovalError as error:
            return _ask_again(error)
        paused.end(name, arguments)
        return _output(result)

    return FunctionTool(
        name=name,
        description=definition["description"],
        params_json_schema=definition["parameters"],
        on_invoke_tool=invoke,
        strict_json_schema=False,
        needs_approval=needs_approval,
    )


def _output(result: Result) -> Any:
    text = wire_text(result)
    if not result.images:
        return text
    return [ToolOutputText(text=text), *(ToolOutputImage(image_url=data_url(one)) for one in result.images)]


def _ask_again(error: NeedsApprovalError) -> str:
    """The SDK asks before a call runs, and this question came up while it ran: it is asked before the next one."""
    request = error.request
    why = f"{request.name!r} was stopped, and nothing was changed: the user must approve it ({request.reason})."
    return f"{why} Call it again with the same arguments: the user will be asked."
