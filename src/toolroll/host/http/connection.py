"""A connection to one server at an address that was judged: plain or with TLS, never waiting without an end."""

from __future__ import annotations

import errno
import os
import select
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from toolroll.host.http.deadline import Patience
from toolroll.policy.urls import Target
from toolroll.result import ErrorCode, ToolError

Route = Callable[[str, int], tuple[str, int]]
"""From the address and port that a request goes to, to where it is really sent."""

_T = TypeVar("_T")

_CONNECT_SECONDS = 10.0
_NEXT_SECONDS = 3.0  # for an address that does not answer while there are others
_MOST_ADDRESSES = 4
# Not the server's doing: nothing that a model does mends these, so they are raised as they are.
_OURS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS})


class Wire:
    """An open connection. Sends and receives within the patience of the request."""

    def __init__(self, sock: socket.socket, patience: Patience, name: str) -> None:
        self._socket = sock
        self._patience = patience
        self._name = name

    def send(self, data: bytes) -> None:
        """All of the bytes. A server that answers before it has read them is let speak."""
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[self._attempt(partial(self._socket.send, rest), select.POLLOUT) :]
            except (BrokenPipeError, ConnectionResetError):
                return

    def receive(self, most: int) -> bytes:
        """The next bytes; none at the end."""
        return self._attempt(lambda: self._socket.recv(most), select.POLLIN)

    def secure(self, host: str, context: ssl.SSLContext) -> None:
        """Speak TLS from now on, with a server that has a certificate for this host."""
        name = host.strip("[]")
        self._socket = tls = context.wrap_socket(self._socket, server_hostname=name, do_handshake_on_connect=False)
        self._attempt(tls.do_handshake, select.POLLIN)

    def close(self) -> None:
        self._socket.close()

    def _attempt(self, action: Callable[[], _T], events: int) -> _T:
        while True:
            try:
                return action()
            except BlockingIOError:
                wanted = events
            except ssl.SSLWantReadError:
                wanted = select.POLLIN
            except ssl.SSLWantWriteError:
                wanted = select.POLLOUT
            silence = self._patience.silence
            if not self._patience.ready(self._socket.fileno(), wanted, silence):
                raise ToolError(ErrorCode.TIMEOUT, f"{self._name!r} was silent for {silence:g} s. Try again later.")


@contextmanager
def connected(
    target: Target,
    addresses: Sequence[str],
    patience: Patience,
    route: Route | None,
    trust: Callable[[], ssl.SSLContext],
) -> Iterator[Wire]:
    """A connection to one of the addresses, closed in the end. Errors of the network are told as such."""
    with _told(target.host):
        wire = Wire(_socket(addresses, target.port, patience, route), patience, target.host)
        try:
            if target.scheme == "https":
                wire.secure(target.host, trust())
            yield wire
        finally:
            wire.close()


@contextmanager
def _told(host: str) -> Iterator[None]:
    try:
        yield
    except ssl.SSLCertVerificationError as error:
        why = error.verify_message.rstrip(".")
        raise ToolError(
            ErrorCode.NETWORK, f"{host!r} has no certificate that can be trusted: {why}. Use another source."
        ) from error
    except ssl.SSLError as error:
        raise ToolError(
            ErrorCode.NETWORK, f"No TLS with {host!r}: {error.reason or 'it failed'}. Check the scheme."
        ) from error
    except TimeoutError as error:
        raise ToolError(ErrorCode.TIMEOUT, f"{host!r} does not answer. Check the URL, or try again later.") from error
    except OSError as error:
        if error.errno in _OURS:
            raise
        why = os.strerror(error.errno) if error.errno else "the connection failed"
        raise ToolError(
            ErrorCode.NETWORK, f"Cannot reach {host!r}: {why}. Check the URL, or try again later."
        ) from error


def _socket(addresses: Sequence[str], port: int, patience: Patience, route: Route | None) -> socket.socket:
    """A connected socket; the error of the last address when none of them answers."""
    *others, last = addresses[:_MOST_ADDRESSES]
    for address in others:
        try:
            return _connect(address, port, patience, route, _NEXT_SECONDS)
        except OSError:
            continue
    return _connect(last, port, patience, route, _CONNECT_SECONDS)


def _connect(address: str, port: int, patience: Patience, route: Route | None, seconds: float) -> socket.socket:
    where = (address, port) if route is None else route(address, port)
    patience.left()
    sock = socket.socket(socket.AF_INET6 if ":" in where[0] else socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        number = sock.connect_ex(where)
        if number in (errno.EINPROGRESS, errno.EWOULDBLOCK):
            if not patience.ready(sock.fileno(), select.POLLOUT, seconds):
                raise TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))
            number = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if number:
            raise OSError(number, os.strerror(number))
    except BaseException:
        sock.close()
        raise
    return sock
