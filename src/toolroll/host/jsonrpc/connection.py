"""A JSON-RPC connection to a child process: one thread reads, writes and watches, so that no caller can block on it."""

from __future__ import annotations

import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from toolroll.host.jsonrpc.framing import Framing, MessageTooLargeError, NotProtocolError, RpcDict
from toolroll.host.runtime import process_tree
from toolroll.host.runtime.cancellation import POLL_SECONDS, CancelToken
from toolroll.host.runtime.dir_entries import closing_fd
from toolroll.host.runtime.processes import exit_status
from toolroll.text.terminal import clean

if TYPE_CHECKING:
    from toolroll.host.runtime.launcher import ChildProcess

_CHUNK_BYTES = 1 << 18
_KEPT_STDERR_BYTES = 2000
_SHOWN_STDERR_LINES = 3
_SHOWN_CHARS = 300
_WATCH_INTERVAL_S = 1.0  # between two checks of the server's memory
_MAX_QUEUED_REPLIES = 100  # for a server that sends requests and does not read
_METHOD_NOT_FOUND = -32601


class GoneError(Exception):
    """The server has ended. The text continues a sentence that begins with the server's name."""

    def __init__(self, how: str, *, memory: bool = False) -> None:
        """`memory`: it was ended because it used too much."""
        super().__init__(how)
        self.memory = memory


class LateError(Exception):
    """The server did not answer in time."""


