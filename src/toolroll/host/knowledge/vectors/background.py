"""Make vectors beside the calls of a kit: in one thread, and for each library in one process at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from toolroll.host.runtime.call import Progress
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.file_lock import try_lock
from toolroll.host.runtime.state import State
from toolroll.result import ToolError

Fill = Callable[[Progress, CancelToken], str]
"""Makes vectors until none is missing; returns why some are still missing: a sentence, or ""."""

_FOLDER, _LOCK = "library", "vectors.lock"
_MAX_WANTED = 200  # pieces that are made first
_ELSEWHERE = "another process makes them."
_LATER = "a search goes on with that, and so does `toolroll models embed`."
_MIN_MADE = 20  # vectors, before the remaining time is shown


class BackgroundFill:
    """The background work of one kit. Safe for threads."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._asked = self._closed = False
        self._token = CancelToken()
        self._wanted: list[int] = []
        self._said = ""
        self._began, self._done, self._total = 0.0, 0.0, 0.0

    def start(self, fill: Fill, wanted: Sequence[int] = ()) -> None:
        """Make what is missing, the pieces of these numbers first; does not wait."""
        with self._lock:
            self._wanted = [*wanted, *self._wanted][:_MAX_WANTED]
            self._asked = True
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, args=(fill,), name="toolroll vectors", daemon=True)
                self._thread.start()

    def take_wanted(self) -> list[int]:
        """The numbers of the pieces to make first; they are asked for once."""
        with self._lock:
            wanted, self._wanted = self._wanted, []
            return wanted

    def wait(self, seconds: float, token: CancelToken, progress: Progress) -> None:
        """Wait until all is made or cannot be, for at most so long."""
        deadline = time.monotonic() + seconds
        while (thread := self._thread) is not None and time.monotonic() < deadline:
            token.check()
            thread.join(0.05)
            if self._total and self._thread is not None:
                progress(self._done, self._total, "vectors")
        if self._total:
            progress(self._done, self._total, "vectors")

    @property
    def reason(self) -> str:
        """Why vectors are missing now: a sentence."""
        if self._thread is None:
            return self._said or _LATER
        if self._done < _MIN_MADE:
            return "they are being made."
        left = (self._total - self._done) * (time.monotonic() - self._began) / self._done
        return f"they are being made, which takes about {_show_time(left)} more."

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._token.cancel()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self, fill: Fill) -> None:
        while self._again():
            self._began, self._done, self._total = time.monotonic(), 0.0, 0.0
            with try_lock(self._state.folder(_FOLDER), _LOCK) as alone:
                self._said = self._fill(fill) if alone else _ELSEWHERE

    def _again(self) -> bool:
        """Whether there is work, which may have come in the last moment."""
        with self._lock:
            asked, self._asked = self._asked and not self._closed, False
            if not asked:
                self._thread = None
            return asked

    def _fill(self, fill: Fill) -> str:
        try:
            return fill(self._progress, self._token)
        except Exception as error:  # a full disk, say: the thread ends as told, and the next start tries again
            return error.message if isinstance(error, ToolError) else f"{type(error).__name__}: {error}."

    def _progress(self, done: float, total: float | None, _note: str) -> None:
        self._done, self._total = done, total or 0.0


def _show_time(seconds: float) -> str:
    return f"{max(1, round(seconds))} s" if seconds < 100 else f"{round(seconds / 60)} min"
