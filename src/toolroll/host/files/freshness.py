"""The guard before a change: what was shown must still be what is there."""

from __future__ import annotations

from typing import Literal

from toolroll.host.files.versions import SeenVersions, Version
from toolroll.result import ErrorCode, Suggestion, ToolError

EditGuard = Literal["none", "fresh", "seen"]
"""Before a change: nothing is asked, it must be unchanged since it was read, or it must also have been read."""


class Freshness:
    """Judges versions of files against what a session has seen of them."""

    def __init__(self, records: SeenVersions, guard: EditGuard) -> None:
        self._records = records
        self._guard = guard

    def check_seen(self, path: str, now: Version) -> None:
        """Raise ToolError if a file may not be edited before it is read (again)."""
        if self._guard == "seen" and self._records.get(path).version is None:
            raise ToolError(
                ErrorCode.CONFLICT,
                f"{path!r} must be read first: call `read`, then change what you saw.",
                suggest=(Suggestion("read", {"path": path}),),
            )
        self.check(path, now)

    def check(self, path: str, now: Version) -> None:
        """Raise ToolError if a file that was read is another one by now."""
        known = self._records.get(path).version
        if self._guard == "none" or known is None or known.stamp == now.stamp:
            return
        if known.digest is None or known.digest != now.digest:
            raise modified_error(path)


def modified_error(path: str) -> ToolError:
    """The error for a file that others have changed."""
    return ToolError(
        ErrorCode.CONFLICT,
        f"{path!r} was modified since it was last read. Call `read` again and redo the change.",
        suggest=(Suggestion("read", {"path": path}),),
    )
