"""pydantic-ai: `Agent(model, toolsets=[toolset(kit)], output_type=[str, DeferredToolRequests])`.

A call that needs approval is deferred if `DeferredToolRequests` is an output type of the agent.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, get_args

from toolroll.adapters.approvals import NeedsApprovalError, PausedCalls
from toolroll.host.requirement import require

require("pydantic-ai", "pydantic-ai-slim>=2.66,<3")

from pydantic_ai import ApprovalRequired, BinaryContent, CustomEvent, DeferredToolRequests, RunContext, ToolReturn
from pydantic_ai.capabilities import AbstractCapability, HandleDeferredToolCalls
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from toolroll.formats import wire_text
from toolroll.host.approval.request import Answer, ApprovalRequest, CannotAskError
from toolroll.host.runtime.call import Progress
from toolroll.kit import Kit
from toolroll.result import Result
from toolroll.services import CallOptions

_ANY = SchemaValidator(core_schema.any_schema())  # the kit checks arguments by itself


@dataclass(kw_only=True)
class ToolProgressEvent(CustomEvent):
    """Progress of a call, in the event stream of the run."""

    done: float
    total: float | None
    note: str


class KitToolset(AbstractToolset[Any]):
    """The tools that a kit shows to a model, as they are at each step of a run."""

    def __init__(self, kit: Kit, id: str | None = None) -> None:
        self._kit = kit
        self._id = id
        self._paused = PausedCalls(kit)

    @property
    def id(self) -> str | None:
        return self._id

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:  # noqa: ARG002
        shown = (one["function"] for one in self._kit.definitions("openai"))
        definitions = [_definition(one) for one in shown]
        return {
            one.name: ToolsetTool(toolset=self, tool_def=one, max_retries=1, args_validator=_ANY) for one in definitions
        }

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[Any],
        tool: ToolsetTool[Any],  # noqa: ARG002
    ) -> ToolReturn:
        scope = f"{ctx.conversation_id} {ctx.tool_call_id}"  # both are the same when the call is made again
        pause = self._paused.approver(name, tool_args, approved=ctx.tool_call_approved, scope=scope)
        options: CallOptions = {
            "approve": pause if _can_defer(ctx) else _refuse,
            "progress": _progress(ctx),
            "id": ctx.tool_call_id or "",
        }
        try:
            result = await self._kit.acall(name, tool_args, **options)
        except NeedsApprovalError as error:
            raise ApprovalRequired(metadata={"question": error.request.text}) from None
        self._paused.end(name, tool_args, scope=scope)
        return _returned(result)


def toolset(kit: Kit, *, id: str | None = None) -> KitToolset:
    """Every tool that the kit shows to a model; `id` as pydantic-ai asks for it in durable execution."""
    return KitToolset(kit, id)


def _definition(one: dict[str, Any]) -> ToolDefinition:
    return ToolDefinition(name=one["name"], description=one["description"], parameters_json_schema=one["parameters"])


def _returned(result: Result) -> ToolReturn:
    text = wire_text(result)
    if not result.ok:
        raise ToolFailed(text)
    images = [BinaryContent(one.data, media_type=one.mime) for one in result.images]
    return ToolReturn([text, *images] if images else text, metadata=result.structured)


def _can_defer(ctx: RunContext[Any]) -> bool:
    """Whether the run can end with a request for approval, or a capability answers it."""
    wanted = getattr(ctx.agent, "output_type", None)
    outputs = wanted if isinstance(wanted, list | tuple) else get_args(wanted)
    found: list[AbstractCapability[Any]] = []
    if ctx.root_capability is not None:
        ctx.root_capability.apply(found.append)
    return DeferredToolRequests in outputs or any(isinstance(one, HandleDeferredToolCalls) for one in found)


def _refuse(_request: ApprovalRequest) -> Answer:
    raise CannotAskError(
        "`DeferredToolRequests` is not in the `output_type` of the agent, and no capability handles deferred calls"
    )


def _progress(ctx: RunContext[Any]) -> Progress:
    loop = asyncio.get_running_loop()

    def report(done: float, total: float | None, note: str) -> None:
        event = ToolProgressEvent(done=done, total=total, note=note)
        asyncio.run_coroutine_threadsafe(ctx.emit(event), loop)

    return report
