"""The interface of engines: for a base an engine opens one pool a node, and a pool starts workers there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from toolroll.fleet.worker import FrozenPlace
from toolroll.host.fleet.frozen import FrozenCopy
from toolroll.host.rpc.codecs import PeerGoneError


class WorkerPipe(Protocol):
    """A running worker: bytes go to it, and bytes come back."""

    def send(self, data: bytes) -> None:
        """OSError if it has ended."""

    def read(self) -> bytes:
        """The next of what it has written; nothing when it ends. Called by one thread."""

    def finish(self) -> None:
        """Send no more: it removes its leases and ends."""

    def stop(self) -> None:
        """End it now."""

    def wait(self) -> str:
        """Wait for its end; how it ended, such as "status 0"."""


class PipeStream:
    """The pipe of a worker as the stream of a channel, whose end is that of the worker."""

    def __init__(self, pipe: WorkerPipe) -> None:
        self._pipe, self._lock = pipe, threading.Lock()

    def read(self) -> bytes:
        if data := self._pipe.read():
            return data
        self._pipe.finish()
        raise PeerGoneError(self._pipe.wait())

    def write(self, data: bytes) -> None:
        with self._lock:
            self._pipe.send(data)

    def wake(self) -> None:
        self._pipe.stop()

    def close(self) -> None:
        self._pipe.stop()
        self._pipe.finish()
        self._pipe.wait()


class WorkerPool(Protocol):
    """One node that has a base."""

    @property
    def name(self) -> str:
        """What results and problems call it; empty for this machine."""

    @property
    def cores(self) -> int:
        """How many workers it has room for."""

    @property
    def place(self) -> FrozenPlace:
        """Where the base is on the node."""

    def start(self) -> WorkerPipe:
        """Start a worker, also again after one has ended; ToolError if the node cannot be reached any more.

        Its first call is "begin".
        """


class FleetEngine(Protocol):
    """A way to run workers."""

    def open_pools(
        self, base: FrozenCopy, on_problem: Callable[[str], None], most: int | None = None
    ) -> AbstractContextManager[Sequence[WorkerPool]]:
        """Send the base to the nodes, once to each, until the `with` block ends; its workers have ended before that.

        `most` nodes are enough, those with the fewest bases; but each node is tried with the first base that can be
        sent to it. A node that cannot be used then is reported and left out. Several threads may call it.
        """

    @property
    def has_nodes(self) -> bool:
        """False if all nodes are left out."""

    def stop(self) -> None:
        """End what is being connected, from any thread; there are no more pools."""

    def close(self) -> None:
        """Leave the nodes. There are no pools any more."""
