"""A small client of MCP servers over HTTP: connections that stay open, each with one request at a time."""

from __future__ import annotations

import json
import selectors
import socket
import time
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from bench.mcp_servers import ServerProcess

TOKEN = "the-token-of-the-bench"
_PROTOCOL = "2025-11-25"


class Server(ServerProcess):
    """A server process that says its address on the first line of its output."""

    def __init__(self, argv: Sequence[str], state: str) -> None:
        super().__init__(argv, state, TOOLROLL_MCP_TOKEN=TOKEN)
        self._session = ""
        self._open: list[Connection] = []

    def __exit__(self, *error: object) -> None:
        for one in self._open:
            one.close()
        super().__exit__(*error)

    def begin(self, flight: int) -> None:
        """Connect so many times; the handshake and the first list."""
        assert self.process.stdout is not None
        address = urlsplit(self.process.stdout.readline().decode().split()[-1])
        assert address.port is not None
        self._open = [Connection(address.port, address.path) for _ in range(flight)]
        who = {"name": "bench", "version": "1"}
        begun = {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": who}
        head, _ = self._asked({"id": 0, "method": "initialize", "params": begun})
        names = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
        self._session = names.get("mcp-session-id", "")
        self._asked({"method": "notifications/initialized"})
        if '"tools"' not in self._asked({"id": 0, "method": "tools/list", "params": {}})[1]:
            raise RuntimeError("no list of tools")

    def calls(self, params: object, count: int, holds: str) -> list[float]:
        """Make so many calls, one on each connection at a time; when each answer came. Each must hold a text."""
        waiting, at = iter(range(1, count + 1)), []
        with selectors.DefaultSelector() as selector:
            for one in self._open:
                selector.register(one.socket, selectors.EVENT_READ, one)
                self._next(one, waiting, params)
            while len(at) < count:
                for key, _ in selector.select():
                    answer = key.data.read()
                    if answer is None:
                        continue
                    at.append(time.perf_counter())
                    if holds not in answer[1]:
                        raise RuntimeError(f"a call failed: {answer}")
                    self._next(key.data, waiting, params)
        return at

    def _next(self, connection: Connection, numbers: Iterable[int], params: object) -> None:
        for number in numbers:
            connection.send({"id": number, "method": "tools/call", "params": params}, self._session)
            return

    def _asked(self, message: dict[str, object]) -> tuple[str, str]:
        one = self._open[0]
        one.send(message, self._session)
        while (answer := one.read()) is None:
            pass
        return answer


class Connection:
    """A connection that stays open. Answers come whole, in chunks, or without a body."""

    def __init__(self, port: int, path: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {TOKEN}\r\n"
            f"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
        )
        self._got = b""

    def send(self, message: dict[str, object], session: str) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        known = f"Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: {_PROTOCOL}\r\n" if session else ""
        self.socket.sendall(f"{self._head}{known}Content-Length: {len(body)}\r\n\r\n".encode() + body)

    def read(self) -> tuple[str, str] | None:
        """Take what has come; the head and the body of the answer when it is whole."""
        chunk = self.socket.recv(65536)
        if not chunk:
            raise RuntimeError(f"the server hung up: {self._got!r}")
        self._got += chunk
        head, found, body = self._got.partition(b"\r\n\r\n")
        if not found:
            return None
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        if len(body) < int(length) if length else not body.endswith(b"0\r\n\r\n"):
            return None
        self._got = b""
        return head.decode(), body.decode()

    def close(self) -> None:
        self.socket.close()
