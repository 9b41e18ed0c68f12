"""serena's tools, from its own environment. Run as a program: requests in, answers out, a line of JSON each.

`{"tool": "FindReferencingSymbolsTool", "arguments": {...}}` calls a tool, with `"fresh": true` of a new agent without
what is kept of earlier ones; `{"overview": [...]}` asks for the overviews of files. Both tell the seconds that it took.
Its language server is the ty that toolroll uses too.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

from bench.aider_map import Aider

PROJECT = "project_name: tree\nlanguages: [python_ty]\n"


class Serena(Aider):
    """The program below, running beside us on one tree until the end of the block."""

    script = __file__


class Tools:
    """The tools of one agent on a tree, until a new one is asked for."""

    def __init__(self, root: str, ty: str) -> None:
        self._root, self._ty = root, ty
        self._agent: Any = None

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        if asked.get("fresh"):
            self._forget()
        cpu, wall = time.process_time(), time.perf_counter()
        calls = [("GetSymbolsOverviewTool", {"relative_path": path}) for path in asked.get("overview", ())]
        calls += [(asked["tool"], asked["arguments"])] if "tool" in asked else []
        found = [self._call(tool, arguments) for tool, arguments in calls]
        return {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall, "found": found}

    def _call(self, tool: str, arguments: dict[str, Any]) -> str:
        from serena.tools import symbol_tools

        said: str = self._open().get_tool(getattr(symbol_tools, tool)).apply_ex(catch_exceptions=False, **arguments)
        return said

    def _open(self) -> Any:
        sys.modules.setdefault("webview", ModuleType("webview"))  # for windows, which are not opened
        from serena.agent import SerenaAgent
        from serena.config.serena_config import SerenaConfig

        if self._agent is None:
            folder = Path(self._root, ".serena")
            folder.mkdir(exist_ok=True)
            (folder / "project.yml").write_text(PROJECT)
            settings = SerenaConfig(web_dashboard=False, gui_log_window=False, log_level=50)
            settings.ls_specific_settings = {"python_ty": {"ls_path": self._ty}}
            self._agent = SerenaAgent(self._root, serena_config=settings)
        return self._agent

    def _forget(self) -> None:
        if self._agent is not None:
            self._agent.on_shutdown()
            self._agent = None
        shutil.rmtree(Path(self._root, ".serena"), ignore_errors=True)


def main() -> None:
    out, sys.stdout = sys.stdout, sys.stderr
    tools = Tools(*sys.argv[1:])
    for line in sys.stdin:
        print(json.dumps(tools.answer(json.loads(line))), file=out, flush=True)
    os._exit(0)  # its threads would go on


if __name__ == "__main__":
    main()
