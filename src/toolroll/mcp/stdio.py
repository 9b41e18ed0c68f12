"""The MCP server on standard input and output, started by the client."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from toolroll.host.error_line import write_error_line
from toolroll.host.rpc.channel import Channel, FileStream
from toolroll.host.rpc.codecs import RawLineCodec, TooLongError
from toolroll.host.runtime.exit_signals import exit_on
from toolroll.mcp.backend import Backend
from toolroll.mcp.session import OnClient, OnRoots, Session
from toolroll.mcp.wire import INTERNAL, RpcError, make_error
from toolroll.mcp.worker_threads import WorkerThreads

_CALL_GRACE_S, _LIST_GRACE_S = 5.0, 10.0  # for running tool calls, and for other requests, after the input has ended
_POLL_S = 0.01


def serve(
    backend: Backend,
    *,
    on_roots: OnRoots | None = None,
    on_client: OnClient | None = None,
    on_listed: Callable[[], None] | None = None,
) -> int:
    """Serve one client until it closes the input, then cancel what still runs; returns the exit status.

    `on_roots` gets the client's roots, `on_client` what the client says of itself; `on_listed` is called after the
    client got its first list of tools.
    """
    with _pipes() as (source, target), exit_on(signal.SIGHUP):
        server = _Server(backend, source, target, on_roots, on_client, on_listed)
        try:
            server.run()
        finally:
            for one in (signal.SIGTERM, signal.SIGINT):  # the server is ending already
                _ignore(one)
            server.close()
            backend.close()
    return 0


class _Server:
    def __init__(
        self,
        backend: Backend,
        source: int,
        target: int,
        on_roots: OnRoots | None,
        on_client: OnClient | None,
        on_listed: Callable[[], None] | None,
    ) -> None:
        self._output = FileStream(partial(os.read, source), target)
        self._channel = Channel(self._output, RawLineCodec(), reads=False)
        self._threads: WorkerThreads[bytes] = WorkerThreads(self._channel.take, self._handle, begin=self._flush)
        self._session = Session(backend, self._send, self._threads.work, self._log, on_roots, on_client)
        self._on_listed = on_listed
        self._failed = False
        self._target_poll = select.poll()
        self._target_poll.register(target, 0)

    def run(self) -> None:
        """Serve until the input ends; pending requests get a grace period while the client still reads."""
        self._threads.run()
        since = time.monotonic()
        while not self._client_is_gone():
            is_working = self._threads.is_working  # first: what is handled becomes pending, and then an answer
            pending = self._session.pending()
            if not (is_working or pending or self._output.busy):
                return
            if time.monotonic() - since > (_CALL_GRACE_S if pending == {"tools/call"} else _LIST_GRACE_S):
                return
            time.sleep(_POLL_S)

    def close(self) -> None:
        self._threads.end()
        self._session.close()

    def _client_is_gone(self) -> bool:
        return self._failed or any(event & select.POLLERR for _, event in self._target_poll.poll(0))

    def _handle(self, line: bytes) -> None:
        self._session.handle(line)
        if not (self._channel.is_next_here and self._threads.is_reader()) or self._output.due:
            self._flush()
        if self._on_listed is not None and self._session.listed:
            threading.Thread(target=self._on_listed, name="toolroll-open", daemon=True).start()
            self._on_listed = None

    def _send(self, value: Any) -> None:
        """Write a message at once; answers to messages that were read already are written together.

        The reading thread only queues its answer, and `_handle` flushes. If another thread becomes the reader
        meanwhile, that one flushes when it begins.
        """
        try:
            self._output.put(self._channel.encode(value))
        except TooLongError as error:
            fault = RpcError(INTERNAL, f"The answer cannot be sent: {error}.")
            self._output.put(self._channel.encode(make_error(value.get("id"), fault)))
        if "method" in value or not self._threads.is_reader():
            self._flush()

    def _flush(self) -> None:
        try:
            self._output.flush()
        except OSError:  # the client is gone
            self._failed = True
            self._threads.end()

    def _log(self, level: str, text: str) -> None:
        write_error_line("toolroll mcp", f"{level}: {text}")
        self._session.tell(level, text)


@contextmanager
def _pipes() -> Iterator[tuple[int, int]]:
    """The client's descriptors. Other code that reads stdin gets nothing, and what it prints goes to stderr."""
    sys.stdout.flush()
    source, target = os.dup(0), os.dup(1)
    empty, end = os.pipe()
    os.close(end)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    try:
        yield source, target
    finally:
        os.dup2(source, 0)
        os.dup2(target, 1)
        os.close(target)  # `source` stays open: a thread may still read it


def _ignore(number: int) -> None:
    if threading.current_thread() is threading.main_thread():
        signal.signal(number, signal.SIG_IGN)
