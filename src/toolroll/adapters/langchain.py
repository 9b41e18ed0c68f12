"""LangChain and LangGraph: `create_agent(model, tools(kit), checkpointer=...)`.

A call that needs approval interrupts the graph as LangChain's human-in-the-loop middleware does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from toolroll.host.requirement import require

require("langchain", "langchain>=1.4,<2")

from langchain_core.tools import BaseTool, ToolException
from langgraph.config import get_config, get_stream_writer
from langgraph.types import interrupt

from toolroll.formats import base64_data, wire_text
from toolroll.host.approval.request import Answer, ApprovalRequest, CannotAskError, Refusal
from toolroll.kit import Kit
from toolroll.result import Result
from toolroll.services import CallOptions

_CHECKPOINTER = "__pregel_checkpointer"  # where LangGraph keeps it in the configuration of a run


class LangChainTool(BaseTool):
    """One tool of a kit. The message has text and images as content, and structured output as artifact."""

    kit: Any
    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    handle_tool_error: Any = True

    def _to_args_and_kwargs(self, tool_input: Any, tool_call_id: str | None) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Put the id of the call before its arguments: LangChain injects it only by a schema that is a class."""
        given, arguments = super()._to_args_and_kwargs(tool_input, tool_call_id)
        return (tool_call_id or "", *given), arguments

    def _run(self, call_id: str, /, **arguments: Any) -> tuple[Any, Any]:
        return _content(self.kit.call(self.name, arguments, **_options(self.name, call_id)))

    async def _arun(self, call_id: str, /, **arguments: Any) -> tuple[Any, Any]:
        return _content(await self.kit.acall(self.name, arguments, **_options(self.name, call_id)))


def tools(kit: Kit) -> list[LangChainTool]:
    """Every tool that the kit shows to a model."""
    shown = (one["function"] for one in kit.definitions("openai"))
    return [
        LangChainTool(kit=kit, name=one["name"], description=one["description"], args_schema=one["parameters"])
        for one in shown
    ]


def _content(result: Result) -> tuple[Any, Any]:
    text = wire_text(result)
    if not result.ok:
        raise ToolException(text)
    if not result.images:
        return text, result.structured
    images = [{"type": "image", "base64": base64_data(one), "mime_type": one.mime} for one in result.images]
    return [{"type": "text", "text": text}, *images], result.structured


def _options(name: str, call_id: str) -> CallOptions:
    """The graph's way to ask a person and to show progress, where a graph makes the call."""
    try:
        write = get_stream_writer()
    except (KeyError, RuntimeError):
        return {"approve": _approve, "id": call_id}

    def progress(done: float, total: float | None, note: str) -> None:
        write({"tool": name, "done": done, "total": total, "note": note})

    return {"approve": _approve, "progress": progress, "id": call_id}


def _approve(request: ApprovalRequest) -> Answer:
    """Interrupt the graph. It is resumed with a decision of LangChain's middleware, or with an answer of a kit."""
    try:
        has_checkpointer = get_config()["configurable"].get(_CHECKPOINTER) is not None
    except (KeyError, RuntimeError):
        has_checkpointer = False
    if not has_checkpointer:
        raise CannotAskError("the graph has no checkpointer, so it cannot wait for an answer")
    action = {"name": request.name, "args": dict(request.arguments), "description": request.text}
    review = {"action_name": request.name, "allowed_decisions": ["approve", "reject"]}
    answer = interrupt({"action_requests": [action], "review_configs": [review]})
    if isinstance(answer, Mapping):
        return _read_decisions(answer)
    return answer  # type: ignore[no-any-return]  # what is no answer is taken for a no


def _read_decisions(answer: Mapping[str, Any]) -> Answer:
    """The answer in decisions of the middleware, or in one decision; a refusal has the person's reason."""
    decisions = answer.get("decisions", [answer])
    if [one["type"] for one in decisions] == ["approve"]:
        return True
    return Refusal(next((one["message"] for one in decisions if one.get("message")), ""))
