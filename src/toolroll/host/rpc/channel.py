"""Calls both ways over one stream of messages. One thread reads; any thread may call."""

from __future__ import annotations

import itertools
import math
import os
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from toolroll.host.rpc.codecs import Codec, PeerGoneError, RpcDict, TooLongError
from toolroll.host.runtime.cancellation import POLL_SECONDS, CancelToken
from toolroll.result import ErrorCode, ToolError, as_tool_error

PARSE, INVALID_REQUEST, UNKNOWN_METHOD, FAILED = -32700, -32600, -32601, -32000
_CANCEL = "$/cancelRequest"
_CHUNK_BYTES = 1 << 16  # a larger buffer is mapped anew for each read
_MAX_UNREAD = 1_000  # events of one call that its caller has not read yet: later ones are left out
_SHOWN_CHARS = 300
_MAX_DELAY_S = 0.002  # bytes may wait this long to be written together with others
_MAX_QUEUED_BYTES = 32 << 20  # for a peer that does not read

OnEvent = Callable[[str, Any, CancelToken], Any]
"""Gets an event of a call, or answers a question of it; the token is cancelled when the question is withdrawn."""


class LateError(TimeoutError):
    """The other side did not answer in time."""


class RefusedError(Exception):
    """The other side answered with an error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.data = code, data

    @classmethod
    def from_message(cls, message: RpcDict) -> RefusedError:
        error = message["error"]
        return cls(error["code"], str(error.get("message", "")), error.get("data"))

    def as_tool_error(self) -> ToolError | None:
        """The ToolError that was raised there, if it was one."""
        known = self.data if isinstance(self.data, dict) else {}
        code = known.get("code")
        return ToolError(ErrorCode(code), str(self), details=known.get("details")) if code in set(ErrorCode) else None


class ByteStream(Protocol):
    """The bytes of a channel."""

    def read(self) -> bytes:
        """Wait for bytes; none at the end. PeerGoneError says how it came."""

    def write(self, data: bytes) -> None:
        """Send bytes, from any thread, or queue them; OSError if the other side is gone."""

    def wake(self) -> None:
        """Let `read` return nothing, from any thread."""

    def close(self) -> None:
        """Free what it holds, and end the other side; called once, by the thread that reads."""


class SocketStream:
    """A `ByteStream` over a socket. A peer that does not read holds up who writes to it."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        connected.settimeout(None)
        self._lock = threading.Lock()

    def read(self) -> bytes:
        try:
            return self._socket.recv(_CHUNK_BYTES)
        except OSError:
            return b""

    def write(self, data: bytes) -> None:
        with self._lock:
            self._socket.sendall(data)

    def wake(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.wake()
        self._socket.close()


class FileStream:
    """A `ByteStream` over the input and output of this process. Any thread writes; a reader that is slow blocks one."""

    def __init__(self, read: Callable[[int], bytes], out: int) -> None:
        self._source, self._out = read, out
        self._lock = threading.Lock()
        self._queue: deque[bytes] = deque()
        self._bytes = 0  # of the queue, approximately: several threads count
        self._since = 0.0

    def read(self) -> bytes:
        return self._source(_CHUNK_BYTES)

    def write(self, data: bytes) -> None:
        self.put(data)
        self.flush()

    def put(self, data: bytes) -> None:
        """Queue bytes for the next `flush`."""
        if not self._queue:
            self._since = time.monotonic()
        self._queue.append(data)
        self._bytes += len(data)

    @property
    def due(self) -> bool:
        """True when bytes have waited long enough."""
        return len(self._queue) > 0 and time.monotonic() - self._since > _MAX_DELAY_S

    @property
    def busy(self) -> bool:
        """True while bytes are queued or being written."""
        return len(self._queue) > 0 or self._lock.locked()

    def flush(self) -> None:
        """Write the queue, unless another thread is writing it; with too much in it, wait for that."""
        while self._queue and self._lock.acquire(blocking=self._bytes > _MAX_QUEUED_BYTES):
            try:
                self._bytes = 0
                rest = memoryview(b"".join([self._queue.popleft() for _ in range(len(self._queue))]))
                while rest:  # a write may be short
                    rest = rest[os.write(self._out, rest) :]
            finally:
                self._lock.release()

    def wake(self) -> None:
        """Nothing wakes a thread that reads a pipe: it ends with the other side, or with the process."""

    def close(self) -> None:
        """They end with the process."""


class PendingCall:
    """A call that the other side has not answered yet."""

    def __init__(self, channel: Channel, number: int) -> None:
        self._channel, self._number = channel, number
        self._came = SimpleQueue[RpcDict | PeerGoneError]()

    def put(self, message: RpcDict | PeerGoneError) -> None:
        """Have the thread that waits read this."""
        if isinstance(message, PeerGoneError) or "id" in message or self._came.qsize() < _MAX_UNREAD:
            self._came.put(message)

    def wait(
        self,
        token: CancelToken | None = None,
        deadline: float = math.inf,
        *,
        on_event: OnEvent | None = None,
        patient: bool = False,
    ) -> Any:
        """The result; raises RefusedError, PeerGoneError, LateError, or what the token raises.

        A call that is not waited for any more is cancelled; with `patient`, its answer is waited for then. `on_event`
        is called in this thread; an error that it raises ends the call, and is raised when it has ended.
        """
        failed: BaseException | None = None
        is_cancelled = False
        try:
            while True:
                late = time.monotonic() >= deadline
                if not is_cancelled and (failed or late or (token and (token.cancelled or token.remaining() <= 0))):
                    if not patient:
                        break
                    is_cancelled = True
                    self._channel.cancel(self._number)
                forever = is_cancelled or (token is None and deadline == math.inf)
                try:
                    message = self._came.get(timeout=None if forever else POLL_SECONDS)
                except Empty:
                    continue
                if isinstance(message, PeerGoneError) or "of" not in message:
                    return self._read(message, failed)
                failed = self._channel.answer_event(message, on_event, failed) or failed
        finally:
            self._channel.forget(self._number)
        if failed is not None:
            raise failed
        if token is not None:
            token.check()
        raise LateError

    def _read(self, message: RpcDict | PeerGoneError, failed: BaseException | None) -> Any:
        if failed is not None:
            raise failed
        if isinstance(message, PeerGoneError):
            raise message
        if message.get("error") is not None:
            raise RefusedError.from_message(message)
        return message.get("result")


class ServedCall:
    """A call of the other side that is carried out here."""

    def __init__(self, channel: Channel, id: Any) -> None:
        self._channel, self.id = channel, id
        self.token = CancelToken()
        """Cancelled when the other side does not want the answer any more, or is gone."""

    def tell(self, event: str, data: Any) -> None:
        """Send an event of this call."""
        self._channel.send({"method": event, "params": data, "of": self.id})

    def ask(self, question: str, data: Any, token: CancelToken) -> Any:
        """Ask who has made this call; the token withdraws the question."""
        return self._channel.request(question, data, of=self.id).wait(token)


Serve = Callable[[str, Any, ServedCall], Any]
"""The result of a method with these parameters; KeyError if there is none of this name."""


def _serve_nothing(method: str, _params: Any, _call: ServedCall) -> Any:
    raise KeyError(method)


class Channel:
    """One side of a stream of messages. The callbacks run in its own thread."""

    def __init__(
        self,
        stream: ByteStream,
        codec: Codec,
        *,
        serve: Serve = _serve_nothing,
        run: Callable[[Callable[[], None]], object] = lambda work: work(),
        on_notification: Callable[[str, Any], None] = lambda _method, _params: None,
        on_end: Callable[[], None] = lambda: None,
        cancellation: Callable[[int], RpcDict] | None = None,
        reads: bool = True,
    ) -> None:
        """`serve` answers calls of the other side, where `run` lets it. `cancellation` makes the message that cancels
        a call, where the protocol has another one than `$/cancelRequest`. Without `reads` the owner takes messages by
        `take`, and answers them.
        """
        self._stream, self._codec = stream, codec
        self._serve, self._run_call, self._on_notification, self._on_end = serve, run, on_notification, on_end
        self._cancellation = cancellation or (lambda number: {"method": _CANCEL, "params": {"id": number}})
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._pending: dict[int, PendingCall] = {}
        self._served: dict[Any, ServedCall] = {}
        self.gone: PeerGoneError | None = None
        self.heard = time.monotonic()
        """Time of the last message from the other side."""
        self._came: deque[Any] = deque()
        self._thread = threading.Thread(target=self._read, name="toolroll rpc", daemon=True)
        if reads:
            self._thread.start()

    def request(self, method: str, params: Any, *, of: Any = None) -> PendingCall:
        """Send a call; `wait` on the returned object for the result."""
        with self._lock:
            if self.gone is not None:
                raise self.gone
            number = next(self._numbers)
            pending = self._pending[number] = PendingCall(self, number)
        message = {"id": number, "method": method, "params": params}
        try:
            self.send(message if of is None else {**message, "of": of})
        except BaseException:
            self._pending.pop(number, None)
            raise
        return pending

    def call(self, method: str, params: Any, token: CancelToken | None = None, **how: Any) -> Any:
        """The result of a call; the options are those of `PendingCall.wait`."""
        return self.request(method, params).wait(token, **how)

    def notify(self, method: str, params: Any) -> None:
        self.send({"method": method, "params": params})

    def send(self, message: RpcDict) -> None:
        """Send one message; PeerGoneError if the other side is gone."""
        if self.gone is not None:
            raise self.gone
        try:
            self._stream.write(self.encode(message))
        except PeerGoneError:
            raise
        except OSError as error:
            raise self.gone or PeerGoneError("has ended") from error

    def encode(self, message: RpcDict | list[RpcDict]) -> bytes:
        """The bytes of a message, or of a batch; TooLongError if that cannot be sent."""
        if not isinstance(message, list) and "jsonrpc" not in message:
            message = {"jsonrpc": "2.0", **message}
        return self._codec.encode(message)

    def cancel(self, number: int) -> None:
        """Let the other side know that the answer of a call is not needed."""
        with suppress(PeerGoneError):  # who waits gets that error
            self.send(self._cancellation(number))

    def forget(self, number: int) -> None:
        """Cancel a call whose answer is not waited for any more."""
        with self._lock:
            is_open = self._pending.pop(number, None) is not None
        if is_open:
            self.cancel(number)

    def close(self, how: str = "was closed", wait: float = 0.0) -> None:
        """End the other side, after it had `wait` seconds to end by itself."""
        if wait:
            self._thread.join(wait)
        with self._lock:
            self.gone = self.gone or PeerGoneError(how)
        self._stream.wake()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def answer_event(
        self, message: RpcDict, on_event: OnEvent | None, failed: BaseException | None
    ) -> BaseException | None:
        """Pass on an event of a call, or answer its question; the error that this has raised."""
        id = message.get("id")
        served = self._served.get(("of", id)) if id is not None else None
        token = served.token if served is not None else CancelToken()
        error: BaseException | None = None
        answer: RpcDict = {"error": {"code": FAILED, "message": "The caller cannot answer."}}
        try:
            if on_event is not None and failed is None:
                answer = {"result": on_event(str(message["method"]), message.get("params"), token)}
        except BaseException as raised:
            error = raised
        if id is not None:
            self._served.pop(("of", id), None)
            self._reply(id, answer)
        return error

    def take(self) -> Any | None:
        """The next message; None at the end, PeerGoneError for what is no message. One thread at a time may wait."""
        while not self._came:
            if not (data := self._stream.read()):
                return None
            self._came.extend(self._codec.feed(data))
        self.heard = time.monotonic()
        return self._came.popleft()

    @property
    def is_next_here(self) -> bool:
        """True when the next message has been read already."""
        return len(self._came) > 0

    def _read(self) -> None:
        how = PeerGoneError("has ended")
        try:
            while (message := self.take()) is not None:
                self._receive(message)
        except PeerGoneError as error:
            how = error
        except Exception as error:  # every waiting caller must get an error, whatever it is
            how = PeerGoneError(f"could not be followed: {error!r}")
        with self._lock:
            self.gone = self.gone or how
            left, self._pending = list(self._pending.values()), {}
        for served in tuple(self._served.values()):
            served.token.cancel()
        try:
            self._stream.close()
        finally:
            for pending in left:
                pending.put(self.gone)
            self._on_end()

    def _receive(self, message: RpcDict) -> None:
        method, id = message.get("method"), message.get("id")
        if "of" in message and method is not None:
            self._receive_event(message, id)
        elif method is None:
            with self._lock:
                pending = self._pending.pop(id, None) if isinstance(id, int) else None
            if pending is not None:
                pending.put(message)
        elif id is not None:
            self._take(id if isinstance(id, int) else str(id)[:_SHOWN_CHARS], str(method)[:_SHOWN_CHARS], message)
        elif method == _CANCEL:
            self._withdraw(message.get("params"))
        else:
            self._on_notification(method, message.get("params"))

    def _receive_event(self, message: RpcDict, id: Any) -> None:
        of = message["of"]
        pending = self._pending.get(of) if isinstance(of, int) else None
        if id is not None and pending is not None:
            self._served["of", id] = ServedCall(self, id)
        if pending is not None:
            pending.put(message)
        elif id is not None:
            self._reply(id, {"error": {"code": INVALID_REQUEST, "message": "There is no such call."}})

    def _withdraw(self, params: Any) -> None:
        id = params.get("id") if isinstance(params, dict) else None
        for known in (id, ("of", id)):
            if isinstance(id, int | str) and (served := self._served.get(known)) is not None:
                served.token.cancel()

    def _take(self, id: int | str, method: str, message: RpcDict) -> None:
        call = ServedCall(self, id)
        if self._served.setdefault(id, call) is not call:
            self._reply(id, {"error": {"code": INVALID_REQUEST, "message": f"The call {id!r} is under way."}})
            return
        try:
            self._run_call(partial(self._answer, call, method, message.get("params")))
        except RuntimeError as error:  # it may have been queued all the same, for an earlier thread
            if self._served.pop(id, None) is call:
                self._reply(id, {"error": {"code": FAILED, "message": f"No thread can be started for it: {error}."}})

    def _answer(self, call: ServedCall, method: str, params: Any) -> None:
        if self._served.get(call.id) is not call:
            return
        try:
            answer: RpcDict = {"result": self._serve(method, params, call)}
        except Exception as error:  # it is given to the caller
            answer = {"error": _describe(method, error)}
        self._served.pop(call.id, None)
        self._reply(call.id, answer)

    def _reply(self, id: Any, answer: RpcDict) -> None:
        try:
            self.send({"id": id, **answer})
        except PeerGoneError as error:
            if error.memory:
                raise
        except (TypeError, ValueError) as error:  # such as a number that JSON has not
            known = ErrorCode.TOO_LARGE if isinstance(error, TooLongError) else ErrorCode.UNSUPPORTED
            message = f"The answer cannot be sent: {error}."
            self.send({"id": id, "error": {"code": FAILED, "message": message, "data": {"code": str(known)}}})


def _describe(method: str, error: Exception) -> RpcDict:
    if isinstance(error, RefusedError):
        return {"code": error.code, "message": str(error), "data": error.data}
    if isinstance(error, KeyError) and error.args == (method,):
        return {"code": UNKNOWN_METHOD, "message": f"{method} is not known here"}
    if isinstance(error, ValueError) and not isinstance(error, UnicodeError):
        return {"code": FAILED, "message": str(error)}
    known = as_tool_error(error)
    if known is None:  # a fault of ours: the process goes on
        return {"code": FAILED, "message": f"Internal error: {type(error).__name__}: {error}"}
    return {"code": FAILED, "message": known.message, "data": {"code": str(known.code), "details": known.details}}
