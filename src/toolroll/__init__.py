"""toolroll: the hands of AI agents. `from toolroll import Kit` is the way in."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from toolroll.fleet.lease import Lease
    from toolroll.fleet.pool import Fleet
    from toolroll.host.context import Context
    from toolroll.host.files.file_ops import FileInfo, FileOps
    from toolroll.host.forks.overlay import allow_overlays
    from toolroll.host.knowledge.program_library import KnowledgeStore
    from toolroll.host.runtime.cancellation import CancelToken
    from toolroll.host.runtime.cancellation import CancelToken as Token
    from toolroll.host.shell.command_result import Completed
    from toolroll.host.shell.exec_ops import ExecOps, Executed
    from toolroll.kit import Kit
    from toolroll.policy.effects import Effect
    from toolroll.policy.rules import Policy
    from toolroll.result import ErrorCode, Image, Result, Suggestion, ToolError
    from toolroll.schema import Field, FilePath
    from toolroll.text.knowledge.passages import Passage
    from toolroll.tool import Tool, tool
else:
    ModuleType = type(sys)  # `types` takes longer to import than all of this

__version__ = "0.1.0"

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
    "KnowledgeStore",
    "Lease",
    "Passage",
    "Policy",
    "Result",
    "Suggestion",
    "Token",
    "Tool",
    "ToolError",
    "allow_overlays",
    "tool",
]


_PACKAGES = ("adapters", "host", "policy", "result", "schema")  # there after `import toolroll` alone
_LAZY = {
    "kit": ("Kit",),
    "tool": ("Tool", "tool"),
    "result": ("ErrorCode", "Image", "Result", "Suggestion", "ToolError"),
    "schema": ("Field", "FilePath"),
    "policy.effects": ("Effect",),
    "policy.rules": ("Policy",),
    "fleet.pool": ("Fleet",),
    "fleet.lease": ("Lease",),
    "host.context": ("Context",),
    "host.runtime.cancellation": ("CancelToken",),
    "host.forks.overlay": ("allow_overlays",),
    "host.shell.command_result": ("Completed",),
    "host.files.file_ops": ("FileInfo", "FileOps"),
    "host.shell.exec_ops": ("ExecOps", "Executed"),
    "host.knowledge.program_library": ("KnowledgeStore",),
    "text.knowledge.passages": ("Passage",),
}


def __getattr__(name: str) -> Any:
    """Load each name on first use: the fast client of the command line needs none of them."""
    from importlib import import_module

    if name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    wanted = "CancelToken" if name == "Token" else name
    module = next((one for one, names in _LAZY.items() if wanted in names), None)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{module}"), wanted)
    return found


class _Package(ModuleType):
    def __setattr__(self, name: str, value: Any) -> None:
        """Keep the decorator `tool` in its place: the import of the module of that name would hide it."""
        super().__setattr__(name, value.tool if name == "tool" and isinstance(value, ModuleType) else value)


sys.modules[__name__].__class__ = _Package
