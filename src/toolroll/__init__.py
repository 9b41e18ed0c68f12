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
    from toolroll.fleet.lease import Lease
    from toolroll.fleet.pool import Fleet
    from toolroll.host.files.file_ops import FileInfo, FileOps
    from toolroll.host.forks.overlay import allow_overlays
    from toolroll.host.shell.command_result import Completed
    from toolroll.host.shell.exec_ops import ExecOps, Executed
    from toolroll.kit import Kit

__version__ = "0.1.0"

Token = CancelToken

__all__ = [
    "CancelToken",
    "Completed",
    "Context",
    "Effect",
    "ErrorCode",
    "ExecOps",
    "Executed",
    "Field",
    "FileInfo",
    "FileOps",
    "FilePath",
    "Fleet",
    "Image",
    "Kit",
    "Lease",
    "Policy",
    "Result",
    "Suggestion",
    "Token",
    "Tool",
    "ToolError",
    "allow_overlays",
    "tool",
]


_LAZY = {
    "Kit": "kit",
    "Fleet": "fleet.pool",
    "Lease": "fleet.lease",
    "allow_overlays": "host.forks.overlay",
    "Completed": "host.shell.command_result",
    "FileInfo": "host.files.file_ops",
    "FileOps": "host.files.file_ops",
    "ExecOps": "host.shell.exec_ops",
    "Executed": "host.shell.exec_ops",
}


def __getattr__(name: str) -> Any:
    """Load the kit on first use: those who only write tools need none of what it wires together."""
    from importlib import import_module

    if name == "adapters":
        return import_module(f"{__name__}.{name}")
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
