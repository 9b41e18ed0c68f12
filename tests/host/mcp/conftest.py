"""Kits with MCP servers, real ones and one that misbehaves; nothing of them is left in the end."""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from toolroll import Kit
from toolroll.host.shell.process_group import process_registry

HOSTILE = Path(__file__).with_name("hostile.py")


def hostile(mode: str = "", **options: Any) -> dict[str, Any]:
    """The entry of the server that misbehaves."""
    return {"command": sys.executable, "args": ["-I", "-S", str(HOSTILE), mode], **options}


def processes(word: str) -> list[int]:
    """The processes whose command line holds a word."""
    found = []
    for one in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if word.encode() in one.read_bytes():
                found.append(int(one.parent.name))
        except OSError:
            continue
    return found


@pytest.fixture
def serve(open_kit: Callable[..., Kit], ws: Path) -> Iterator[Callable[..., Kit]]:
    """Open a kit with a server that misbehaves, called "h"."""
    registry = process_registry()
    family = registry.enter(lambda: None)  # the first one opens what all of a process share
    family.marks.unblock()  # else all that this thread starts later would be of a command
    registry.leave(family)
    before, others = set(os.listdir("/proc/self/fd")), set(threading.enumerate())
    kits: list[Kit] = []

    def make(mode: str = "", *, kit: dict[str, Any] | None = None, **options: Any) -> Kit:
        kits.append(open_kit(mcp={"h": hostile(mode, **options)}, **(kit or {})))
        return kits[-1]

    yield make
    for one in kits:
        one.close()
    for one in set(threading.enumerate()) - others:
        if "mcp" in one.name or "language" in one.name:
            one.join(50)
            assert not one.is_alive(), one.name
    left = {os.path.realpath(f"/proc/self/fd/{fd}") for fd in set(os.listdir("/proc/self/fd")) - before}
    assert [one for one in left if "pipe" in one] == []
    assert processes(str(ws)) == []


def call(kit: Kit, name: str, **arguments: Any) -> Any:
    """Call a tool of the only server."""
    return kit.call("mcp", {"action": "call_tool", "name": name, "arguments": arguments})