class RefusedError(Exception):
    """The server answered with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code

    @classmethod
    def from_message(cls, message: RpcDict) -> RefusedError:
        return cls(message["error"]["code"], str(message["error"].get("message", "")))


class PendingRequest:
    """A request that the server has not answered yet."""

    def __init__(self, connection: Connection, number: int) -> None:
        self._connection = connection
        self._number = number
        self._done = threading.Event()
        self._result: Any = None
        self._error: Exception | None = None

    def settle(self, result: Any, error: Exception | None = None) -> None:
        self._result, self._error = result, error
        self._done.set()

    def wait(self, token: CancelToken, deadline: float) -> Any:
        """The result; raises RefusedError, GoneError, LateError, or what the token raises."""
        try:
            while not self._done.wait(max(0.0, min(POLL_SECONDS, deadline - time.monotonic()))):
                token.check()
                if time.monotonic() >= deadline:
                    raise LateError
        finally:
            if not self._done.is_set():
                self._connection.forget(self._number)
        if self._error is not None:
            raise self._error
        return self._result


class Connection:
    """Sends and receives messages. Any thread may send; the callbacks run in the connection's own thread."""

    def __init__(
        self,
        process: ChildProcess,
        framing: Framing,
        *,
        answer: Callable[[str, Any], Any],
        on_notification: Callable[[str, Any], None],
        cancellation: Callable[[int], RpcDict],
        on_end: Callable[[], None],
        memory: int,
        kill: Callable[[], None] | None = None,
    ) -> None:
        """`answer` returns the result of a request from the server, or raises KeyError for an unknown method.

        `cancellation` makes the notification that cancels a request; `memory` limits the server and its children, in
        bytes; `kill` ends the process, by default with its process group.
        """
        self._process = process
        self._framing = framing
        self._answer, self._on_notification, self._on_end = answer, on_notification, on_end
        self._cancellation = cancellation
        self._kill = kill or self._kill_group
        self._memory = memory
        self._lock = threading.Lock()
        self._out: deque[bytes] = deque()
        self._replies = 0  # put into the queue since it was last empty
        self._pending: dict[int, PendingRequest] = {}
        self._count = 0
        self._stderr = b""
        self._wake = os.pipe()
        self.gone: GoneError | None = None
        self.heard = time.monotonic()
        """Time of the last message from the server."""
        self._thread = threading.Thread(target=self._run, name="toolroll json-rpc", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def request(self, method: str, params: Any) -> PendingRequest:
        """Send a request; `wait` on the returned object for the result."""
        with self._lock:
            self._count += 1
            pending = self._pending[self._count] = PendingRequest(self, self._count)
            self._put({"id": self._count, "method": method, "params": params})
        return pending

    def notify(self, method: str, params: Any) -> None:
        with self._lock:
            self._put({"method": method, "params": params})

    def forget(self, number: int) -> None:
        """Cancel a request whose answer is not needed any more."""
        with self._lock:
            if self._pending.pop(number, None) is not None and self.gone is None:
                self._put(self._cancellation(number))

    def close(self, how: str = "was closed", wait: float = 0.0) -> None:
        """End the server and all its processes, after it had `wait` seconds to end by itself."""
        if wait:
            self._thread.join(wait)
        with self._lock:
            if self.gone is None:
                self.gone = GoneError(how)
                os.write(self._wake[1], b"x")
        self._thread.join()

    def end_input(self) -> None:
        """Close the server's stdin. The pipe is replaced, not closed: the thread may be about to write to it."""
        stdin = self._process.stdin
        with closing_fd(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)) as null, self._lock:
            if self.gone is None and stdin is not None and not stdin.closed:
                os.dup2(null, stdin.fileno(), inheritable=False)

    def _put(self, message: RpcDict) -> None:
        if self.gone is not None:
            raise self.gone
        self._out.append(self._framing.encode(message))
        if len(self._out) == 1:
            os.write(self._wake[1], b"x")

    def _run(self) -> None:
        try:
            how = self._serve()
        except NotProtocolError as error:
            how = GoneError(f"does not speak the protocol; it said {str(error)!r}")
        except MessageTooLargeError as error:
            how = GoneError(str(error), memory=True)
        except Exception as error:  # every waiting caller must get an error, whatever it is
            how = GoneError(f"could not be followed: {error!r}")
        self._end(how)

    def _serve(self) -> GoneError:
        """Carry messages until there is a reason to stop."""
        into, out, err = self._process.stdin, self._process.stdout, self._process.stderr
        assert into is not None
        assert out is not None
        assert err is not None
        os.set_blocking(into.fileno(), False)
        poll = select.poll()
        for fd in (out.fileno(), err.fileno(), self._wake[0]):
            poll.register(fd, select.POLLIN)
        watched = time.monotonic()
        writing = False
        while self.gone is None:
            if writing != bool(self._out):
                writing = not writing
                poll.register(into.fileno(), select.POLLOUT) if writing else poll.unregister(into.fileno())
            for fd, _ in poll.poll(_WATCH_INTERVAL_S * 1000):
                more = self._write(fd) if fd == into.fileno() else self._read(fd, out.fileno(), err.fileno())
                if not more and fd == err.fileno():
                    poll.unregister(fd)
                elif not more:
                    return self._describe_end()
            if time.monotonic() - watched >= _WATCH_INTERVAL_S:
                watched = time.monotonic()
                if (reason := self._check_process()) is not None:
                    return reason
        return self.gone

    def _write(self, fd: int) -> bool:
        """Write what the server takes now; False when it has closed its input."""
        with self._lock:
            data = self._out[0]
        try:
            written = os.write(fd, data)
        except BlockingIOError:
            return True
        except BrokenPipeError:
            return False
        with self._lock:
            if written < len(data):
                self._out[0] = data[written:]
            else:
                self._out.popleft()
        return True

    def _read(self, fd: int, out: int, err: int) -> bool:
        """Read what is available; False at the end of the stream."""
        data = os.read(fd, _CHUNK_BYTES)
        if fd == out:
            for message in self._framing.feed(data):
                self._receive(message)
        elif fd == err:
            self._stderr = (self._stderr + data)[-_KEPT_STDERR_BYTES:]
        return bool(data)

    def _receive(self, message: RpcDict) -> None:
        self.heard = time.monotonic()
        method, number = message.get("method"), message.get("id")
        if method is None:
            with self._lock:
                pending = self._pending.pop(number, None) if isinstance(number, int) else None
            if pending is not None:
                refused = RefusedError.from_message(message) if message.get("error") is not None else None
                pending.settle(message.get("result"), refused)
        elif number is None:
            self._on_notification(method, message.get("params"))
        else:
            short = number if isinstance(number, int) else str(number)[:_SHOWN_CHARS]
            self._reply(short, str(method)[:_SHOWN_CHARS], message.get("params"))

    def _reply(self, number: int | str, method: str, params: Any) -> None:
        reply: RpcDict = {"id": number}
        try:
            reply["result"] = self._answer(method, params)
        except KeyError:
            reply["error"] = {"code": _METHOD_NOT_FOUND, "message": f"{method} is not known here"}
        with self._lock:
            self._replies = self._replies + 1 if self._out else 1
            if self._replies > _MAX_QUEUED_REPLIES:
                raise MessageTooLargeError("asked on without reading the answers, and was ended")
            if self.gone is None:
                self._put(reply)

    def _check_process(self) -> GoneError | None:
        """The reason to stop, when the process has ended or uses too much memory."""
        if exit_status(self._process) is not None:
            return self._describe_end()
        used = measure_memory(self.pid)
        if used > self._memory:
            size = f"{used >> 20} MB of memory, more than the {self._memory >> 20} MB that it may use"
            return GoneError(f"used {size}, and was ended", memory=True)
        return None

    def _describe_end(self) -> GoneError:
        """How the process ended, with the last lines of its stderr, where most programs say why."""
        for _ in range(20):
            if (status := exit_status(self._process)) is not None:
                break
            time.sleep(0.005)  # its output ends a moment before the process does
        how = "closed its output" if status is None else f"ended with status {status}"
        how = f"was killed by signal {-status}" if status is not None and status < 0 else how
        with suppress(OSError):
            assert self._process.stderr is not None
            os.set_blocking(self._process.stderr.fileno(), False)
            rest = os.read(self._process.stderr.fileno(), _CHUNK_BYTES)
            self._stderr = (self._stderr + rest)[-_KEPT_STDERR_BYTES:]
        last = " / ".join(clean(self._stderr).strip().splitlines()[-_SHOWN_STDERR_LINES:])
        return GoneError(f"{how}; it said {last[-_SHOWN_CHARS:]!r}" if last else how)

    def _kill_group(self) -> None:
        if self._process.returncode is None:
            process_tree.kill_group(self.pid)

    def _end(self, how: GoneError) -> None:
        self._kill()  # before `wait`: until then no other process can have its number
        with self._lock:
            self.gone = self.gone or how
            left, self._pending = list(self._pending.values()), {}
            for fd in self._wake:
                os.close(fd)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        self._process.wait()
        for pending in left:
            pending.settle(None, self.gone)
        self._on_end()


def measure_memory(pid: int) -> int:
    """Bytes of memory that a process and its children hold; 0 where that cannot be measured."""
    if not process_tree.has_proc():
        return 0
    view = process_tree.view_processes()
    first = view.get(pid)
    return 0 if first is None else sum(one.rss for one in view.tree([first]).values())
