"""The proxy that commands use: HTTP CONNECT, plain HTTP and SOCKS5 on one listener. It opens no TLS of a command."""

from __future__ import annotations

import select
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from http.client import HTTPException

from toolroll.host.network.echoes import EchoedError
from toolroll.host.network.gate import Command, HostGate, UnreachedError
from toolroll.host.network.tls_route import ROUTE_METHODS, send_request
from toolroll.policy import urls

_MOST = 256  # connections at a time; more wait
_HEAD_SECONDS = 30.0
_IDLE_SECONDS = 600.0
_PAUSE_SECONDS = 0.1
_END_SECONDS = 2.0  # for a connection to end with its server
_MAX_HEAD_BYTES = 64 * 1024
_PIECE_BYTES = 256 * 1024
_LOGIN_NEEDED = (401, 403)
_SOCKS, _SOCKS_CONNECT = 5, 1
_SOCKS_DENIED, _SOCKS_UNREACHABLE, _SOCKS_UNSUPPORTED, _SOCKS_NO_METHOD = 2, 4, 7, 0xFF
_OF_ONE_HOP = (b"connection", b"proxy-connection", b"keep-alive", b"proxy-authorization", b"host")


class ProxyServer:
    """Serves the connections of one listener, each in a thread, until `close`."""

    def __init__(
        self,
        listener: socket.socket,
        gate: HostGate,
        find_command: Callable[[socket.socket], int],
        target: str = "",
        *,
        private: bool = False,
    ) -> None:
        """`find_command` gives the command that has connected, 0 for none; `private`: nothing else can.

        With a `target`, a URL, every connection leads to its host, and nothing is asked of the client.
        """
        self.port = int(listener.getsockname()[1])
        self._listener = listener
        self._gate = gate
        self._find_command = find_command
        self._target = target
        self._private = private
        self._free = threading.BoundedSemaphore(_MOST)
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._threads: set[threading.Thread] = set()
        self._closed = False
        self._start(self._accept)

    def close(self) -> None:
        """End all connections, and take no more."""
        with self._lock:
            self._closed = True
            sockets = (self._listener, *self._open)
        for one in sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits for it
        self._listener.close()
        with self._lock:
            threads = tuple(self._threads)
        for thread in threads:
            thread.join(_END_SECONDS)

    def _start(self, work: Callable[[], None]) -> None:
        def run() -> None:
            try:
                work()
            finally:
                self._threads.discard(thread)

        thread = threading.Thread(target=run, name="toolroll proxy", daemon=True)
        with self._lock:  # one that is not started yet cannot be waited for
            self._threads.add(thread)
            thread.start()

    def _accept(self) -> None:
        while True:
            self._free.acquire()
            try:
                client, _ = self._listener.accept()
            except OSError:
                if self._closed:
                    return
                self._free.release()
                time.sleep(_PAUSE_SECONDS)  # there are no descriptors left
                continue
            self._start(partial(self._serve, client))

    def _serve(self, client: socket.socket) -> None:
        try:
            with client:
                command = cache(partial(self._identify, client))
                if not self._private:
                    command()
                self._keep(client)
                client.settimeout(_HEAD_SECONDS)
                if self._target and not self._gate.has_route(self._target):
                    self._join(client, self._gate.connect(self._target, command), b"", b"")
                elif client.recv(1, socket.MSG_PEEK) == bytes([_SOCKS]):
                    self._serve_socks(client, command)
                else:
                    self._serve_http(client, command)
        except (OSError, UnreachedError, ValueError, struct.error, HTTPException):
            pass  # the client is gone, or speaks no protocol that we know, or has its answer
        finally:
            with self._lock:
                self._open.discard(client)
            self._free.release()

    def _identify(self, client: socket.socket) -> int:
        """The command that has connected; OSError for any other program."""
        if command := self._find_command(client):
            return command
        raise ConnectionAbortedError

    def _keep(self, one: socket.socket) -> None:
        with self._lock:
            if self._closed:
                raise ConnectionAbortedError
            self._open.add(one)

    def _join(self, client: socket.socket, server: socket.socket, answer: bytes, request: bytes) -> None:
        """Send what each side is owed, and then all that they have to say to each other."""
        with server:
            self._keep(server)
            try:
                relay(client, server, answer, request)
            finally:
                with self._lock:
                    self._open.discard(server)

    def _serve_http(self, client: socket.socket, command: Command) -> None:
        head, rest = _read_head(client)
        if b"\n" in head.replace(b"\r\n", b""):
            raise ValueError("a line within a line")
        line, *fields = head.split(b"\r\n")
        method, target, version = line.decode("utf-8").split(" ")
        if self._target and target.startswith("/"):
            target = self._target.removesuffix("/") + target
        tunnel = method == "CONNECT"
        if ("/" in target) if tunnel else not target.lower().startswith("http://"):
            _answer(client, "400 Bad Request", "This is a proxy: it takes CONNECT and requests for http:// addresses.")
            return
        url = f"https://{target}/" if tunnel else target
        kept = [one for one in fields if one.partition(b":")[0].strip().lower() not in _OF_ONE_HOP]
        if not tunnel and self._gate.has_route(url):
            self._serve_route(client, command, (method, kept, rest), urls.parse(url))
            return
        try:
            server = self._gate.connect(url, command)
        except UnreachedError as error:
            _answer(client, "502 Bad Gateway" if error.allowed else "403 Forbidden", str(error))
            return
        if tunnel:
            self._join(client, server, b"HTTP/1.1 200 Connection established\r\n\r\n", rest)
            return
        # One request for a connection: the next one may be for another host.
        place = urls.parse(url)
        own = [f"{method} {place.path} {version}".encode(), f"Host: {place.authority}".encode(), b"Connection: close"]
        self._join(client, server, b"", b"\r\n".join((*own, *kept)) + b"\r\n\r\n" + rest)

    def _serve_route(
        self, client: socket.socket, command: Command, request: tuple[str, list[bytes], bytes], place: urls.Target
    ) -> None:
        """Send a request over TLS, with the credential of its host that covers it."""
        if request[0] not in ROUTE_METHODS:
            _answer(client, "405 Method Not Allowed", f"{request[0]!r} is not sent to a host with a credential.")
            return
        target = replace(place, scheme="https", port=443 if place.port == 80 else place.port)
        credential = self._gate.credential(request[0], place)
        try:
            server = self._gate.connect_tls(target, credential, command)
        except UnreachedError as error:
            _answer(client, "502 Bad Gateway", str(error))
            return
        with server:
            self._keep(server)
            for one in (client, server):
                one.settimeout(_IDLE_SECONDS)
            try:
                status = send_request(client, server, request, target, credential.header if credential else "")
                if credential is None and status in _LOGIN_NEEDED:
                    asked = f"A {request[0]} request for {place.path!r} of {place.host!r} was sent without a credential"
                    self._gate.note(place, f"{asked}: no rule of [credentials] covers it.", command)
            except EchoedError as error:
                ended = f"The answer of {place.host!r} was not passed on, because {error}."
                self._gate.note(place, ended, command)
                if error.begun:  # a plain end would look like that of the answer
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                else:
                    _answer(client, "502 Bad Gateway", ended)
            finally:
                with self._lock:
                    self._open.discard(server)

    def _serve_socks(self, client: socket.socket, command: Command) -> None:
        _, methods = _read_exactly(client, 2)
        if 0 not in _read_exactly(client, methods):
            client.sendall(bytes([_SOCKS, _SOCKS_NO_METHOD]))
            return
        client.sendall(bytes([_SOCKS, 0]))
        _, wanted, _, kind = _read_exactly(client, 4)
        host = _read_socks_host(client, kind)
        (port,) = struct.unpack("!H", _read_exactly(client, 2))
        if wanted != _SOCKS_CONNECT or not host:
            client.sendall(_socks_answer(_SOCKS_UNSUPPORTED))
            return
        try:
            server = self._gate.connect(f"https://{host}:{port}/", command)
        except UnreachedError as error:
            client.sendall(_socks_answer(_SOCKS_UNREACHABLE if error.allowed else _SOCKS_DENIED))
            return
        self._join(client, server, _socks_answer(0), b"")


