"""A console, and servers of which it tells: the real programs, with a state folder of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.mcp.pipes import Pipes, server, until

_ROOT = Path(__file__).parents[3]


class Served:
    """A `toolroll mcp` with its client."""

    def __init__(self, pipes: Pipes, ws: Path) -> None:
        self.pipes, self.ws = pipes, ws
        self._waiter = ThreadPoolExecutor(1)

    def call(self, tool: str, /, **arguments: Any) -> str:
        """The text of the result, as the model gets it."""
        return self.start(tool, **arguments).result(30)

    def start(self, tool: str, /, **arguments: Any) -> Future[str]:
        """Begin a call that may wait for an approval."""
        number = self.pipes.request("tools/call", {"name": tool, "arguments": arguments})
        return self._waiter.submit(self._text, number)

    def _text(self, number: int) -> str:
        content = self.pipes.answer(number)["result"]["content"]
        return "\n".join(one.get("text", "") for one in content)

    def kill(self) -> None:
        self.pipes.process.kill()
        self.pipes.process.wait(10)


class Scene:
    """The folders, the console and the servers of some stories."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self._stack = folder, stack
        self.state = folder / "state"
        self.environment = {
            **os.environ,
            "XDG_STATE_HOME": str(self.state),
            "XDG_CONFIG_HOME": str(self.state / "config"),
            "PYTHONPATH": f"{_ROOT / 'src'}:{_ROOT}",
        }
        self.console = self.start_console()

    def start_console(self) -> subprocess.Popen[bytes]:
        """Start `toolroll console` and wait until it can be opened."""
        record = self.state / "toolroll" / "run" / "console.json"
        command = [sys.executable, "-m", "toolroll", "console", "--no-open"]
        running = subprocess.Popen(command, cwd=self.folder, env=self.environment, stdout=subprocess.DEVNULL)
        self._stack.callback(_end, running)
        assert until(record.exists, 20)
        known = json.loads(record.read_bytes())
        self.url = f"http://127.0.0.1:{known['port']}/"
        self.link = f"{self.url}#token={known['token']}"
        return running

    def serve(
        self, name: str = "shop", *words: str, client: str = "claude-code", files: dict[str, str] | None = None
    ) -> Served:
        """A server on a workspace of this name, made with files where it is new."""
        ws = self.folder / name
        ws.mkdir(exist_ok=True)
        for path, text in (files or {}).items():
            (ws / path).parent.mkdir(parents=True, exist_ok=True)
            (ws / path).write_text(text)
        given = words or ("--sandbox", "none")
        pipes = self._stack.enter_context(server("-C", str(ws), "--tools", "all", *given, cwd=ws, state=self.state))
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": client, "version": "1"}}
        pipes.ask("initialize", params)
        pipes.notify("notifications/initialized")
        pipes.call("todo_read")  # the first call opens the workspace
        return Served(pipes, ws)

    def run(self, *words: str, cwd: Path) -> str:
        """The output of another `toolroll` command of this user."""
        command = [sys.executable, "-m", "toolroll", *words]
        done = subprocess.run(command, cwd=cwd, env=self.environment, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr


def _end(running: subprocess.Popen[bytes]) -> None:
    if running.poll() is None:
        running.send_signal(signal.SIGINT)
        try:
            running.wait(10)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait(10)


MakeScene = Callable[[], Scene]


@contextmanager
def set_up(folder: Path) -> Iterator[Scene]:
    """A console with servers, which end with the block."""
    with ExitStack() as stack:
        yield Scene(folder, stack)
