"""agno: `Agent(model=..., tools=tools(kit))`.

agno decides by the tool whether a person confirms a call. Tools that the policy asks about need confirmation; for a
question about a single command or file `Kit(approve=...)` is asked.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from toolroll.adapters.approvals import asks_before, shows_all
from toolroll.host.requirement import require

require("agno", "agno>=3.1,<4")

from agno.media import Image
from agno.tools.function import Function, FunctionCall, ToolResult

from toolroll.formats import wire_text
from toolroll.host.approval.request import Answer, ApprovalRequest, CannotAskError
from toolroll.kit import Kit
from toolroll.result import Result, ToolError


def tools(kit: Kit) -> list[Function]:
    """Every tool that the kit shows to a model, for `agent.run`."""
    return [_function(kit, one["function"], is_async=False) for one in kit.definitions("openai")]


def async_tools(kit: Kit) -> list[Function]:
    """Every tool that the kit shows to a model, for `agent.arun`; cancelling the task cancels a call."""
    return [_function(kit, one["function"], is_async=True) for one in kit.definitions("openai")]


def _function(kit: Kit, definition: dict[str, Any], *, is_async: bool) -> Function:
    name = definition["name"]
    confirmed = asks_before(kit, name)

    def approve(arguments: dict[str, Any], request: ApprovalRequest) -> Answer:
        """Agree to what a person saw who has confirmed the call."""
        if confirmed and shows_all(kit, name, arguments, request):
            return True
        raise CannotAskError("agno asks before a call, and this question came up later")

    # agno gives the call to a parameter of the name `fc`.
    def run(fc: FunctionCall | None = None, **arguments: Any) -> ToolResult:
        return _returned(kit.call(name, arguments, approve=partial(approve, arguments), id=_id(fc)))

    async def run_async(fc: FunctionCall | None = None, **arguments: Any) -> ToolResult:
        return _returned(await kit.acall(name, arguments, approve=partial(approve, arguments), id=_id(fc)))

    return Function(
        name=name,
        description=definition["description"],
        parameters=definition["parameters"],
        entrypoint=run_async if is_async else run,
        skip_entrypoint_processing=True,
        requires_confirmation=confirmed or None,
    )


def _id(call: FunctionCall | None) -> str:
    """What the provider calls it. An argument of the model that has the same name is no call."""
    return call.call_id or "" if isinstance(call, FunctionCall) else ""


def _returned(result: Result) -> ToolResult:
    text = wire_text(result)
    if result.error is not None:
        raise ToolError(result.error.code, text)
    images = [Image(content=one.data, mime_type=one.mime) for one in result.images]
    return ToolResult(content=text, images=images or None)
