"""A request to the daemon: its message, and the streams, folder, umask and variables of the threads that serve it."""

from __future__ import annotations

import io
import os
import socket
import sys
import threading
from collections.abc import Iterator, MutableMapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TextIO

from toolroll.host.runtime.cancellation import CancelToken

_HEADER_BYTES, _MAX_BYTES = 10, 64_000_000
_STREAMS = ("stdin", "stdout", "stderr")
_FDS = len(_STREAMS) + 1  # and the folder
_CLONE_FS = 0x200
_local = threading.local()


class BadRequestError(Exception):
    """A message that is not one of our client's."""


@dataclass(slots=True, eq=False)
class DaemonRequest:
    """What a client asks for. It owns the descriptors until `close`."""

    kind: str
    argv: list[str] = field(default_factory=list)
    umask: int = 0o077
    encodings: tuple[str, ...] = ("utf-8",) * len(_STREAMS)
    environment: dict[str, str] = field(default_factory=dict)
    fds: Sequence[int] = ()
    pid: int = 0
    token: CancelToken = field(default_factory=CancelToken)

    def close(self) -> None:
        for fd in self.fds:
            with suppress(OSError):
                os.close(fd)
        self.fds = ()


def receive(connection: socket.socket) -> DaemonRequest:
    """Read one request; BadRequestError for a wrong or half one."""
    data, fds = b"", list[int]()
    try:
        length = _HEADER_BYTES
        while len(data) < length:
            part, more, _, _ = socket.recv_fds(connection, 1 << 16, _FDS, socket.MSG_CMSG_CLOEXEC)
            fds += more
            data += part
            if not part:
                raise BadRequestError("The message ends too early.")
            if length == _HEADER_BYTES and len(data) >= length:
                length += _read_length(data[:_HEADER_BYTES])
        return _parse(data[_HEADER_BYTES:], tuple(fds))
    except BaseException as error:
        for fd in fds:
            os.close(fd)
        if isinstance(error, OSError):
            raise BadRequestError(f"The message cannot be read: {error}.") from None
        raise


def _read_length(header: bytes) -> int:
    if not header.isdigit() or int(header) > _MAX_BYTES:
        raise BadRequestError("The message has no length, or is too long.")
    return int(header)


def _parse(body: bytes, fds: tuple[int, ...]) -> DaemonRequest:
    try:
        kind, umask, *rest = body.decode("utf-8", "surrogateescape").split("\0")
        encodings, count, words = rest[:3], int(rest[3]), rest[4:]
        variables = dict(one.split("=", 1) for one in words[count:])
        if len(fds) != _FDS or count > len(words):
            raise BadRequestError("The message has other parts than it says.")
        for one in encodings:
            "".encode(one)
        return DaemonRequest(kind, words[:count], int(umask) & 0o777, tuple(encodings), variables, fds)
    except (ValueError, IndexError, LookupError) as error:
        raise BadRequestError(f"The message cannot be read: {error}.") from None


@dataclass(slots=True)
class _Acting:
    """What the threads of a request have."""

    request: DaemonRequest
    streams: dict[str, TextIO]


@contextmanager
def acting_as(request: DaemonRequest) -> Iterator[None]:
    """Let the calling thread have the streams, folder, umask and variables of a request. It must end afterwards.

    Threads that it starts have them too; those that go on afterwards print to the daemon's streams.
    """
    from toolroll.host.sandbox.syscalls import Kernel, machine

    here = machine()
    assert here is not None, "only Linux says which process has connected"
    Kernel(here.numbers).call("unshare", _CLONE_FS)  # a folder and an umask of its own
    os.fchdir(request.fds[-1])
    os.umask(request.umask)
    with ExitStack() as ends:
        streams = dict[str, TextIO]()
        for name, fd, encoding in zip(_STREAMS, request.fds, request.encodings, strict=False):
            streams[name] = stream = _open_stream(name, fd, encoding)
            ends.callback(_close_quietly, stream)
        _local.acting = _Acting(request, streams)
        ends.callback(_local.__dict__.clear)
        ends.callback(streams.clear)
        yield


def _open_stream(name: str, fd: int, encoding: str) -> io.TextIOWrapper:
    """A stream as Python opens it at its start, on a descriptor that stays the request's."""
    mode, errors = ("rb", "strict") if name == "stdin" else ("wb", "backslashreplace")
    raw = open(fd, mode, closefd=False)  # noqa: SIM115 - the wrapper closes it
    return io.TextIOWrapper(raw, encoding, errors, line_buffering=name == "stderr" or raw.isatty())


def _close_quietly(stream: io.TextIOWrapper) -> None:
    with suppress(OSError, ValueError):
        stream.close()


class _ThreadStream:
    """A standard stream that is another one in the threads of a request."""

    def __init__(self, name: str) -> None:
        self._name, self._own = name, getattr(sys, name)

    def __getattr__(self, name: str) -> Any:
        acting: _Acting | None = getattr(_local, "acting", None)
        return getattr(self._own if acting is None else acting.streams.get(self._name, self._own), name)


class _ThreadEnvironment(MutableMapping[str, str]):
    """The environment, which is another one in the threads of a request."""

    def __init__(self) -> None:
        self._own = os.environ

    def _now(self) -> MutableMapping[str, str]:
        acting: _Acting | None = getattr(_local, "acting", None)
        return self._own if acting is None else acting.request.environment

    def __getitem__(self, name: str) -> str:
        return self._now()[name]

    def __setitem__(self, name: str, value: str) -> None:
        self._now()[name] = value

    def __delitem__(self, name: str) -> None:
        del self._now()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._now())

    def __len__(self) -> int:
        return len(self._now())

    def copy(self) -> dict[str, str]:
        return dict(self._now())


_start = threading.Thread.start


def _start_acting(thread: threading.Thread) -> None:
    """Start a thread that acts for the request of this one, if it has one."""
    acting, run = getattr(_local, "acting", None), thread.run

    def act() -> None:
        _local.acting = acting
        run()

    if acting is not None:
        thread.run = act  # type: ignore[method-assign]  # also of a class that has its own
    _start(thread)


@contextmanager
def divided_by_thread() -> Iterator[None]:
    """Let `sys.stdout` and the like, and `os.environ`, differ by thread; one that another starts has the same."""
    before = {name: getattr(sys, name) for name in _STREAMS}
    environment, start = os.environ, threading.Thread.start
    for name in _STREAMS:
        setattr(sys, name, _ThreadStream(name))
    threading.Thread.start = _start_acting  # type: ignore[method-assign,assignment]  # it reaches those of pools too
    os.environ = _ThreadEnvironment()  # type: ignore[assignment]  # noqa: B003 - it is there for threads of ours alone
    try:
        yield
    finally:
        os.environ = environment  # noqa: B003 - it is the one from before
        threading.Thread.start = start  # type: ignore[method-assign]  # the one from before
        for name, stream in before.items():
            setattr(sys, name, stream)
