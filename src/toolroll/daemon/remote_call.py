"""A command line that a client has sent to the daemon: all that belongs to it, and what it prints."""

from __future__ import annotations

import io
import os
from binascii import a2b_base64, b2a_base64
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO, cast

from toolroll.host.approval.request import CannotAskError
from toolroll.host.rpc.channel import RefusedError
from toolroll.host.rpc.codecs import PeerGoneError

if TYPE_CHECKING:
    from toolroll.control.prompt import ApprovalPrompt
    from toolroll.host.rpc.channel import ServedCall
    from toolroll.host.runtime.cancellation import CancelToken

_CLONE_FS = 0x200
_STDIN, _STDOUT, _STDERR = range(3)


class ClientStream(io.TextIOBase):
    """A stream that keeps what is written for a client, which may have a terminal there."""

    def __init__(self, number: int, call: RemoteCall, encoding: str, is_terminal: bool) -> None:
        "".encode(encoding)
        self._number, self._call, self._encoding, self._is_terminal = number, call, encoding, is_terminal
        self.environ = call.environ
        """Decides about colours."""

    @property
    def encoding(self) -> str:  # type: ignore[override]  # that of a file is an attribute
        return self._encoding

    def isatty(self) -> bool:
        return self._is_terminal

    def write(self, text: str) -> int:
        self._call.printed.append((self._number, text.encode(self._encoding, "backslashreplace")))
        return len(text)


class RemoteCall:
    """One command line, with the streams, variables, folder and umask of its client."""

    def __init__(self, params: Mapping[str, Any], served: ServedCall, pid: int) -> None:
        """ValueError for parameters that are not our client's."""
        try:
            self.argv = _unpack(params["argv"])
            self.environ = dict(one.split("=", 1) for one in _unpack(params["variables"]))
            [self.folder] = _unpack(params["folder"])
            self._umask = int(params["umask"]) & 0o777
            encodings, terminals = _unpack(params["encodings"]), [bool(params["terminals"][at]) for at in range(3)]
            self.printed: list[tuple[int, bytes]] = []
            self.out = cast(TextIO, ClientStream(_STDOUT, self, encodings[0], terminals[_STDOUT]))
            self.err = cast(TextIO, ClientStream(_STDERR, self, encodings[1], terminals[_STDERR]))
        except (KeyError, TypeError, IndexError, LookupError, ValueError) as error:
            raise ValueError(f"The command line cannot be read: {error!r}.") from None
        self.has_terminal = terminals[_STDIN] and terminals[_STDERR]
        self._served, self.token, self.pid = served, served.token, pid

    def begin(self) -> None:
        """Tell the client that the call is made here: it does not make it by itself any more."""
        self._served.tell("begun", None)

    def read_input(self) -> bytes:
        """The standard input of the client, whole; ValueError where that cannot be read."""
        try:
            return a2b_base64(self._served.ask("input", None, self.token))
        except RefusedError as error:
            raise ValueError(str(error)) from None

    def ask(self, prompt: ApprovalPrompt, withdrawn: CancelToken) -> str:
        """What the user types on the terminal of the client; CannotAskError if it cannot be asked there."""
        question = {"text": prompt.text, "choices": prompt.choices, "diff": prompt.diff}
        try:
            return str(self._served.ask("ask", question, withdrawn))
        except (RefusedError, PeerGoneError) as error:
            raise CannotAskError(str(error)) from None

    def output(self) -> list[tuple[int, str]]:
        """What was printed, in its order: the number of the stream, and the bytes as base64."""
        return [(number, b2a_base64(data, newline=False).decode()) for number, data in self.printed]

    @contextmanager
    def in_folder(self) -> Iterator[None]:
        """Give the calling thread, which must end afterwards, and those that it starts the client's folder and umask.

        OSError if the folder is gone.
        """
        from toolroll.host.sandbox.syscalls import Kernel, machine

        here = machine()
        assert here is not None, "only Linux says which process has connected"
        Kernel(here.numbers).call("unshare", _CLONE_FS)
        os.chdir(self.folder)
        os.umask(self._umask)
        yield


def _unpack(text: str) -> list[str]:
    joined = os.fsdecode(a2b_base64(text))
    return joined.split("\0") if joined else []
