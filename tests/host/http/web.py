"""Web servers on the loopback for tests: they record what they are asked, and answer in bytes, well or badly."""

from __future__ import annotations

import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from toolroll.host.http.client import Client, Response
from toolroll.host.http.request import prepare
from toolroll.host.runtime.cancellation import CancelToken

CERTIFICATES = Path(__file__).with_name("certificates")
AUTHORITY = str(CERTIFICATES / "authority.pem")


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


Answer = Callable[[Asked], bytes | Iterable[bytes]]


def reply(body: bytes | str = b"", status: str = "200 OK", **headers: str) -> bytes:
    """A whole answer; `content_type="text/plain"` makes a header."""
    data = body.encode() if isinstance(body, str) else body
    given = {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(data))}
    given |= {name.replace("_", "-").title(): value for name, value in headers.items()}
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in given.items() if value), "", ""]
    return "\r\n".join(lines).encode("latin-1") + data


def redirect(location: str, status: str = "302 Found") -> bytes:
    return reply("moved", status, location=location)


class Server:
    """Answers every connection with `answer`, in a thread of its own; all are gone when the block ends."""

    def __init__(self, answer: Answer | bytes, *, tls: bool = False) -> None:
        self.answer = (lambda _asked: answer) if isinstance(answer, bytes) else answer
        self.asked: list[Asked] = []
        self.closing = threading.Event()
        self._tls = None
        if tls:
            self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._tls.load_cert_chain(CERTIFICATES / "server.pem")
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.connections = 0
        self._clients: list[Client] = []
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept)
        self._accepting.start()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str = "/") -> str:
        return f"{'https' if self._tls else 'http'}://{self.host}{path}"

    def attach(self, client: Client) -> Client:
        """Close this client when the server ends."""
        self._clients.append(client)
        return client

    @property
    def paths(self) -> list[str]:
        return [one.path for one in self.asked]

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        for client in self._clients:
            client.close()
        with suppress(ConnectionRefusedError):  # it is closed already
            socket.create_connection(("127.0.0.1", self.port)).close()  # wakes the thread that accepts
        self._accepting.join()
        for connection in self._open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            if self.closing.is_set():
                connection.close()
                return
            self.connections += 1
            self._threads.append(threading.Thread(target=self._serve, args=(connection,)))
            self._threads[-1].start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(10)
        with suppress(OSError), connection:
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
            with connection:
                self._open.append(connection)
                while self._answer_one(connection):
                    pass
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):  # a reset would overtake what was sent
                    pass

    def _answer_one(self, connection: socket.socket) -> bool:
        """Answer one request; whether the client can know where the answer ends, so that another may follow."""
        asked = _read(connection)
        if asked is None:
            return False
        self.asked.append(asked)
        answer = self.answer(asked)
        sent = b""
        for piece in (answer,) if isinstance(answer, bytes) else answer:
            if self.closing.is_set():
                return False
            connection.sendall(piece)
            sent = sent + piece if len(sent) < 1_000_000 else sent
        head, _, body = sent.partition(b"\r\n\r\n")
        length = re.search(rb"\ncontent-length: *(\d+)\Z|\ncontent-length: *(\d+)\r", head, re.IGNORECASE)
        return length is not None and int(length[1] or length[2]) == len(body)


def _read(connection: socket.socket) -> Asked | None:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return None
        data += piece
        if data[0] < 32:  # not HTTP, but perhaps the beginning of TLS
            connection.sendall(reply("?", "400 Bad Request"))
            return None
    head, _, body = data.partition(b"\r\n\r\n")
    first, *rest = head.decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in rest)}
    while len(body) < int(headers.get("content-length", 0)):
        body += connection.recv(65536)
    method, path, _ = first.split(" ")
    return Asked(method, path, headers, body)


def get(
    client: Client,
    url: str,
    *,
    method: str = "GET",
    headers: dict[str, str] | None = None,
    body: Any = None,
    **options: Any,
) -> Response:
    return client.send(prepare(method, url, headers, body), options.pop("token", None) or CancelToken(), **options)


def trusting(*servers: Server, **options: Any) -> Client:
    return servers[0].attach(Client([one.host for one in servers], **options))


class Internet:
    """Names at public addresses, each of which is in truth a server on the loopback."""

    def __init__(self, **servers: Server) -> None:
        self.looked_up: list[str] = []
        self.went_to: list[tuple[str, int]] = []
        self._at = {f"{name}.example.com": f"93.184.215.{number}" for number, name in enumerate(servers, 1)}
        self._servers = dict(zip(self._at.values(), servers.values(), strict=True))

    def resolve(self, name: str) -> list[str]:
        self.looked_up.append(name)
        return [self._at[name]] if name in self._at else ["10.0.0.1"]

    def route(self, address: str, port: int) -> tuple[str, int]:
        self.went_to.append((address, port))
        return "127.0.0.1", self._servers[address].port

    def client(self, **options: Any) -> Client:
        client = Client(resolve=self.resolve, route=self.route, **options)
        for server in self._servers.values():
            server.attach(client)
        return client
