"""Serve the calls of tools that a program makes: a channel over a descriptor that only the program inherits."""

from __future__ import annotations

import io
import os
import re
import socket
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextvars import copy_context
from functools import cache
from typing import Any, Self

import msgspec

from toolroll.host.rpc.channel import FAILED, Channel, ServedCall, SocketStream
from toolroll.host.rpc.codecs import SIZE_BYTES, PeerGoneError, RpcDict, SizeCodec, encode_json
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.state import create_nameless_file
from toolroll.host.shell.code_client import VARIABLE
from toolroll.host.shell.command_launcher import SealedText, Word
from toolroll.policy.limits import Limits
from toolroll.result import ErrorCode, Result, ToolError

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


class _ProgramCodec(SizeCodec):
    """The messages of one program, whose bytes count together, both ways."""

    def __init__(self, left: int) -> None:
        super().__init__()
        self.left = left
        """So many bytes more; none once the tools are closed."""
        self.refuse: Callable[[], None] = lambda: None
        """Called before a message that is too much, or none, ends the channel."""

    def feed(self, data: bytes) -> list[RpcDict]:
        self._limit = max(0, min(_MAX_REQUEST_BYTES, self.left))
        self.left -= len(data)
        try:
            return super().feed(data)
        except PeerGoneError:
            self.refuse()
            raise

    def encode(self, message: RpcDict) -> bytes:
        body = encode_json(message)
        self.left -= len(body)
        if self.left < 0 and "result" in message:
            why = "The calls and results of this program take too many bytes together."
            body = encode_json({"id": message["id"], "error": _make_error(why)})
        return len(body).to_bytes(SIZE_BYTES, "big") + body


class CodeCalls:
    """The calls of one program, carried out one after another until the `with` block ends; then none runs any more."""

    def __init__(self, answer: Answer, limits: Limits, seconds: float) -> None:
        """The calls have `seconds` together, and the number and bytes of the limits."""
        self._answer = answer
        self._left_calls, self._codec = limits.code_calls, _ProgramCodec(limits.code_bytes)
        self._token = CancelToken(seconds)
        self._failure: BaseException | None = None
        self.made: Counter[str] = Counter()
        """How often each tool was called."""
        ours, theirs = socket.socketpair()
        archive = create_nameless_file(_archive(), sealed=True)
        self._theirs = InheritedWord(theirs.detach(), "")
        self._archive = InheritedWord(archive, f"/proc/self/fd/{archive}")
        self.relabelled = self._archive.relabelled
        """What the program has printed, without the path of our client."""
        self._context = copy_context()  # spans of these calls are children of the program's
        self._stream = SocketStream(ours)
        self._channel: Channel | None = None

    def variables(self, python_path: str) -> Mapping[str, Word]:
        """The variables with which a Python gets the tools."""
        self._theirs.path = f"{self._theirs.fd} {self._archive.fd}"
        self._archive.path += os.pathsep + python_path
        return {"PYTHONPATH": self._archive, VARIABLE: self._theirs}

    def __enter__(self) -> Self:
        self._channel = channel = Channel(self._stream, self._codec, serve=self._serve)
        closed = {"id": None, "error": _make_error("A call is too long, or is none. The tools are closed.")}
        self._codec.refuse = lambda: channel.send(closed)
        return self

    def __exit__(self, *_: object) -> None:
        self._token.cancel()
        if self._channel is not None:
            self._channel.close()
        self._theirs.close()
        self._archive.close()
        if self._failure is not None:
            raise self._failure

    def _serve(self, _method: str, params: Any, _call: ServedCall) -> Any:
        self._left_calls -= 1
        if self._left_calls < 0:
            self._codec.left = 0
            said = "The program has made as many calls as it may. The tools are closed."
            raise ToolError(ErrorCode.TOO_LARGE, said)
        try:
            request = msgspec.convert(params, CallRequest)
        except msgspec.ValidationError as error:
            raise ToolError(ErrorCode.VALIDATION, f"This is no call of a tool: {error}.") from None
        self.made[request.name[:_MAX_NAME_CHARS]] += 1
        try:
            result = self._context.run(self._answer, request, self._token.within(self._token.remaining()))
        except BaseException as error:  # raised again in the thread of the call
            self._failure = error
            self._stream.wake()
            raise PeerGoneError("has failed") from error
        if result.error is not None:
            raise ToolError(result.error.code, result.text)
        return {"text": result.text, "data": result.data}


def _make_error(message: str) -> RpcDict:
    return {"code": FAILED, "message": message, "data": {"code": str(ErrorCode.TOO_LARGE)}}


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