def relay(client: socket.socket, server: socket.socket, answer: bytes = b"", request: bytes = b"") -> None:
    """Carry bytes both ways until both sides have ended, or nothing comes for long; first what each is owed."""
    ways = [_Way(client, server, request), _Way(server, client, answer)]
    for one in (client, server):
        one.setblocking(False)
    while any(not way.over for way in ways):
        wanted: dict[int, int] = {}
        for way in ways:
            for fd, events in way.waits():
                wanted[fd] = wanted.get(fd, 0) | events
        poll = select.poll()
        for fd, events in wanted.items():
            poll.register(fd, events)
        if not poll.poll(_IDLE_SECONDS * 1000):
            return
        for way in ways:
            way.move()


class _Way:
    """One direction of a connection: at most one piece is on its way."""

    def __init__(self, source: socket.socket, target: socket.socket, owed: bytes) -> None:
        self._source, self._target = source, target
        self._piece = memoryview(owed)
        self._ended = self.over = False

    def waits(self) -> list[tuple[int, int]]:
        if self._piece:
            return [(self._target.fileno(), select.POLLOUT)]
        return [] if self._ended else [(self._source.fileno(), select.POLLIN)]

    def move(self) -> None:
        with suppress(BlockingIOError):
            if not self._piece and not self._ended:
                self._piece = memoryview(self._source.recv(_PIECE_BYTES))
                self._ended = not self._piece
            if self._piece:
                self._piece = self._piece[self._target.send(self._piece) :]
        if self._ended and not self._piece and not self.over:
            self.over = True
            self._target.shutdown(socket.SHUT_WR)


def _read_head(client: socket.socket) -> tuple[bytes, bytes]:
    """The head of a request without its empty line, and what came after it."""
    told = b""
    while b"\r\n\r\n" not in told:
        piece = client.recv(_MAX_HEAD_BYTES)
        told += piece
        if not piece or len(told) > _MAX_HEAD_BYTES:
            raise ValueError("no request")
    head, _, rest = told.partition(b"\r\n\r\n")
    return head, rest


def _read_exactly(client: socket.socket, size: int) -> bytes:
    told = b""
    while len(told) < size:
        piece = client.recv(size - len(told))
        if not piece:
            raise ConnectionAbortedError
        told += piece
    return told


def _read_socks_host(client: socket.socket, kind: int) -> str:
    """A host as a URL has it; empty for an unknown kind."""
    if kind == 1:
        return socket.inet_ntop(socket.AF_INET, _read_exactly(client, 4))
    if kind == 4:
        return f"[{socket.inet_ntop(socket.AF_INET6, _read_exactly(client, 16))}]"
    return _read_exactly(client, _read_exactly(client, 1)[0]).decode("ascii") if kind == 3 else ""


def _socks_answer(code: int) -> bytes:
    return bytes([_SOCKS, code, 0, 1]) + bytes(6)


def _answer(client: socket.socket, status: str, text: str) -> None:
    body = f"{text}\n".encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
    client.sendall(f"{head}Connection: close\r\n\r\n".encode() + body)
