"""Compare the index with the files as they are now: which are indexed, and which can match."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from toolroll.host.search.in_process import is_binary
from toolroll.host.search.index.postings import BINARY, Postings, TooCommonError
from toolroll.result import ToolError

if TYPE_CHECKING:
    from toolroll.host.files.root import Root
    from toolroll.host.search.index.file_table import FileTable

MAX_CHANGED = 128
"""Files that are not indexed as they are now; with more, the index is not used."""


class IndexCoverage:
    """The index, compared with a file table. Not thread-safe."""

    def __init__(self, root: Root, path: str, most_bytes: int) -> None:
        self._root = root
        self._most_bytes = most_bytes
        self._postings = Postings(path)
        self._fresh = True
        self._looked: dict[str, bool] = {}
        self.missing: set[str] = set()
        """Files that are not indexed as they are now."""
        self.big: set[str] = set()
        """Files that are too large to search."""
        self._binary: set[str] = set()

    def update(self, table: FileTable) -> None:
        """Apply the changes of the table and of the index."""
        changed, news = table.changed(), self._postings.news()
        if self._fresh or changed is None or news is None:
            self.missing, self.big, self._binary = set(), set(), set()
            self._fresh = False
            paths = set(table.files())
        else:
            paths = changed | news
        files, known = table.files(), self._postings.known
        for path in paths:
            stamp, kept = files.get(path), known.get(path)
            is_big = stamp is not None and stamp[2] > self._most_bytes
            lacks = stamp is not None and not is_big and (kept is None or kept.stamp != stamp)
            (self.missing.add if lacks else self.missing.discard)(path)
            (self.big.add if is_big else self.big.discard)(path)
            is_binary = stamp is not None and not is_big and kept is not None and kept.kind & BINARY
            (self._binary.add if is_binary else self._binary.discard)(path)
        self._looked.clear()

    def matching(self, table: FileTable, query: str, *, ignore_case: bool) -> set[str] | None:
        """The files that can match a query; None if too many have changed or match."""
        for _ in range(3):  # another process may write at the same time
            self.update(table)
            changed = self.missing | (table.unsettled() - self.big)
            if len(changed) > MAX_CHANGED:
                return None
            try:
                found = self._postings.matching(query)
            except TooCommonError:
                return None
            if found is not None:
                self._looked = {path: self._looks_binary(path) for path in changed}
                found |= changed | self._postings.always
                found |= self._postings.folded if ignore_case else set()
                return (found & table.files().keys()) - self.big
        return None

    def binaries(self) -> set[str]:
        """All binary files, right after `matching`."""
        if not self._looked:
            return self._binary
        return (self._binary - self._looked.keys()) | {path for path, yes in self._looked.items() if yes}

    def close(self) -> None:
        self._postings.close()

    def _looks_binary(self, path: str) -> bool:
        try:
            fd = self._root.file(path)
        except (OSError, ToolError):
            return False  # the search reports it
        try:
            return is_binary(fd)
        except OSError:
            return False
        finally:
            os.close(fd)
