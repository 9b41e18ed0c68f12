"""Cache of vectors by the content of their texts, in the state folder."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.database import Database
from toolroll.host.runtime.state import State
from toolroll.result import ToolError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from toolroll.host.models.embedding.embedder import Embedder

    Floats = NDArray[np.float32]

_MAX_VECTORS = 400_000  # the oldest are deleted first
_MAX_VARIABLES = 500  # of one SQL statement
_TABLES = (
    "create table vectors (number integer primary key autoincrement, model text not null, digest blob not null, "
    "data blob not null, unique (digest, model))",
)


class VectorCache:
    """The cached vectors of one embedder."""

    def __init__(self, state: State, token: CancelToken, embedder: Embedder) -> None:
        self._token = token
        self._embedder = embedder
        self._base = _open_database(state, token)

    def vectors(self, texts: Sequence[str], seconds: float, size: int = 0) -> list[Floats | None]:
        """The vectors of the texts; None for one that is broken, and for the last texts if the time was too short.

        A few are always made. All have one length, which is `size` where it is known: a server may change the model
        behind a name.
        """
        digests = [_digest(text) for text in texts]
        made = {digest: row for digest, row in self._read(digests).items() if size in (0, len(row))}
        deadline = time.monotonic() + seconds
        todo = list({one: at for at, one in enumerate(digests) if one not in made}.values())
        for at in range(0, len(todo), self._embedder.batch):
            if at and time.monotonic() >= deadline:
                break
            part = todo[at : at + self._embedder.batch]
            rows = self._embedder.embed([texts[one] for one in part], self._token)
            fresh = {digests[one]: row for one, row in zip(part, rows, strict=True) if row[0] == row[0]}  # not NaN
            self._write(fresh)
            made = {digest: row for digest, row in made.items() if not fresh or len(row) == len(rows[0])} | fresh
        return [made.get(digest) for digest in digests]

    def _read(self, digests: Sequence[bytes]) -> dict[bytes, Floats]:
        import numpy as np

        if not self._base.exists:
            return {}
        made: dict[bytes, Floats] = {}
        with self._base.connect() as base:
            for at in range(0, len(digests), _MAX_VARIABLES):
                part = digests[at : at + _MAX_VARIABLES]
                rows = base.execute(
                    f"select digest, data from vectors where model = ? and digest in ({', '.join('?' * len(part))})",
                    (self._embedder.name, *part),
                )
                made |= {digest: np.frombuffer(data, np.float32) for digest, data in rows}
        return made

    def _write(self, vectors: dict[bytes, Floats]) -> None:
        with self._base.transaction() as base:
            base.executemany(
                "insert or replace into vectors (model, digest, data) values (?, ?, ?)",
                [(self._embedder.name, digest, row.tobytes()) for digest, row in vectors.items()],
            )
            base.execute("delete from vectors where number <= (select max(number) from vectors) - ?", (_MAX_VECTORS,))


def forget(state: State, token: CancelToken, texts: Sequence[str] | None = None) -> None:
    """Delete the vectors of these texts, or all vectors, of every model."""
    base = _open_database(state, token)
    if not base.exists or texts == []:
        return
    try:
        with base.connect() as kept:
            if texts is None:
                kept.execute("delete from vectors")
                kept.execute("vacuum")
            else:
                kept.executemany("delete from vectors where digest = ?", [(_digest(text),) for text in texts])
    except ToolError:
        if base.exists:  # else it was damaged, and has been deleted
            raise


def _open_database(state: State, token: CancelToken) -> Database:
    return Database(state, token, "embeddings", _TABLES, derived=True)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()
