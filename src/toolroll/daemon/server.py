"""The daemon: it answers calls on a control socket, each in its own thread, and ends when nothing is left to do."""

from __future__ import annotations

import os
import threading
import time
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from toolroll.daemon.remote_call import RemoteCall
from toolroll.daemon.source_stamp import SourceStamp
from toolroll.host.daemon.client import JOBS
from toolroll.host.rpc.channel import FAILED, RefusedError
from toolroll.host.runtime import user_sockets

if TYPE_CHECKING:
    from toolroll.control.server import ControlServer
    from toolroll.daemon.warm_kits import WarmKits
    from toolroll.host.rpc.channel import ServedCall

IDLE_SECONDS = 15 * 60.0
"""After so long without a request or a job the daemon ends."""
_TICK_S = 5.0
_END_TIMEOUT_S = 5.0
_FAILED = 1
_STOPPED = (
    "The daemon was stopped during this call, which may have taken effect. Look at the result before you repeat it."
)
_STALE = "The daemon runs older source than is installed, and takes no more calls. Start another with: toolroll up"


class DaemonServer:
    """Serves calls on a control socket. `carry_out` makes one and returns its exit status."""

    def __init__(
        self,
        name: str,
        control: ControlServer,
        kits: WarmKits,
        carry_out: Callable[[RemoteCall], int],
        why_not: Callable[[], str],
        describe: Callable[[], str],
        log: Callable[[str], None] = lambda _text: None,
        idle_seconds: float = IDLE_SECONDS,
        source: SourceStamp | None = None,
    ) -> None:
        """Listen; SocketInUseError if another daemon does.

        `why_not` says, in the folder of a request, why it is not taken, or nothing. `describe` is the daemon's status
        as text, behind its workspace and a NUL.
        """
        self._control, self._kits, self._carry_out, self._why_not = control, kits, carry_out, why_not
        self._describe, self._log, self._idle_seconds = describe, log, idle_seconds
        self._source = source or SourceStamp()
        self._lock = threading.Lock()
        self._running: dict[RemoteCall, threading.Thread] = {}
        self._used = time.monotonic()
        self._stopped = threading.Event()
        self._is_stale, self._listed_jobs = False, ""
        control.extra |= {"run": self._run, "stop": self._stop, "status": self._status}
        control.listen(name)
        self._inode = user_sockets.identify(name)

    def run(self) -> None:
        """Serve until the daemon is idle or stopped; running calls are cancelled then."""
        try:
            while not self._stopped.wait(min(_TICK_S, self._idle_seconds)) and not self._is_idle():
                self._list_jobs()
        finally:
            self._end()

    def stop(self, why: str = "stopped") -> None:
        """Let `run` end."""
        self._log(why)
        self._stopped.set()

    def _is_idle(self) -> bool:
        self._kits.sweep()
        idle_seconds = 0.0 if self._is_stale or not self._is_found() else self._idle_seconds
        with self._lock:
            wanted = any(not call.token.cancelled for call in self._running)  # one may wait for a dead client
        if wanted or self._kits.list_jobs():
            self._used = time.monotonic()
            return False
        is_idle = time.monotonic() - self._used >= idle_seconds
        if is_idle:
            self._log("ended: it had nothing to do")
        return is_idle

    def _is_found(self) -> bool:
        """Whether clients find this daemon: its socket may have been removed, and be another's."""
        return self._inode == user_sockets.identify(self._control.hands.id)

    def _end(self) -> None:
        """Take no more calls, whose clients then make them without a daemon, and cancel those that run."""
        if self._is_found():
            user_sockets.remove(self._control.hands.id)
        with self._lock:
            self._stopped.set()
            running = dict(self._running)
        for call in running:
            call.token.cancel()
        until = time.monotonic() + _END_TIMEOUT_S
        for thread in running.values():
            thread.join(max(0.0, until - time.monotonic()))
        self._kits.close()
        self._list_jobs()
        self._control.close()

    def _list_jobs(self) -> None:
        """Keep a list of the running jobs beside the socket, for those who find that this process was killed."""
        jobs = "".join(f"  job {job.id}: {job.title}\n" for job in self._kits.list_jobs())
        if jobs != self._listed_jobs:
            self._listed_jobs = jobs
            user_sockets.write_note(self._control.hands.id + JOBS, jobs)

    def _status(self, _params: Any, _served: ServedCall, _pid: int) -> str:
        return self._describe() + (", stale: its source has changed" if self._source.has_changed() else "")

    def _stop(self, _params: Any, _served: ServedCall, pid: int) -> None:
        """The end of the connection is that of the daemon."""
        self.stop(f"stopped by process {pid}")

    def _retire(self) -> None:
        """Leave the name to a daemon of newer source; calls and jobs that run go on to their end."""
        with self._lock:
            if self._is_stale:
                return
            self._is_stale = True
            before = self._control.hands.id
            self._control.hands.id = name = f"{before}-{os.getpid()}"
            user_sockets.rename(before, name)
            user_sockets.rename(before + JOBS, name + JOBS)
        self._log("retired: its source has changed")

    def _run(self, params: Any, served: ServedCall, pid: int) -> dict[str, Any]:
        """Carry out a command line; RefusedError before it has begun if the client is to do that."""
        if self._source.has_changed():
            self._retire()
            raise RefusedError(FAILED, _STALE, {"code": "stale", "tell": True})
        call = RemoteCall(params, served, pid)
        with self._lock:
            if self._stopped.is_set():
                raise RefusedError(FAILED, _STOPPED)
            self._running[call] = threading.current_thread()
        try:
            with call.in_folder():
                if why := self._why_not():
                    raise RefusedError(FAILED, why)
                call.begin()
                status = self._make_call(call)
        finally:
            with self._lock:
                del self._running[call]
            self._used = time.monotonic()
            self._list_jobs()
        if call.token.cancelled and self._stopped.is_set():
            raise RefusedError(FAILED, _STOPPED)
        return {"status": status, "output": call.output()}

    def _make_call(self, call: RemoteCall) -> int:
        try:
            return self._carry_out(call)
        except (Exception, SystemExit):  # a defect, which the client shows as it would its own
            text = traceback.format_exc()
            self._log(text)
            call.err.write(text)
            return _FAILED
