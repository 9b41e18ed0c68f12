"""The line to one running server: a thread that reads, writes and watches, so that no caller can be stuck in it."""

from __future__ import annotations

import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from toolroll.host.jsonrpc.framing import Frames, NotProtocolError, frame
from toolroll.host.runtime import process_tree as descendants
from toolroll.host.runtime.processes import exit_status

if TYPE_CHECKING:
    from toolroll.host.runtime.cancellation import Token
    from toolroll.host.runtime.launcher import ChildProcess

_CHUNK = 1 << 18
_LAST_WORDS = 2000  # bytes of stderr that are kept
_TICK = 0.05  # seconds; how late a cancellation may be noticed
_LOOK = 1.0  # seconds between two looks at the memory of the server
_METHOD_NOT_FOUND = -32601


class GoneError(Exception):
    """The server has ended. Says how, in words that follow its name."""

    def __init__(self, how: str, *, memory: bool = False) -> None:
        super().__init__(how)
        self.memory = memory


class LateError(Exception):
    """The server did not answer in time."""


class RefusedError(Exception):
    """The server answered with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Pending:
    """A request whose answer is on its way."""

    def __init__(self, link: Link, number: int) -> None:
        self._link = link
        self._number = number
        self._done = threading.Event()
        self._result: Any = None
        self._error: Exception | None = None

    def settle(self, result: Any, error: Exception | None = None) -> None:
        self._result, self._error = result, error
        self._done.set()

    def wait(self, token: Token, deadline: float) -> Any:
        """The answer; raises what the server answered, GoneError, LateError, or what the token raises."""
        try:
            while not self._done.wait(max(0.0, min(_TICK, deadline - time.monotonic()))):
                token.check()
                if time.monotonic() >= deadline:
                    raise LateError
        finally:
            if not self._done.is_set():
                self._link.forget(self._number)
        if self._error is not None:
            raise self._error
        return self._result


class Link:
    """Sends and receives. Requests may come from any thread; `answer` and `notice` are called in its own."""

    def __init__(
        self,
        process: ChildProcess,
        *,
        answer: Callable[[str, Any], Any],
        notice: Callable[[str, Any], None],
        ended: Callable[[], None],
        memory: int,
    ) -> None:
        """`answer` gives the result of a request of the server's, or raises KeyError for an unknown one."""
        self._process = process
        self._answer, self._notice, self._ended = answer, notice, ended
        self._memory = memory
        self._frames = Frames()
        self._lock = threading.Lock()
        self._out: deque[bytes] = deque()
        self._pending: dict[int, Pending] = {}
        self._count = 0
        self._words = b""
        self._wake = os.pipe()
        self.gone: GoneError | None = None
        self.heard = time.monotonic()
        """When the server last said anything."""
        self._thread = threading.Thread(target=self._run, name="toolroll language server", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def request(self, method: str, params: Any) -> Pending:
        """Ask; `wait` for what comes back."""
        with self._lock:
            self._count += 1
            pending = self._pending[self._count] = Pending(self, self._count)
            self._put({"id": self._count, "method": method, "params": params})
        return pending

    def notify(self, method: str, params: Any) -> None:
        """Tell the server something."""
        with self._lock:
            self._put({"method": method, "params": params})

    def forget(self, number: int) -> None:
        """Nobody waits for this answer any more."""
        with self._lock:
            if self._pending.pop(number, None) is not None and self.gone is None:
                self._put({"method": "$/cancelRequest", "params": {"id": number}})

    def close(self, how: str = "was closed", wait: float = 0.0) -> None:
        """End the server and all that it started, at once or after it had time to end by itself."""
        if wait:
            self._thread.join(wait)
        with self._lock:
            if self.gone is None:
                self.gone = GoneError(how)
                os.write(self._wake[1], b"x")
        self._thread.join()

    def _put(self, message: dict[str, Any]) -> None:
        if self.gone is not None:
            raise self.gone
        self._out.append(frame(message))
        if len(self._out) == 1:
            os.write(self._wake[1], b"x")

    def _run(self) -> None:
        try:
            how = self._serve()
        except NotProtocolError as said:
            how = GoneError(f"does not speak the protocol; it said {str(said)!r}")
        except Exception as error:  # whoever waits must hear of it, whatever it is
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
        looked = time.monotonic()
        writing = False
        while self.gone is None:
            if writing != bool(self._out):
                writing = not writing
                poll.register(into.fileno(), select.POLLOUT) if writing else poll.unregister(into.fileno())
            for fd, _ in poll.poll(_LOOK * 1000):
                more = self._write(fd) if fd == into.fileno() else self._read(fd, out.fileno(), err.fileno())
                if not more and fd == err.fileno():
                    poll.unregister(fd)
                elif not more:
                    return self._how_it_ended()
            if time.monotonic() - looked >= _LOOK:
                looked = time.monotonic()
                if (reason := self._look()) is not None:
                    return reason
        return self.gone

    def _write(self, fd: int) -> bool:
        """Send what the server takes now; False when it takes nothing any more."""
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
        """Take what there is; False at the end of it."""
        data = os.read(fd, _CHUNK)
        if fd == out:
            for message in self._frames.feed(data):
                self._receive(message)
        elif fd == err:
            self._words = (self._words + data)[-_LAST_WORDS:]
        return bool(data)

    def _receive(self, message: dict[str, Any]) -> None:
        self.heard = time.monotonic()
        method, number = message.get("method"), message.get("id")
        if method is None:
            with self._lock:
                pending = self._pending.pop(number, None) if isinstance(number, int) else None
            if pending is not None:
                error = message.get("error")
                refused = RefusedError(error.get("code", 0), str(error.get("message", ""))) if error else None
                pending.settle(message.get("result"), refused)
        elif number is None:
            self._notice(method, message.get("params"))
        else:
            self._reply(number, method, message.get("params"))

    def _reply(self, number: Any, method: str, params: Any) -> None:
        reply: dict[str, Any] = {"id": number}
        try:
            reply["result"] = self._answer(method, params)
        except KeyError:
            reply["error"] = {"code": _METHOD_NOT_FOUND, "message": f"{method} is not known here"}
        with self._lock:
            if self.gone is None:
                self._put(reply)

    def _look(self) -> GoneError | None:
        """Is it still there, and of a size to bear?"""
        if exit_status(self._process) is not None:
            return self._how_it_ended()
        used = resident(self.pid)
        if used > self._memory:
            size = f"{used >> 20} MB of memory, more than the {self._memory >> 20} MB that it may use"
            return GoneError(f"used {size}, and was ended", memory=True)
        return None

    def _how_it_ended(self) -> GoneError:
        for _ in range(20):
            if (status := exit_status(self._process)) is not None:
                break
            time.sleep(0.005)  # its output ends a moment before it does
        how = "closed its output" if status is None else f"ended with status {status}"
        how = f"was killed by signal {-status}" if status is not None and status < 0 else how
        with suppress(OSError):
            assert self._process.stderr is not None
            os.set_blocking(self._process.stderr.fileno(), False)
            self._words = (self._words + (os.read(self._process.stderr.fileno(), _CHUNK) or b""))[-_LAST_WORDS:]
        said = self._words.decode("utf-8", "replace").strip()
        return GoneError(f"{how}; it said {said.splitlines()[0][:300]!r}" if said else how)

    def _end(self, how: GoneError) -> None:
        if self._process.returncode is None:
            descendants.kill_group(self.pid)
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
        self._ended()


def resident(pid: int) -> int:
    """Bytes of memory that a process and those it started hold; 0 where that cannot be told."""
    if not descendants.has_proc():
        return 0
    view = descendants.view_processes()
    first = view.get(pid)
    return 0 if first is None else sum(one.rss for one in view.tree([first]).values())
