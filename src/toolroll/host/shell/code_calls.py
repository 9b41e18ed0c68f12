"""Serve the calls of tools that a program makes: a channel over a descriptor that only the program inherits."""

from __future__ import annotations

import io
import os
import re
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from typing import Any, Self

import msgspec

from toolroll.host.rpc.channel import FAILED, Channel, ServedCall, SocketStream
from toolroll.host.rpc.codecs import PeerGoneError, RpcDict, SizeCodec, encode_json
from toolroll.host.runtime.cancellation import PERSON_CLOCK, CancelToken, PersonClock
from toolroll.host.runtime.state import create_nameless_file
from toolroll.host.shell.code_client import VARIABLE
from toolroll.host.shell.command_launcher import SealedText, Word
from toolroll.policy.limits import Limits
from toolroll.result import ErrorCode, Image, Result, ToolError
from toolroll.text.lines import counted

_MAX_REQUEST_BYTES = 16 << 20
_MAX_NAME_CHARS = 100  # of a tool, in the count of calls
_MAX_ACTS, _MAX_ACT_CHARS = 20, 60  # calls that a program's failure names
_MAX_PICTURES, _MAX_SHOWN = 32 << 20, 20  # bytes that wait to be shown; pictures of one program
_MAX_KEPT_BYTES = 32 << 20  # of the names of a session

_RUNNER = """
def run_program(code, kept): exec(code, globals())
try: from sitecustomize import run_program
except ImportError: pass
"""

KeptNames = dict[str, tuple[str, str]]
"""What programs of a session have left, by name: its kind, and the value, source or module."""


class CallRequest(msgspec.Struct, frozen=True):
    """A call as a program makes it."""

    name: str
    positional: list[Any] = []
    named: dict[str, Any] = {}

    @property
    def shown(self) -> str:
        """The call in a few words: the tool, and what it is about."""
        about = next((one for one in (*self.positional, *self.named.values()) if isinstance(one, str)), "")
        first = about.partition("\n")[0]
        shown = first if len(about) <= _MAX_ACT_CHARS else first[:_MAX_ACT_CHARS] + "…"
        return f"{self.name[:_MAX_NAME_CHARS]} {shown!r}" if about else self.name[:_MAX_NAME_CHARS]

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
        self._counting = threading.Lock()
        self.left = left
        """So many bytes more; none once the tools are closed."""
        self.refuse: Callable[[], None] = lambda: None
        """Called before a message that is too much, or none, ends the channel."""

    def feed(self, data: bytes) -> list[RpcDict]:
        with self._counting:
            self._limit = max(0, min(_MAX_REQUEST_BYTES, self.left))
            self.left -= len(data)
        try:
            return super().feed(data)
        except PeerGoneError:
            self.refuse()
            raise

    def encode(self, message: RpcDict) -> bytes:
        body = encode_json(message)
        with self._counting:
            self.left -= len(body)
        if self.left < 0 and "result" in message:
            why = "The calls and results of this program take too many bytes together."
            body = encode_json({"id": message["id"], "error": _make_error(why)})
        return self.frame(body)


