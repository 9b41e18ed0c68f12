"""Serve the calls of tools that a program makes: frames of JSON over a descriptor that only the program inherits."""

from __future__ import annotations

import io
import os
import re
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from contextvars import copy_context
from functools import cache
from typing import Any, Self

import msgspec

from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.state import create_nameless_file
from toolroll.host.shell.code_client import SIZE_BYTES, VARIABLE
from toolroll.host.shell.command_launcher import SealedText, Word
from toolroll.policy.limits import Limits
from toolroll.result import ErrorCode, Result

_MAX_REQUEST_BYTES = 16 << 20
_MAX_NAME_CHARS = 100  # of a tool, in the count of calls


class CallRequest(msgspec.Struct, frozen=True):
    """A call as a program makes it."""

    name: str
    positional: list[Any] = []
    named: dict[str, Any] = {}

    def arguments(self, parameters: Iterable[str]) -> dict[str, Any]:
        """All arguments by name; ValueError for a positional one that is too many or is named too."""
        names = list(parameters)[: len(self.positional)]
        if len(names) < len(self.positional) or any(one in self.named for one in names):
            given = f"{len(self.positional)} without a name"
            raise ValueError(f"{self.name!r} got {given}, and has no parameter for each. Give arguments by name.")
        return {**dict(zip(names, self.positional, strict=True)), **self.named}


Answer = Callable[[CallRequest, CancelToken], Result]
"""Carries out one call of a program."""


class InheritedWord(SealedText):
    """A word that names descriptors which a command gets."""

    def __init__(self, fd: int, path: str) -> None:
        self.text, self.label, self.shown, self.main = "", "<tools>", False, False
        self.fd, self.path = fd, path
        self._paths = re.compile(rf"/proc/(?:self|\d+)/fd/{fd}/sitecustomize\.py")


class CodeCalls:
    """The calls of one program, carried out one after another until the `with` block ends; then none runs any more."""

    def __init__(self, answer: Answer, limits: Limits, seconds: float) -> None:
        """The calls have `seconds` together, and the number and bytes of the limits."""
        self._answer = answer
        self._left_calls, self._left_bytes = limits.code_calls, limits.code_bytes
        self._token = CancelToken(seconds)
        self._failure: BaseException | None = None
        self.made: Counter[str] = Counter()
        """How often each tool was called."""
        self._ours, theirs = socket.socketpair()
        archive = create_nameless_file(_archive(), sealed=True)
        self._theirs = InheritedWord(theirs.detach(), "")
        self._archive = InheritedWord(archive, f"/proc/self/fd/{archive}")
        self.relabelled = self._archive.relabelled
        """What the program has printed, without the path of our client."""
        own = copy_context().run, self._serve  # spans of these calls are children of the program's
        self._thread = threading.Thread(target=own[0], args=own[1:], name="toolroll calls", daemon=True)

    def variables(self, python_path: str) -> Mapping[str, Word]:
        """The variables with which a Python gets the tools."""
        self._theirs.path = f"{self._theirs.fd} {self._archive.fd}"
        self._archive.path += os.pathsep + python_path
        return {"PYTHONPATH": self._archive, VARIABLE: self._theirs}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._token.cancel()
        with suppress(OSError):
            self._ours.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._ours.close()
        self._theirs.close()
        self._archive.close()
        if self._failure is not None:
            raise self._failure

    def _serve(self) -> None:
        try:
            with suppress(OSError):  # the program, or its time, is over
                while (data := self._receive()) is not None and self._send(self._reply(data)):
                    pass
        except BaseException as error:  # raised again in the thread of the call
            self._failure = error
        finally:
            with suppress(OSError):
                self._ours.shutdown(socket.SHUT_RDWR)

    def _receive(self) -> bytes | None:
        """The next frame; None for the end, or for one that is too long."""
        head = self._read(SIZE_BYTES)
        size = int.from_bytes(head, "big")
        if len(head) < SIZE_BYTES:
            return None
        if size > min(_MAX_REQUEST_BYTES, self._left_bytes):
            self._send(_error(ErrorCode.TOO_LARGE, f"A call of {size} bytes is too much. The tools are closed."))
            return None
        data = self._read(size)
        self._left_bytes -= size
        return data if len(data) == size else None

    def _read(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size and (part := self._ours.recv(min(size - len(parts), 1 << 16))):
            parts += part
        return bytes(parts)

    def _send(self, reply: bytes) -> bool:
        """Send a frame; whether the program may make another call."""
        self._left_bytes -= len(reply)
        if self._left_bytes < 0:
            reply = _error(ErrorCode.TOO_LARGE, "The calls and results of this program take too many bytes together.")
        self._ours.sendall(len(reply).to_bytes(SIZE_BYTES, "big") + reply)
        return self._left_bytes > 0 and self._left_calls >= 0

    def _reply(self, data: bytes) -> bytes:
        try:
            request = msgspec.json.decode(data, type=CallRequest)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            return _error(ErrorCode.VALIDATION, f"This is no call of a tool: {error}.")
        finally:
            self._left_calls -= 1
        if self._left_calls < 0:
            return _error(ErrorCode.TOO_LARGE, "The program has made as many calls as it may. The tools are closed.")
        self.made[request.name[:_MAX_NAME_CHARS]] += 1
        result = self._answer(request, self._token.within(self._token.remaining()))
        if result.error is not None:
            return _error(result.error.code, result.text)
        try:
            return msgspec.json.encode({"text": result.text, "data": result.structured})
        except UnicodeEncodeError as error:
            return _error(ErrorCode.UNSUPPORTED, f"The result holds {error.object!r}, which is not valid Unicode.")


def _error(code: ErrorCode, message: str) -> bytes:
    return msgspec.json.encode({"code": code, "message": message.encode("utf-8", "replace").decode()})


@cache
def _archive() -> bytes:
    """The archive from which a Python imports our client when it starts."""
    import zipfile
    from importlib.resources import files

    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        text = (files("toolroll.host.shell") / "code_client.py").read_bytes()
        archive.writestr(zipfile.ZipInfo("sitecustomize.py"), text)
    return made.getvalue()
