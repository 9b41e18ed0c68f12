"""A small HTTP server: one thread for each connection, one that looks after calls under way, and an orderly end."""

from __future__ import annotations

import logging
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

from toolroll.mcp.http.connection import HttpConnection, HttpRefusedError, HttpRequest

MAX_CONNECTIONS = 256
STOP_TIMEOUT_S = 3.0
LOOK_S = 0.1
"""How often calls under way are looked after."""
_ACCEPT_PAUSE_S = 0.1
_MAX_LOGGED_CHARS = 100
_TEXT = (b"content-type", b"text/plain; charset=utf-8")

Answer = Callable[[HttpRequest, HttpConnection], None]
"""Reads the body of a request and answers it; HttpRefusedError if it does not."""

_log = logging.getLogger("toolroll.mcp")


class HttpServer:
    """Serves the connections of a listening socket."""

    def __init__(self, listening: socket.socket, answer: Answer, look: Callable[[], None] | None = None) -> None:
        """`look` is called again and again while there are connections, until they end."""
        self._listening, self._answer, self._look = listening, answer, look
        self._connections: set[HttpConnection] = set()
        self._came = threading.Event()
        self._stopping = threading.Event()
        self._signals = 0

    def run(self, ready: Callable[[], None], stop: Callable[[float], None]) -> None:
        """Serve until the process gets a signal to end, or `end` is called; then `stop` is called with seconds.

        Its clients are still connected then.
        """
        for work in (self._accept, *((self._watch,) if self._look else ())):
            threading.Thread(target=work, name="toolroll-http", daemon=True).start()
        with self._ending_by_signals():
            ready()
            self._stopping.wait()
            with suppress(OSError):
                self._listening.shutdown(socket.SHUT_RDWR)
            self._listening.close()
            stop(STOP_TIMEOUT_S if self._signals < 2 else 0.0)
            for connection in tuple(self._connections):
                connection.shut()

    def end(self) -> None:
        """Let `run` return."""
        self._stopping.set()

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                connected, _ = self._listening.accept()
            except OSError:  # too many files are open, or the server ends
                self._stopping.wait(_ACCEPT_PAUSE_S)
                continue
            connection = HttpConnection(connected)
            connection.read_on = partial(self._serve_in_thread, connection)
            self._connections.add(connection)
            try:
                if len(self._connections) > 2 * MAX_CONNECTIONS:
                    raise RuntimeError
                connection.read_on()
                self._came.set()
            except RuntimeError:  # no thread can be started
                self._connections.discard(connection)
                connection.close()

    def _watch(self) -> None:
        while not self._stopping.wait(LOOK_S):
            if not self._connections:
                self._came.wait()
                self._came.clear()
            assert self._look is not None
            try:
                self._look()
            except Exception:  # a fault of the server, which goes on
                _log.exception("Calls under way could not be looked after")

    def _serve_in_thread(self, connection: HttpConnection) -> None:
        threading.Thread(target=self._serve, args=(connection,), name="toolroll-http", daemon=True).start()

    def _serve(self, connection: HttpConnection) -> None:
        """Answer requests until the connection ends, or this thread stays with a call."""
        connection.reader = threading.get_ident()
        refused = len(self._connections) > MAX_CONNECTIONS
        try:
            if refused:
                connection.respond(503, [_TEXT], b"Too many connections are open.\n", close=True)
            while not refused and (request := connection.read_request()) is not None:
                refused = not self._try_to_answer(request, connection)
                if connection.reader != threading.get_ident():
                    return
                if not connection.keeps_alive:
                    break
        except HttpRefusedError as refusal:
            refuse(refusal, connection, "a request")
            refused = True
        except OSError:
            pass
        if connection.reader == threading.get_ident():
            connection.close(linger=refused)
            self._connections.discard(connection)

    def _try_to_answer(self, request: HttpRequest, connection: HttpConnection) -> bool:
        try:
            self._answer(request, connection)
        except HttpRefusedError as refusal:
            refuse(refusal, connection, f"{request.method} {request.path[:_MAX_LOGGED_CHARS]!r}")
            return False
        except OSError:
            raise
        except Exception:  # a fault of the server, which goes on
            _log.exception("%s failed", request.method)
            if connection.reader == threading.get_ident():
                connection.respond(500, [_TEXT], b"Internal Server Error\n", close=True)
            return False
        return True

    @contextmanager
    def _ending_by_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {one: signal.signal(one, self._on_signal) for one in ending_signals()}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    def _on_signal(self, _number: int, _frame: object) -> None:
        self._signals += 1
        self._stopping.set()


def refuse(refusal: HttpRefusedError, connection: HttpConnection, what: str) -> None:
    """Answer with a refusal, and log it."""
    _log.warning("refused %s: %s", what, refusal.reason)
    with suppress(OSError):
        connection.respond(refusal.status, [_TEXT, *refusal.headers], f"{refusal.reason}\n".encode(), close=True)


def ending_signals() -> tuple[signal.Signals, ...]:
    """The signals that end the server; SIGHUP only where it is not ignored, as nohup does."""
    always = (signal.SIGINT, signal.SIGTERM)
    return always if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else (*always, signal.SIGHUP)