class CodeCalls:
    """The calls of one program, carried out side by side until the `with` block ends; then none runs any more."""

    def __init__(self, answer: Answer, limits: Limits, token: CancelToken, kept: KeptNames) -> None:
        """The calls have the time of the token together, and the number and bytes of the limits.

        `kept`: what earlier programs have left, and this one leaves.
        """
        self._answer = answer
        self._left_calls, self._codec = limits.code_calls, _ProgramCodec(limits.code_bytes)
        self._clock = token.clock = token.clock or PersonClock()
        self._token = CancelToken(token.remaining())
        self._token.clock = self._clock
        self._failure: BaseException | None = None
        self._lock = threading.Lock()
        self._kept = kept
        self._pictures: dict[Any, tuple[Image, ...]] = {}
        self.made: Counter[str] = Counter()
        """How often each tool was called."""
        self._acts: list[list[str]] = []  # a call, and what became of it
        self.images: tuple[Image, ...] = ()
        """The pictures that the program has printed."""
        ours, theirs = socket.socketpair()
        archive = create_nameless_file(_archive(), sealed=True)
        self._theirs = InheritedWord(theirs.detach(), "")
        self._archive = InheritedWord(archive, f"/proc/self/fd/{archive}")
        self.relabelled = self._archive.relabelled
        """What the program has printed, without the path of our client."""
        self._context = copy_context()  # spans of these calls are children of the program's
        self._context.run(PERSON_CLOCK.set, self._clock)
        self._stream = SocketStream(ours)
        self._pool = ThreadPoolExecutor(limits.concurrency, "toolroll program")
        self._channel: Channel | None = None

    def variables(self, python_path: str) -> Mapping[str, Word]:
        """The variables with which a Python gets the tools."""
        self._theirs.path = f"{self._theirs.fd} {self._archive.fd}"
        self._archive.path += os.pathsep + python_path
        return {"PYTHONPATH": self._archive, VARIABLE: self._theirs}

    def program(self, code: str) -> SealedText:
        """The file of the program: it runs the code with what our client adds, and elsewhere as it is."""
        text = f"{_RUNNER}run_program({code!a}, {sorted(self._kept)!a})\n"
        made = SealedText(text, "<code>", main=True)
        made.text = code
        return made

    def __enter__(self) -> Self:
        how = {"serve": self._serve, "run": self._pool.submit, "on_notification": self._show}
        self._channel = channel = Channel(self._stream, self._codec, **how)  # type: ignore[arg-type]
        closed = {"id": None, "error": _make_error("A call is too long, or is none. The tools are closed.")}
        self._codec.refuse = lambda: channel.send(closed)
        return self

    def __exit__(self, *_: object) -> None:
        self._token.cancel()
        if self._channel is not None:
            self._channel.close()
        self._pool.shutdown()
        self._theirs.close()
        self._archive.close()
        if self._failure is not None:
            raise self._failure

    def describe(self) -> str:
        """The calls that are no mere reading, in their order; empty without any."""
        with self._lock:
            told = [f"{text}{ending}" for text, ending in self._acts]
        read = self.made.total() - len(told)
        more = [f"{len(told) - _MAX_ACTS} more"] if len(told) > _MAX_ACTS else []
        reads = [f"{counted(read, 'call')} that only read"] if read else []
        return ", ".join([*told[:_MAX_ACTS], *more, *reads])

    def _serve(self, method: str, params: Any, call: ServedCall) -> Any:
        if method in ("names", "keep"):
            return self._names(params) if method == "names" else self._keep(params)
        with self._lock:
            self._left_calls -= 1
        if self._left_calls < 0:
            self._codec.left = 0
            said = "The program has made as many calls as it may. The tools are closed."
            raise ToolError(ErrorCode.TOO_LARGE, said)
        try:
            request = msgspec.convert(params, CallRequest)
        except msgspec.ValidationError as error:
            raise ToolError(ErrorCode.VALIDATION, f"This is no call of a tool: {error}.") from None
        act = [request.shown, " (not ended)"]
        with self._lock:
            self.made[request.name[:_MAX_NAME_CHARS]] += 1
            self._acts.append(act)
        try:
            token = self._token.within(self._token.remaining())
            result = self._context.copy().run(self._answer, request, token)
        except BaseException as error:  # raised again in the thread of the call
            self._failure = error
            self._stream.wake()
            raise PeerGoneError("has failed") from error
        with self._lock:
            act[1] = "" if result.error is None else f" ({result.error.code})"
            if result.meta.get("only_reads"):
                self._acts.remove(act)
            if result.images and sum(len(one.data) for kept in self._pictures.values() for one in kept) < _MAX_PICTURES:
                self._pictures[call.id] = result.images
        if result.error is not None:
            raise ToolError(result.error.code, result.text)
        shown = {"pictures": call.id} if call.id in self._pictures else {}
        return {"text": result.text, "data": result.data, **shown}

    def _show(self, _method: str, params: Any) -> None:
        """Show the model the pictures of a call that the program has printed."""
        images = self._pictures.pop(params.get("call") if isinstance(params, dict) else None, ())
        self.images = (*self.images, *images)[:_MAX_SHOWN]

    def _names(self, names: Any) -> dict[str, tuple[str, str]]:
        with self._lock:
            return {name: self._kept[name] for name in msgspec.convert(names, list[str]) if name in self._kept}

    def _keep(self, given: Any) -> None:
        changed = msgspec.convert(given, dict[str, tuple[str, str] | None])
        with self._lock:
            self._kept |= {name: value for name, value in changed.items() if value is not None}
            for name in [one for one, value in changed.items() if value is None]:
                self._kept.pop(name, None)
            while sum(len(text) for _, text in self._kept.values()) > _MAX_KEPT_BYTES:
                largest = max(self._kept, key=lambda name: len(self._kept[name][1]))
                self._kept[largest] = "lost", "there is no room for it"


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
