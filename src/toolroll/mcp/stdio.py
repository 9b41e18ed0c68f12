"""A server on standard input and output, which most clients start by themselves."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from toolroll.mcp.backend import Offer
from toolroll.mcp.session import Placing, Session
from toolroll.mcp.wire import Inbox, Line, Outbox
from toolroll.mcp.worker_threads import Crew

_HUNG_UP = 129
_CALLS, _ANSWERS = 5.0, 10.0  # seconds that calls, and answers that only tell something, get when the input has ended
_TICK = 0.01


def serve(offer: Offer, *, placing: Placing | None = None, listed: Callable[[], None] | None = None) -> int:
    """Serve one client until it goes; the exit status. Whatever still runs then is ended.

    `placing` is told the client's roots; `listed` is called when the client has got its first list of tools.
    """
    with _pipes() as (source, target), _hung_up():
        server = _Server(offer, source, target, placing, listed)
        try:
            server.run()
        finally:
            for one in (signal.SIGTERM, signal.SIGINT):  # once is enough: the work is being ended
                _ignore(one)
            server.close()
            offer.close()
    return 0


class _Server:
    def __init__(
        self, offer: Offer, source: int, target: int, placing: Placing | None, listed: Callable[[], None] | None
    ) -> None:
        self._inbox, self._outbox = Inbox(source), Outbox(target)
        self._crew: Crew[Line] = Crew(self._inbox.next, self._handle, begin=self._flush)
        self._session = Session(offer, self._send, self._crew.work, self._log, placing)
        self._listed = listed
        self._failed = False
        self._reader = select.poll()
        self._reader.register(target, 0)

    def run(self) -> None:
        """Serve until the input ends; what is still asked then gets a moment, if somebody still reads."""
        self._crew.run()
        since = time.monotonic()
        while ((pending := self._session.pending()) or self._outbox.busy) and not self._gone():
            if time.monotonic() - since > (_CALLS if pending == {"tools/call"} else _ANSWERS):
                return
            time.sleep(_TICK)

    def close(self) -> None:
        self._crew.end()
        self._session.close()

    def _gone(self) -> bool:
        return self._failed or any(event & select.POLLERR for _, event in self._reader.poll(0))

    def _handle(self, line: Line) -> None:
        self._session.handle(line)
        if not (self._inbox.ready and self._crew.reads()) or self._outbox.due:
            self._flush()
        if self._listed is not None and self._session.listed:
            threading.Thread(target=self._listed, name="toolroll-open", daemon=True).start()
            self._listed = None

    def _send(self, value: Any) -> None:
        """Write it at once, except that the answers to messages which are here already go together.

        The thread that reads puts its answer, and `_handle` sees to it. If another thread becomes the reader meanwhile,
        that one writes it when it begins.
        """
        self._outbox.put(value)
        if "method" in value or not self._crew.reads():
            self._flush()

    def _flush(self) -> None:
        try:
            self._outbox.flush()
        except OSError:  # nobody reads any more: the client has gone
            self._failed = True
            self._crew.end()

    def _log(self, level: str, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # nor may anybody read what is only told
            # Not by sys.stderr: a thread that holds its lock when the program ends would abort that.
            os.write(2, f"toolroll mcp: {level}: {text}\n".encode("utf-8", "backslashreplace"))
        self._session.tell(level, text)


@contextlib.contextmanager
def _pipes() -> Iterator[tuple[int, int]]:
    """The descriptors of the client. What else reads or prints in this process gets nothing, or goes to stderr."""
    sys.stdout.flush()
    source, target = os.dup(0), os.dup(1)
    empty, end = os.pipe()
    os.close(end)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    try:
        yield source, target
    finally:
        os.dup2(source, 0)
        os.dup2(target, 1)
        os.close(target)  # `source` stays: a thread may still read it


@contextlib.contextmanager
def _hung_up() -> Iterator[None]:
    """Let the end of the terminal end the server in order."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*_: object) -> None:
        raise SystemExit(_HUNG_UP)

    before = signal.signal(signal.SIGHUP, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def _ignore(number: int) -> None:
    if threading.current_thread() is threading.main_thread():
        signal.signal(number, signal.SIG_IGN)
