"""Anthropic's tool runner: `client.beta.messages.tool_runner(tools=tools(kit), ...)`.

The runner has no approval of its own: `Kit(approve=...)` is asked.
"""

from __future__ import annotations

from typing import Any

from toolroll.host.requirement import require

require("anthropic", "anthropic>=2.9,<3")

from anthropic.lib.tools import BetaAsyncBuiltinFunctionTool, BetaBuiltinFunctionTool, ToolError

from toolroll.formats import answers
from toolroll.kit import Kit
from toolroll.result import Result


class RunnerTool(BetaBuiltinFunctionTool):
    """One tool of a kit, for the runner of an `Anthropic` client."""

    def __init__(self, kit: Kit, definition: dict[str, Any]) -> None:
        self._kit = kit
        self._definition = definition

    def to_dict(self) -> Any:
        return self._definition

    def call(self, input: object) -> Any:
        return _content(self._kit.call(self.name, input))  # type: ignore[arg-type]  # the kit checks it


class AsyncRunnerTool(BetaAsyncBuiltinFunctionTool):
    """One tool of a kit, for the runner of an `AsyncAnthropic` client."""

    def __init__(self, kit: Kit, definition: dict[str, Any]) -> None:
        self._kit = kit
        self._definition = definition

    def to_dict(self) -> Any:
        return self._definition

    async def call(self, input: object) -> Any:
        return _content(await self._kit.acall(self.name, input))  # type: ignore[arg-type]  # the kit checks it


def tools(kit: Kit) -> list[RunnerTool]:
    """Every tool that the kit shows to a model, for an `Anthropic` client."""
    return [RunnerTool(kit, one) for one in kit.definitions("anthropic")]


def async_tools(kit: Kit) -> list[AsyncRunnerTool]:
    """Every tool that the kit shows to a model, for an `AsyncAnthropic` client; cancelling the task cancels a call."""
    return [AsyncRunnerTool(kit, one) for one in kit.definitions("anthropic")]


def _content(result: Result) -> Any:
    (answer,) = answers("anthropic", [("", "")], [result])
    if not result.ok:
        raise ToolError(answer["content"])
    return answer["content"]
