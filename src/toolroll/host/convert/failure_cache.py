"""Cache of files that could not be converted, by digest: a folder that is added again does not try them again."""

from __future__ import annotations

from toolroll.host.convert.formats import READERS_VERSION
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.database import Database
from toolroll.host.runtime.state import State
from toolroll.result import ErrorCode, ToolError

# What a new try, or an extra, would not change. A password is what a document is refused for here.
_LASTING = (ErrorCode.VALIDATION, ErrorCode.TOO_LARGE, ErrorCode.PERMISSION)
_TABLES = (
    "create table files (digest text not null, reader text not null, code text not null, "
    "primary key (digest, reader)) without rowid",
)


class FailureCache:
    """Which reader failed on which content."""

    def __init__(self, state: State, token: CancelToken) -> None:
        self._base = Database(state, token, "unreadable", _TABLES, derived=True)

    def check(self, digest: str, reader: str, path: str) -> None:
        """ToolError, of the same kind as then, if this reader could not read this content before."""
        if not self._base.exists:
            return
        with self._base.connect() as base:
            text = "select code from files where digest = ? and reader = ?"
            row = base.execute(text, (digest, _named(reader))).fetchone()
        if row is not None:
            raise ToolError(
                ErrorCode(row[0]), f"{path!r} could not be read before. Add it by its own name to try again."
            )

    def keep(self, digest: str, reader: str, error: ToolError) -> None:
        """Remember that no text came, if that lies in the file."""
        if error.code not in _LASTING:
            return
        with self._base.transaction() as base:
            base.execute("insert or replace into files values (?, ?, ?)", (digest, _named(reader), str(error.code)))


def _named(reader: str) -> str:
    return f"{reader} {READERS_VERSION}"
