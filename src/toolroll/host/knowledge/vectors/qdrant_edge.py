"""The embedded store: Qdrant's own engine on a folder of the state, which one process at a time may have open.

It stays open for a while after use, since opening is slow, and is released as soon as another process waits.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.file_lock import open_lock, take_lock
from toolroll.host.runtime.state import State
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    import qdrant_edge

    from toolroll.host.knowledge.vectors.store import Floats

Made = TypeVar("Made")

_FOLDER = "vectors"
_IDLE_SECONDS = 5.0  # seconds for which it stays open
_POLL_WAITERS_SECONDS = 0.05  # between two checks for a waiting process
_RETRY_SECONDS = 0.005
_YIELD_SECONDS = 0.02  # seconds for those who waited before
_BATCH_VECTORS = 1000
_PANIC = "PanicException"
_BYTES_OF_NUMBER = 16  # of a vector: itself, its rough copy, and both in the log of changes
_MIN_FREE_BYTES = 80 << 20  # on the disk, besides: to open a shard takes 64 MB
_OVERSAMPLING = 3.0  # times as many as are asked for are compared exactly


class QdrantEdge:
    """A shard for each model, below one lock."""

    def __init__(self, state: State, idle: float = _IDLE_SECONDS) -> None:
        """`idle` is how many seconds it stays open after its last use."""
        self._state = state
        self._idle = idle
        self._turn = threading.RLock()
        self._shards: dict[str, qdrant_edge.EdgeShard] = {}
        self._lock: int | None = None
        self._used = 0.0
        self._watcher: threading.Thread | None = None

    name = "edge"

    def check(self, token: CancelToken) -> None:
        """It can always be used."""

    def put(self, model: str, vectors: Mapping[int, Floats], token: CancelToken) -> None:
        import qdrant_edge as engine

        points = [engine.Point(number, vector.tolist()) for number, vector in vectors.items()]
        if not points:
            return
        size, name = len(next(iter(vectors.values()))), _named(model)
        self._check_room(len(points) * size * _BYTES_OF_NUMBER)

        def work(shard: qdrant_edge.EdgeShard) -> bool:
            for at in range(0, len(points), _BATCH_VECTORS):
                shard.update(engine.UpdateOperation.upsert_points(points[at : at + _BATCH_VECTORS]))
            return True

        with self._held(token):
            if not self._done(name, work, False):
                work(self._made(name, size))

    def drop(self, numbers: Sequence[int], token: CancelToken) -> None:
        import qdrant_edge as engine

        if not numbers or not self._names():
            return
        with self._held(token):
            self._check_room(0)
            operation = engine.UpdateOperation.delete_points(list(numbers))
            for name in self._names():
                self._done(name, lambda shard: shard.update(operation), None)

    def search(self, model: str, vector: Floats, limit: int, token: CancelToken) -> list[tuple[int, float]]:
        """The numbers of the nearest vectors with their cosines, the nearest first.

        All are compared by a rough copy, a byte for each number, and more than enough of the nearest exactly.
        """
        import qdrant_edge as engine

        if not self._names():
            return []
        rough = engine.QuantizationSearchParams(rescore=True, oversampling=_OVERSAMPLING)
        params = engine.SearchParams(quantization=rough)
        request = engine.SearchRequest(query=engine.Query.Nearest(vector.tolist()), limit=limit, params=params)
        with self._held(token):
            found: list[engine.ScoredPoint] = self._done(_named(model), lambda shard: shard.search(request), [])
        made = [(int(one.id), float(one.score)) for one in found]
        return sorted(made, key=lambda pair: (-pair[1], pair[0]))

    def count(self, model: str, token: CancelToken) -> int:
        import qdrant_edge as engine

        if not self._names():
            return 0
        with self._held(token):
            return self._done(_named(model), lambda shard: shard.count(engine.CountRequest(exact=True)), 0)

    def clear(self, token: CancelToken) -> None:
        if not self._names():
            return
        with self._held(token):
            self._close_shards()
            for name in self._names():
                shutil.rmtree(self._path(name))

    def close(self) -> None:
        with self._turn:
            self._let_go()
            watcher = self._watcher
        if watcher is not None and watcher is not threading.current_thread():
            watcher.join(1)

    def _check_room(self, needed: int) -> None:
        """ToolError if the disk is nearly full: the engine writes to mapped files, and would end this process."""
        disk = os.fstatvfs(self._state.folder(_FOLDER))
        if disk.f_bavail * disk.f_frsize < _MIN_FREE_BYTES + needed:
            room = (_MIN_FREE_BYTES + needed) >> 20
            raise ToolError(
                ErrorCode.IO, f"The disk is nearly full: vectors need {room} MB free in {self._state.path!r}."
            )

    def _path(self, name: str) -> str:
        return os.path.join(self._state.path, _FOLDER, name)

    def _names(self) -> list[str]:
        with suppress(FileNotFoundError):
            return sorted(name for name in os.listdir(self._path("")) if name.startswith("of-"))
        return []

    def _done(self, name: str, work: Callable[[qdrant_edge.EdgeShard], Made], none: Made) -> Made:
        """What the engine makes of a shard; `none` if there is none, or one that is of no use, which then goes.

        That is a broken one, or one for vectors of another length: nothing is lost with it but time.
        """
        try:
            shard = self._loaded(name)
            return none if shard is None else work(shard)
        except ToolError:
            raise
        except BaseException as error:  # the engine has no class of its own, and its panics are no Exception
            if not isinstance(error, Exception) and type(error).__name__ != _PANIC:
                raise
            self._shards.pop(name, None)
            with suppress(FileNotFoundError):
                shutil.rmtree(self._path(name))
            return none

    def _loaded(self, name: str) -> qdrant_edge.EdgeShard | None:
        import qdrant_edge as engine

        path = self._path(name)
        if name not in self._shards and os.path.isdir(path):
            self._check_room(0)
            self._shards[name] = engine.EdgeShard.load(path)
        return self._shards.get(name)

    def _made(self, name: str, size: int) -> qdrant_edge.EdgeShard:
        import qdrant_edge as engine

        room = self._path(f"new-{name}")
        shutil.rmtree(room, ignore_errors=True)
        os.mkdir(room, 0o700)
        rough = engine.TurboQuantQuantizationConfig(bits=engine.TurboQuantBitSize.Bits8)
        params = engine.EdgeVectorParams(size=size, distance=engine.Distance.Dot, quantization_config=rough)
        plain = engine.EdgeOptimizersConfig(indexing_threshold=0)
        config = engine.EdgeConfig(vectors=params, optimizers=plain, max_search_threads=1)
        engine.EdgeShard.create(room, config).close()
        os.rename(room, self._path(name))  # whole, or not at all
        self._shards[name] = engine.EdgeShard.load(self._path(name))
        return self._shards[name]

    @contextmanager
    def _held(self, token: CancelToken) -> Iterator[None]:
        """The store, ours alone: other threads wait, other processes wait and are waited for."""
        while not self._turn.acquire(timeout=_POLL_WAITERS_SECONDS):
            token.check()
        try:
            if self._lock is None:
                self._lock = _taken(self._state.folder(_FOLDER), token)
            yield
            self._used = time.monotonic()
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, name="toolroll vectors", daemon=True)
                self._watcher.start()
        except BaseException:
            self._let_go()
            raise
        finally:
            self._turn.release()

    def _watch(self) -> None:
        """Release the store when another process waits for it, or when it was idle for long."""
        while True:
            time.sleep(_POLL_WAITERS_SECONDS)
            with self._turn:
                idle = time.monotonic() - self._used > self._idle
                if self._lock is None or idle or _is_wanted(self._path("waiting")):
                    self._let_go()
                    self._watcher = None
                    return

    def _let_go(self) -> None:
        self._close_shards()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _close_shards(self) -> None:
        shards, self._shards = self._shards, {}
        for shard in shards.values():
            shard.close()


def _named(model: str) -> str:
    return f"of-{hashlib.blake2b(model.encode(), digest_size=8).hexdigest()}"


def _taken(folder: int, token: CancelToken) -> int:
    """Take the lock; ToolError if the call ends first. The holder sees that a process waits."""
    waiting = open_lock(folder, "waiting")
    lock = open_lock(folder, "lock")
    try:
        alone = take_lock(waiting, fcntl.LOCK_EX)
        take_lock(waiting, fcntl.LOCK_SH)  # any number of us may wait
        if not alone:
            time.sleep(_YIELD_SECONDS)
        while not take_lock(lock, fcntl.LOCK_EX):
            token.check()
            time.sleep(_RETRY_SECONDS)
    except BaseException:
        os.close(lock)
        raise
    finally:
        os.close(waiting)
    return lock


def _is_wanted(path: str) -> bool:
    try:
        fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not take_lock(fd, fcntl.LOCK_EX)
    finally:
        os.close(fd)
