"""Runs inside the sandbox, in the program of `python`: `tools.read("a.py")` is a call of the kit's tool.

An archive holds this file as `sitecustomize`. Any Python from 3.9 on reads it, so it imports nothing of ours. It gives
the program `tools` and `ToolError`, as built-in names and as `from toolroll import tools`. Processes that the program
starts get neither the descriptor nor this file.
"""

from __future__ import annotations

import builtins
import json
import os
import sys
import threading
from functools import partial
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec
from typing import Any

VARIABLE = "TOOLROLL_CALLS"
SIZE_BYTES = 4  # of the length before each message, the highest byte first


class CallFailed(Exception):  # noqa: N818 - the program knows it as ToolError
    """A call that failed: `code` is its kind, `message` says what to do next."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


CallFailed.__name__ = CallFailed.__qualname__ = "ToolError"
CallFailed.__module__ = "toolroll"


class _Data(dict[str, Any]):
    """The data of a result; printed, it is the text that a single call shows."""

    def __init__(self, data: dict[str, Any], text: str) -> None:
        super().__init__(data)
        self.text = text

    def __str__(self) -> str:
        return self.text


class _Tools:
    """The tools of the kit as functions, by attribute or, for other names, by key: `tools["a-b"](...)`."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._pid = os.getpid()
        self._lock, self._number = threading.Lock(), 0

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Any:
        return partial(self._call, name)

    def _call(self, tool: str, /, *positional: Any, **named: Any) -> Any:
        if os.getpid() != self._pid:
            raise CallFailed("Unsupported", "Only the program itself can call tools, not a process that it started.")
        call = {"name": tool, "positional": positional, "named": named}
        with self._lock:
            self._number += 1
            request = {"jsonrpc": "2.0", "id": self._number, "method": "call", "params": call}
            reply = json.loads(self._exchange(json.dumps(request, default=os.fspath).encode("utf-8", "replace")))
        if "error" in reply:
            error = reply["error"]
            raise CallFailed(error.get("data", {}).get("code", "Execution"), error["message"])
        found, text = reply["result"]["data"], reply["result"]["text"]
        return _Data(found, text) if isinstance(found, dict) else text if found is None else found

    def _exchange(self, data: bytes) -> bytes:
        data = len(data).to_bytes(SIZE_BYTES, "big") + data
        try:
            while data:
                data = data[os.write(self._fd, data) :]
            return self._read(int.from_bytes(self._read(SIZE_BYTES), "big"))
        except OSError:
            raise CallFailed("Cancelled", "The tools are closed for this program.") from None

    def _read(self, size: int) -> bytes:
        parts = []
        while size:
            part = os.read(self._fd, size)
            if not part:
                raise BrokenPipeError
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


class _Finder:
    """Makes `toolroll.tools` those of this program, beside what a package of that name has, if one is installed."""

    def __init__(self, tools: _Tools) -> None:
        self._tools = tools
        self._loader: Any = None

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:  # noqa: ARG002
        if name != "toolroll":
            return None
        spec = PathFinder.find_spec(name) or ModuleSpec(name, None)
        self._loader, spec.loader = spec.loader, self  # type: ignore[assignment]  # it has what a loader needs
        return spec

    def create_module(self, spec: ModuleSpec) -> Any:
        return self._loader.create_module(spec) if self._loader is not None else None

    def exec_module(self, module: Any) -> None:
        if self._loader is not None:
            self._loader.exec_module(module)
        module.tools, module.ToolError = self._tools, CallFailed


def install() -> None:
    """Give the program its tools, and go on as if this file were not there."""
    fd, archive = map(int, os.environ.pop(VARIABLE).split())
    for one in (fd, archive):
        os.set_inheritable(one, False)
    place, _, rest = os.environ.get("PYTHONPATH", "").partition(os.pathsep)
    os.environ["PYTHONPATH"] = rest
    sys.path[:] = [one for one in sys.path if one != place]
    tools = _Tools(fd)
    vars(builtins).update(tools=tools, ToolError=CallFailed)
    sys.meta_path.insert(0, _Finder(tools))
    spec = PathFinder.find_spec("sitecustomize")
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(module_from_spec(spec))


if VARIABLE in os.environ:
    install()
