"""toolroll: the hands of AI agents. `from toolroll import Kit` is the way in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolroll.host.context import Context
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.policy.effects import Effect
from toolroll.policy.rules import Policy
from toolroll.result import ErrorCode, Image, Result, Suggestion, ToolError
from toolroll.schema import Field, FilePath
from toolroll.tool import Tool, tool

if TYPE_CHECKING:
    from toolroll.kit import Kit

__version__ = "0.1.0"

Token = CancelToken

__all__ = [
    "CancelToken",
    "Context",
    "Effect",
    "ErrorCode",
    "Field",
    "FilePath",
    "Image",
    "Kit",
    "Policy",
    "Result",
    "Suggestion",
    "Token",
    "Tool",
    "ToolError",
    "tool",
]


def __getattr__(name: str) -> Any:
    """Load the kit on first use: those who only write tools need none of what it wires together."""
    if name != "Kit":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from toolroll.kit import Kit

    return Kit
