"""Say that the task is done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from toolroll.tool import Effect, tool


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The end of a task: a typed control that a loop can rely on, for text can be forged by what a tool shows."""

    result: str
    control: str = "finish"

    @property
    def marked(self) -> str:
        """The result behind the mark that some loops look for."""
        return f"__FINISH__{self.result}"

    def __str__(self) -> str:
        return self.result


@tool(Effect.NONE)
def finish(result: Annotated[str, "The final answer, or what was done."]) -> TaskResult:
    """End the task with its result."""
    return TaskResult(result)
