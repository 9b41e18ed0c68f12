"""The line to a server that runs here: a message of JSON on each line of its pipes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from toolroll.host.jsonrpc.connection import GoneError, Link
from toolroll.host.jsonrpc.framing import Frames, NotProtocolError
from toolroll.text.terminal import clean

if TYPE_CHECKING:
    from toolroll.host.mcp.spawn import Spawned
    from toolroll.host.runtime.cancellation import Token

MOST_BYTES = 16_000_000
"""A larger message is not taken: its server is ended."""

_MOST_NOISE = 100  # lines in a row that are no message, before it is clear that there will be none
_MOST_UNREAD = 100  # messages of ours that wait for a server which asks on
_SHOWN = 300
_LAST_LINES = 3


class LargeError(Exception):
    """A message is larger than any may be, or there are too many."""


class Lines(Frames):
    """Takes bytes as they come and gives the messages in them; other lines, which some servers print, are left out."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        super().__init__()
        self._most = most
        self._noise = 0

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """The messages that are complete now; NotProtocolError when there is nothing but other lines."""
        looked = len(self._buffer)
        self._buffer += data
        messages = []
        while (end := self._buffer.find(b"\n", looked)) >= 0:
            line = bytes(self._buffer[:end]).strip()
            del self._buffer[: end + 1]
            looked = 0
            self._check(len(line))
            if line:
                messages += self._messages(line)
        self._check(len(self._buffer))
        return messages

    def _check(self, size: int) -> None:
        if size > self._most:
            raise LargeError(f"sent a message of more than {self._most} bytes, and was ended")

    def _messages(self, line: bytes) -> list[dict[str, Any]]:
        found = read(line)
        if found:
            self._noise = 0
            return found
        self._noise += 1
        if self._noise > _MOST_NOISE:
            raise NotProtocolError(line[:_SHOWN].decode("utf-8", "replace"))
        return []


def read(text: bytes | str) -> list[dict[str, Any]]:
    """The messages in a text, of which there may be several in a list; none when it is something else."""
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return []
    return [_even(one) for one in (found if isinstance(found, list) else [found]) if isinstance(one, dict)]


def _even(message: dict[str, Any]) -> dict[str, Any]:
    """The message with an error, if it has one, in the shape that errors have."""
    error = message.get("error")
    if error is None:
        return message
    said = error if isinstance(error, dict) else {"message": str(error)}
    code = said.get("code")
    return {**message, "error": {**said, "code": code if isinstance(code, int) else 0}}


class Pipe(Link):
    """Sends and receives; `notice` is called in its own thread."""

    def __init__(self, spawned: Spawned, *, notice: Callable[[str, Any], None], memory: int) -> None:
        self.version = ""
        self._spawned = spawned
        super().__init__(spawned.process, answer=_answer, notice=notice, ended=lambda: None, memory=memory)

    def ask(
        self,
        method: str,
        params: dict[str, Any],
        token: Token,
        deadline: float,
        headers: Mapping[str, str] | None = None,  # noqa: ARG002 - there are none on a pipe
    ) -> Any:
        """The answer; raises what the server answered, GoneError, LateError, or what the token raises."""
        return self.request(method, params).wait(token, deadline)

    def tell(self, method: str, params: dict[str, Any]) -> None:
        """Tell the server something."""
        self.notify(method, params)

    def listen(self, params: dict[str, Any]) -> None:
        """Ask to be told of changes, which is never answered."""
        self.request("subscriptions/listen", params)

    def forget(self, number: int) -> None:
        """Nobody waits for this answer any more."""
        with self._lock:
            if self._pending.pop(number, None) is not None and self.gone is None:
                params = {"requestId": number, "reason": "nobody waits for it any more"}
                self._put({"method": "notifications/cancelled", "params": params})

    def close(self, how: str = "was closed", wait: float = 0.0) -> None:
        """End the server and all that it started; with `wait`, after the end of its input, so that it can tidy up."""
        if wait and self.gone is None:
            self._end_input()
        super().close(how, wait)

    def _end_input(self) -> None:
        """Put nothing in the place of the pipe: its own thread may be about to write to it."""
        stdin = self._process.stdin
        nothing = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        try:
            with self._lock:
                if self.gone is None and stdin is not None and not stdin.closed:
                    os.dup2(nothing, stdin.fileno(), inheritable=False)
        finally:
            os.close(nothing)

    def _run(self) -> None:
        self._frames = Lines()
        super()._run()

    def _reply(self, number: Any, method: Any, params: Any) -> None:
        """Answer what the server asks, as long as it reads the answers."""
        if len(self._out) > _MOST_UNREAD:
            raise LargeError("asked on without reading the answers, and was ended")
        super()._reply(number if isinstance(number, int) else str(number)[:_SHOWN], str(method)[:_SHOWN], params)

    def _serve(self) -> GoneError:
        try:
            return super()._serve()
        except LargeError as error:
            return GoneError(str(error), memory=True)

    def _how_it_ended(self) -> GoneError:
        """How, and the last lines that it wrote to stderr, where most programs say why."""
        how = str(super()._how_it_ended()).partition("; it said ")[0]
        said = " / ".join(clean(self._words).strip().splitlines()[-_LAST_LINES:])
        return GoneError(f"{how}; it said {said[-_SHOWN:]!r}" if said else how)

    def _end(self, how: GoneError) -> None:
        self._spawned.end()  # before the first one is waited for: until then nobody gets its number
        super()._end(how)

    def _put(self, message: dict[str, Any]) -> None:
        if self.gone is not None:
            raise self.gone
        self._out.append(msgspec.json.encode({"jsonrpc": "2.0", **message}) + b"\n")
        if len(self._out) == 1:
            os.write(self._wake[1], b"x")


def _answer(method: str, _params: Any) -> Any:
    """What a server may ask of us: whether we are there, and nothing else."""
    return {"ping": {}}[method]
