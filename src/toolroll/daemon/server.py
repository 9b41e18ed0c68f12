"""The daemon: accept requests, answer each in a thread of its own, and end when nothing is left to do."""

from __future__ import annotations

import os
import select
import socket
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress

from toolroll.host.daemon.client import REFUSED, TAKEN
from toolroll.host.daemon.request import BadRequestError, DaemonRequest, acting_as, divided_by_thread, receive
from toolroll.host.network.peers import check_peer
from toolroll.host.runtime import user_sockets

IDLE_SECONDS = 15 * 60.0
"""After so long without a request or a job the daemon ends."""
_TICK_S = 5.0
_PAUSE_S = 0.05
_MESSAGE_TIMEOUT_S = 5.0
_END_TIMEOUT_S = 5.0
_FAILED = 1


class DaemonServer:
    """Serves one socket. `answer` makes a call and returns its exit status."""

    def __init__(
        self,
        name: str,
        answer: Callable[[DaemonRequest], int],
        why_not: Callable[[], str],
        describe: Callable[[], str],
        is_needed: Callable[[], bool],
        close: Callable[[], None],
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        """Listen; SocketInUseError if another daemon does.

        `why_not` says, in the folder and with the variables of a request, why it is not taken, or nothing. `describe`
        is the daemon's status as text. `is_needed` is False when it may end for want of requests; `close` ends what
        calls have left.
        """
        self._answer, self._why_not, self._describe, self._is_needed = answer, why_not, describe, is_needed
        self._close, self._idle_seconds = close, idle_seconds
        self._path = os.path.join(user_sockets.run_folder(), name)
        self._listener = user_sockets.listen(name)
        self._file = os.stat(self._path).st_ino
        self._lock = threading.Lock()
        self._running: dict[DaemonRequest, threading.Thread] = {}
        self._used = time.monotonic()
        self._stopped, self._ended = threading.Event(), threading.Event()
        self._wake, self._waker = socket.socketpair()

    def run(self) -> None:
        """Serve until the daemon is idle or stopped; running calls are cancelled then."""
        self._listener.setblocking(False)
        poll = select.poll()
        for one in (self._listener, self._wake):
            poll.register(one, select.POLLIN)
        with divided_by_thread():
            try:
                while not self._stopped.is_set() and not self._is_idle():
                    if poll.poll(min(_TICK_S, self._idle_seconds) * 1000):
                        self._accept()
            finally:
                self._end()
                self._close()
                self._ended.set()
                for one in (self._wake, self._waker):
                    one.close()

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except BlockingIOError:
            return
        except OSError:  # no descriptors are left for a moment
            time.sleep(_PAUSE_S)
            return
        threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def stop(self) -> None:
        """Let `run` end."""
        self._stopped.set()
        with suppress(OSError):
            self._waker.send(b".")

    def _is_idle(self) -> bool:
        if not self._is_found():
            self._used = min(self._used, time.monotonic() - self._idle_seconds)
        with self._lock:
            wanted = any(not request.token.cancelled for request in self._running)  # one may wait for a dead client
            if wanted or self._is_needed():
                self._used = time.monotonic()
        return time.monotonic() - self._used >= self._idle_seconds

    def _is_found(self) -> bool:
        """Whether clients find this daemon: its socket may have been removed, and be another's."""
        try:
            return os.stat(self._path).st_ino == self._file
        except OSError:
            return False

    def _end(self) -> None:
        """Take no more calls, whose clients then do them without a daemon, and cancel those that run."""
        if self._is_found():
            user_sockets.remove(os.path.basename(self._path))
        self._listener.close()
        with self._lock:
            self._stopped.set()
            running = dict(self._running)
        for request in running:
            request.token.cancel()
        until = time.monotonic() + _END_TIMEOUT_S
        for thread in running.values():
            thread.join(max(0.0, until - time.monotonic()))

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):  # of a client that is gone
            try:
                connection.settimeout(_MESSAGE_TIMEOUT_S)
                peer = check_peer(connection)
                request = receive(connection)
            except (PermissionError, BadRequestError) as error:
                connection.sendall(REFUSED + str(error).encode())
                return
            request.pid = peer.pid
            connection.settimeout(None)
            try:
                self._handle(connection, request)
            finally:
                request.close()

    def _handle(self, connection: socket.socket, request: DaemonRequest) -> None:
        if request.kind == "call":
            self._call(connection, request)
        elif request.kind == "stop":
            connection.sendall(TAKEN + self._describe().encode())
            self.stop()
            self._ended.wait()  # the client waits for the end of the connection
        elif request.kind == "status":
            connection.sendall(TAKEN + self._describe().encode())
        else:
            connection.sendall(REFUSED + f"There is no request {request.kind!r}.".encode())

    def _call(self, connection: socket.socket, request: DaemonRequest) -> None:
        with self._lock:
            if self._stopped.is_set():
                return
            self._running[request] = threading.current_thread()
        threading.Thread(target=_cancel_with_client, args=(connection, request), daemon=True).start()
        try:
            connection.sendall(self._run_call(connection, request))
        finally:
            with self._lock:
                del self._running[request]
                self._used = time.monotonic()
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _run_call(self, connection: socket.socket, request: DaemonRequest) -> bytes:
        """Make the call; what the client is sent then."""
        with acting_as(request):
            if why := self._why_not():
                return REFUSED + why.encode()
            connection.sendall(TAKEN)
            try:
                status = self._answer(request)
            except (Exception, SystemExit):  # a defect, which the client shows as it would its own
                traceback.print_exc()
                status = _FAILED
        is_cut_off = request.token.cancelled and self._stopped.is_set()  # by our end, which the client reports
        return b"" if is_cut_off else b"%d" % status


def _cancel_with_client(connection: socket.socket, request: DaemonRequest) -> None:
    """Cancel a call when its client is gone, or has said that it does not want it any more."""
    with suppress(OSError):
        connection.recv(1)
    request.token.cancel()
