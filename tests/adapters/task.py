"""What the scripted models ask for, and what they must receive."""

from __future__ import annotations

import asyncio
import base64
import re
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import until
from toolroll import Context, Kit, Policy, tool
from toolroll.policy.decision import Rule

DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
FILES = {"cart.py": "total = 1\n", "dot.png": base64.b64decode(DOT)}
SCRIPT = [[("read", {"path": "cart.py"})], [("read", {"path": "dot.png"})], [("read", {"path": "crat.py"})]]
TEXTS = [
    "1\ttotal = 1",
    "dot.png: an image of 70 bytes.",
    "File not found: there is no 'crat.py'. Did you mean 'cart.py'?",
]
WRITE = ("write", {"path": "new.txt", "content": "new\n"})
SLEEP = ("bash", {"command": "touch started; sleep 60"})
ASK_ABOUT_NEW = Policy(rules=(Rule("ask", path="new.*"),))
"""Asks about the file of WRITE, which is known only when the call runs."""
MANUAL = Path(__file__).parents[2] / "docs" / "adapters.md"


@tool
def count(ctx: Context) -> str:
    """Count to two."""
    ctx.progress(1, 2, "half")
    return "two"


@tool
def own_id(ctx: Context) -> str:
    """Say what the provider calls this call."""
    return f"id {ctx.call.id}"


FAIL = "touch started; sleep 1; exit 3"


@contextmanager
def unknown_statuses(workspace: str) -> Iterator[None]:
    """Ignore SIGCHLD once the command of FAIL runs, so that nobody has its status.

    Not before: bubblewrap would inherit that, and wait for ever.
    """

    def ignore(*_: object) -> None:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    def watch() -> None:
        until(Path(workspace, "started").exists)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    before = [(one, signal.getsignal(one)) for one in (signal.SIGCHLD, signal.SIGUSR1)]
    signal.signal(signal.SIGUSR1, ignore)
    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        thread.join()
        for one, handler in before:
            signal.signal(one, handler)


def run_example(heading: str, **given: Any) -> dict[str, Any]:
    """Run the example of a framework in the manual, with a model or a client that the test gives; its variables."""
    part = re.split(rf"\n###? {heading}\n", MANUAL.read_text())[1].partition("\n##")[0]
    code = re.search(r"```python\n(.*?)```", part, re.DOTALL)
    assert code, heading
    exec(compile(code[1], f"{MANUAL.name}: {heading}", "exec"), given)
    return given


async def cancel_when_started(ws: Path, start: Callable[[], Coroutine[Any, Any, Any]]) -> None:
    """Cancel a run as soon as the command of SLEEP runs."""
    task = asyncio.create_task(start())
    await asyncio.to_thread(until, (ws / "started").exists)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def is_cancelled(kit: Kit) -> bool:
    """Whether the last call was cancelled, waiting for its end."""
    until(lambda: bool(kit.calls()))
    return kit.calls()[-1].code == "Cancelled"
