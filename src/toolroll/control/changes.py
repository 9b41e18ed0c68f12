"""Notice what changes in a kit beside its calls: the journal grows, a job begins or ends."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from toolroll.control.views.jobs import job_states

if TYPE_CHECKING:
    from toolroll.kit import Kit


class ChangeWatch:
    """Remembers the last look at a kit: a look costs one `stat`, whatever the journal holds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._size = 0
        self._jobs: tuple[tuple[int, str], ...] = ()

    def look(self, kit: Kit) -> list[tuple[str, dict[str, Any]]]:
        """The events for what has changed since the last look; other processes may have done it."""
        size, jobs = kit.journal.log.size(), job_states(kit)
        with self._lock:
            grown, changed = size != self._size, jobs != self._jobs
            self._size, self._jobs = size, jobs
        return [*([("journal", {"size": size})] if grown else []), *([("jobs", {})] if changed else [])]
