"""A name server for commands with a network of their own, for programs that take no notice of proxy variables."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress

_HEAD = struct.Struct("!6H")
_MAX_BYTES = 512
_A, _AAAA, _INTERNET = 1, 28, 1
_IS_ANSWER, _OPERATION, _WANTS_RECURSION = 0x8000, 0x7800, 0x0100
_RECURSES = 0x0080
_NO_SUCH_NAME, _NOT_DONE = 3, 4
_QUESTION = b"\xc0\x0c"  # the name that the question is about
_SECONDS = 60  # for which an answer holds


class NameServer:
    """Answers the datagrams of one socket in a thread, until `close`."""

    def __init__(self, sock: socket.socket, find: Callable[[str], str]) -> None:
        """`find` gives the IPv4 address of a name; an empty one for an unknown name."""
        self._socket = sock
        self._find = find
        self._thread = threading.Thread(target=self._serve, name="toolroll names", daemon=True)
        self._thread.start()

    def close(self) -> None:
        with suppress(OSError):  # it has no peer; the thread wakes up nevertheless
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while True:
            asked, who = self._socket.recvfrom(_MAX_BYTES)
            if not who:
                return
            if answer := answer_query(asked, self._find):
                with suppress(OSError):  # who asked is gone
                    self._socket.sendto(answer, who)


def answer_query(asked: bytes, find: Callable[[str], str]) -> bytes:
    """The answer to a question for the addresses of a name; empty for what is no question."""
    try:
        number, flags, questions, *_ = _HEAD.unpack_from(asked)
        name, end = _read_name(asked, _HEAD.size)
        kind, family = struct.unpack_from("!HH", asked, end)
    except (struct.error, IndexError, UnicodeDecodeError):
        return b""
    if flags & _IS_ANSWER or questions != 1:
        return b""
    address, code = "", _NOT_DONE
    if not flags & _OPERATION and family == _INTERNET:
        address = find(name) if kind in (_A, _AAAA) else ""
        code = 0 if address or kind not in (_A, _AAAA) else _NO_SUCH_NAME
    found = b""
    if address and kind == _A:  # a name has no address of the newer kind, so that programs take the other one
        found = _QUESTION + struct.pack("!HHIH", _A, _INTERNET, _SECONDS, 4) + socket.inet_aton(address)
    head = _HEAD.pack(number, _IS_ANSWER | flags & _WANTS_RECURSION | _RECURSES | code, 1, bool(found), 0, 0)
    return head + asked[_HEAD.size : end + 4] + found


def _read_name(asked: bytes, at: int) -> tuple[str, int]:
    """The name at this place in lower case, and where it ends."""
    labels = []
    while size := asked[at]:
        if size > 63 or at + size >= len(asked):
            raise IndexError
        labels.append(asked[at + 1 : at + 1 + size].decode("ascii").lower())
        at += 1 + size
    return ".".join(labels), at + 1
