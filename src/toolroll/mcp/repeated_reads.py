"""Notice when a client reads again what it has been sent, so that it is not sent twice.

The note is true for every model of the client, also for one that has not seen the lines or has lost them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from toolroll.result import Result

_MIN_CHARS = 400  # of a shorter text, the note would save little
_MAX_READS = 50  # what was read before them may be gone from a model's context
_NOTE = "[Unchanged since it was last sent: {path!r}, the same lines. Ask once more to get them again.]"


class RepeatedReads:
    """The reads of one client: the same lines are sent again only when they have changed, or were asked for twice."""

    def __init__(self) -> None:
        self._shown: dict[bytes, int] = {}

    def replace_text(self, arguments: Mapping[str, Any], result: Result) -> None:
        """Put a note in place of the text if the read before this one of the same lines showed the same."""
        if not result.ok or result.images or len(result.text) < _MIN_CHARS:
            return
        asked = msgspec.json.encode({name: one for name, one in arguments.items() if name != "force"}, order="sorted")
        before = self._shown.pop(asked, None)
        if before == hash(result.text) and not arguments.get("force"):
            result.text = _NOTE.format(path=arguments.get("path"))
            return  # and forgotten: a model that asks once more needs it
        self._shown[asked] = hash(result.text)
        if len(self._shown) > _MAX_READS:
            del self._shown[next(iter(self._shown))]

    def clear(self) -> None:
        """Forget all: the workspace is another one."""
        self._shown.clear()
