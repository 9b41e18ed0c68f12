"""A console in this process, an HTTP client for it, and processes of which a test decides what they answer."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from toolroll.console.app import ConsoleApp
from toolroll.console.relay import ControlRelay
from toolroll.host.network.peers import TcpPeers
from toolroll.host.runtime import user_sockets
from toolroll.mcp.http import listen
from toolroll.mcp.http.server import HttpServer

TOKEN = "token-of-the-console-in-tests"
SECONDS = 50.0  # spent on faults alone
JSON = "application/json"


@dataclass
class HttpAnswer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class ConsoleClient:
    """Speaks to a console as the page does."""

    port: int
    token: str = TOKEN

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str | None) -> HttpAnswer:
        """One request; a header that is None is left out."""
        usual = {"Authorization": f"Bearer {self.token}", "Content-Type": JSON if body is not None else None}
        given = usual | {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            connection.request(method, path, body, {name: one for name, one in given.items() if one is not None})
            answer = connection.getresponse()
            return HttpAnswer(answer.status, {key.lower(): one for key, one in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def request(self, to: str, method: str, /, **params: Any) -> Any:
        body = json.dumps({"to": to, "method": method, "params": params}).encode()
        return self.ask("POST", "/api/request", body).json

    @contextmanager
    def events(self) -> Iterator[Iterator[Any]]:
        """The events of all processes as they come, from the moment that the stream is open."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            connection.request("GET", "/api/events", headers={"Authorization": f"Bearer {self.token}"})
            answer = connection.getresponse()
            assert answer.status == 200
            yield (json.loads(line) for line in iter(answer.readline, b""))
        finally:
            connection.close()


@contextmanager
def running_console() -> Iterator[ConsoleClient]:
    """A console in a thread, with the sockets of the user that XDG_STATE_HOME names."""
    with listen("127.0.0.1", 0, ()) as listening:
        port, relay = listening.getsockname()[1], ControlRelay()
        server = HttpServer(listening, ConsoleApp(relay, token=TOKEN, port=port, peers=TcpPeers()).answer)
        thread = threading.Thread(target=server.run, args=(lambda: None, lambda _seconds: relay.end()))
        thread.start()
        try:
            yield ConsoleClient(port)
        finally:
            server.end()
            thread.join()


@dataclass
class FakeProcess:
    """A control socket with answers by method; `connections` are those that have subscribed."""

    name: str
    answers: dict[str, Callable[[dict[str, Any]], Any]]
    connections: list[socket.socket] = field(default_factory=list)
    subscribed: threading.Event = field(default_factory=threading.Event)

    def send(self, event: str, data: Any) -> None:
        line = json.dumps({"method": event, "params": data}).encode() + b"\n"
        for one in self.connections:
            one.sendall(line)

    def serve(self, connected: socket.socket) -> None:
        with suppress(OSError), connected, connected.makefile("rb") as lines:
            for line in lines:
                asked = json.loads(line)
                answer = self.answers[asked["method"]](asked["params"])
                if asked["method"] == "subscribe":
                    self.connections.append(connected)  # before the answer, after which the process may end
                connected.sendall(answer if isinstance(answer, bytes) else self._encode(asked["id"], answer))
                if asked["method"] == "subscribe":
                    self.subscribed.set()

    def _encode(self, number: int, answer: Any) -> bytes:
        kind = "error" if isinstance(answer, str) else "result"
        return json.dumps({"id": number, kind: answer}).encode() + b"\n"


@contextmanager
def fake_process(name: str, **answers: Callable[[dict[str, Any]], Any]) -> Iterator[FakeProcess]:
    """A process of which the test says what it answers: a result, a sentence as an error, or bytes as they are."""
    usual = {"hello": lambda _: {"pid": 1, "started": 1.0, "workspace": "/w"}, "subscribe": lambda _: {"seq": 0}}
    process = FakeProcess(name, {**usual, **answers})
    listening = user_sockets.listen(name)

    def accept() -> None:
        with suppress(OSError):
            while True:
                connected, _ = listening.accept()
                threading.Thread(target=process.serve, args=(connected,), daemon=True).start()

    thread = threading.Thread(target=accept)
    thread.start()
    try:
        yield process
    finally:
        with suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
        thread.join()
        listening.close()
        for one in process.connections:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
