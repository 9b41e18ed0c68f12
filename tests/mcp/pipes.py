"""A plain MCP client on the pipes of a real server, with no library in between."""

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

WAIT = 30.0
META = "io.modelcontextprotocol/"


class Pipes:
    """Sends requests and sorts what comes back: answers by their id, the rest in the order they came."""

    def __init__(self, running: subprocess.Popen[bytes]) -> None:
        self.process = running
        self.came: queue.Queue[Any] = queue.Queue()
        self.other: list[dict[str, Any]] = []
        self.answers: dict[Any, dict[str, Any]] = {}
        self.reply: Callable[[dict[str, Any]], dict[str, Any] | None] = lambda _request: None
        self._number = 0
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.came.put(json.loads(line))
        self.came.put(None)

    def raw(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: Any) -> None:
        self.raw(json.dumps(message).encode() + b"\n")

    def request(self, method: str, params: dict[str, Any] | None = None) -> int:
        self._number += 1
        more = {} if params is None else {"params": params}
        self.send({"jsonrpc": "2.0", "id": self._number, "method": method, **more})
        return self._number

    def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})})

    def next(self) -> dict[str, Any] | None:
        """The next message; a request of the server is answered on the way."""
        message = self.came.get(timeout=WAIT)
        if message and "method" in message and "id" in message and (result := self.reply(message)) is not None:
            self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})
        return message

    def answer(self, number: Any) -> dict[str, Any]:
        """The answer to a request."""
        while number not in self.answers:
            message = self.next()
            assert message is not None, "the server has ended"
            if isinstance(message, dict) and "method" not in message:
                self.answers[message["id"]] = message
            else:
                self.other.append(message)
        return self.answers.pop(number)

    def ask(self, method: str, params: dict[str, Any] | None = None) -> Any:
        """The result of a request."""
        answer = self.answer(self.request(method, params))
        assert "result" in answer, answer
        return answer["result"]

    def fails(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """The error of a request."""
        answer = self.answer(self.request(method, params))
        assert "error" in answer, answer
        return answer["error"]

    def call(self, name: str, /, **arguments: Any) -> Any:
        return self.ask("tools/call", {"name": name, "arguments": arguments})

    def start(self, version: str = "2025-11-25", **capabilities: Any) -> dict[str, Any]:
        """The handshake."""
        who = {"name": "test", "version": "1"}
        params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": who}
        result = self.ask("initialize", params)
        self.notify("notifications/initialized")
        return result

    def stateless(self, method: str, version: str = "2026-07-28", can: Any = None, **params: Any) -> dict[str, Any]:
        """The answer to a request that says all about its client."""
        meta = {f"{META}protocolVersion": version, f"{META}clientCapabilities": {} if can is None else can}
        return self.answer(self.request(method, {**params, "_meta": meta}))

    def end(self) -> int:
        """Close the input and wait for the server's end; its exit status."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(WAIT)


@contextmanager
def server(
    *words: str, cwd: Path, state: Path, argv: Sequence[str] = ("-m", "toolroll", "mcp"), stderr: Any = None
) -> Iterator[Pipes]:
    """A server with its pipes; it must have ended by itself by the end, or it is killed."""
    env = {**os.environ, "XDG_STATE_HOME": str(state), "XDG_CONFIG_HOME": str(state / "config")}
    root = Path(__file__).parents[2]
    env["PYTHONPATH"] = f"{root / 'src'}:{root}"
    pipe = subprocess.PIPE
    command = [sys.executable, *argv, *words]
    with subprocess.Popen(command, cwd=cwd, env=env, stdin=pipe, stdout=pipe, stderr=stderr) as running:
        try:
            yield Pipes(running)
        finally:
            if running.poll() is None:
                running.kill()


def until(true: Callable[[], Any], seconds: float = WAIT) -> bool:
    """Wait for something to be true; False if it never was."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def running(mark: str) -> list[int]:
    """The processes whose command line holds this mark, but for our own and shells that only quote it."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdecimal() and int(name) != os.getpid():
            try:
                words = Path("/proc", name, "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if mark.encode() in words:
                found.append(int(name))
    return found
