"""Watch a repository's settings and hooks in a thread while commands run."""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from toolroll.host.files.openat import LIST
from toolroll.host.runtime.inotify import EventsLostError, FolderWatch
from toolroll.host.sandbox.dir_entries import Parts, open_dir

_TOGETHER_S = 0.002  # changes that come so close to each other are looked at once
_POLL_S = 0.05  # where the kernel does not report changes
_LOOK_S = 1.0  # where it does: a file that is mapped into memory, or has a name elsewhere, changes unreported


class GitWatch:
    """Watches folders until it is closed; `changed` is called in its thread."""

    def __init__(self, root: int, changed: Callable[[], None]) -> None:
        """`root` is a descriptor of the workspace; it stays the caller's."""
        self._root = root
        self._changed = changed
        self._lock = threading.Lock()
        self._folders: Mapping[Parts, set[str] | None] = {}
        self._numbers: dict[int, Parts] = {}
        self._polls = False
        self._rests = True
        self._sleeps = False
        self._closed = False
        self._wake, self._waker = os.pipe()
        os.set_blocking(self._wake, False)
        try:
            self._watch: FolderWatch | None = FolderWatch()
        except OSError:
            self._watch = None
        self._thread = threading.Thread(target=self._live, name="toolroll git", daemon=True)
        self._thread.start()

    def follow(self, folders: Mapping[Parts, set[str] | None]) -> None:
        """Watch these folders, each for some names or for all."""
        with self._lock:
            self._rests = False
            if folders != self._folders or self._polls:
                self._folders = folders
                self._add()
            if self._sleeps:
                self._sleeps = False
                os.write(self._waker, b"x")

    def rest(self) -> None:
        """Nothing runs any more; the folders stay watched for the next time."""
        self._rests = True

    def close(self) -> None:
        """End the thread."""
        with self._lock:  # the thread lets go of the descriptors only after this
            if not self._closed:
                self._closed = True
                os.write(self._waker, b"x")
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _add(self) -> None:
        """Watch every folder that is there now; one that is watched already stays so."""
        self._polls = self._watch is None
        numbers = {}
        for parts in self._folders:
            try:
                with open_dir(self._root, parts) as path:
                    fd = os.open(".", LIST, dir_fd=path)
            except OSError:
                continue  # it is not there: the folder above is watched for it
            try:
                if self._watch is not None:
                    numbers[self._watch.add(fd, os.fstat(fd).st_dev)] = parts
            except OSError:
                self._polls = True  # too many watches, or a file system that does not report changes
            finally:
                os.close(fd)
        if self._watch is not None:
            for number in self._numbers.keys() - numbers.keys():
                self._watch.remove(number)
        self._numbers = numbers

    def _live(self) -> None:
        try:
            while not self._closed:
                reported = self._wait()
                if not self._closed and self._is_needed(reported):
                    with self._lock:
                        self._add()  # a folder may be another one now; it is watched before it is looked at
                    with suppress(OSError):  # a full disk: the end of the command says so, and the watch goes on
                        self._changed()
        finally:
            with self._lock:
                self._closed = True
                if self._watch is not None:
                    self._watch.close()
                os.close(self._wake)
                os.close(self._waker)

    def _wait(self) -> bool:
        """Wait for a change, or for the time to look without one; whether it was a change."""
        waiting = select.poll()
        waiting.register(self._wake, select.POLLIN)
        if self._watch is not None:
            waiting.register(self._watch.fd, select.POLLIN)
        if waiting.poll(1000 * (_POLL_S if self._polls else _LOOK_S)):
            time.sleep(_TOGETHER_S)
            return True
        with self._lock:
            self._sleeps = self._rests
        if self._sleeps:
            waiting.poll()
        return False

    def _is_needed(self, reported: bool) -> bool:
        """Whether it is time to look at the repository."""
        with suppress(BlockingIOError):
            os.read(self._wake, 1000)
        try:
            changes = {} if self._watch is None else self._watch.take()
        except EventsLostError:
            return True
        with self._lock:
            return not reported or any(self._matters(number, names) for number, names in changes.items())

    def _matters(self, number: int, names: Mapping[bytes, bool]) -> bool:
        if number not in self._numbers:
            return False
        wanted = self._folders.get(self._numbers[number], set())
        # The empty name is the folder itself, which is moved or gone.
        return wanted is None or any(not name or os.fsdecode(name) in wanted for name in names)
