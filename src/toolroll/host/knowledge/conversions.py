"""Convert documents that are not text for the library, if they are new."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from toolroll.host.convert import limits
from toolroll.host.convert.failure_cache import FailureCache
from toolroll.host.convert.formats import Format
from toolroll.host.files.versions import digest
from toolroll.result import ErrorCode, ToolError
from toolroll.text.knowledge import chunks
from toolroll.text.knowledge.chunks import Chunk
from toolroll.text.knowledge.passages import LibraryDocument

if TYPE_CHECKING:
    from toolroll.host.convert.converter import Converter
    from toolroll.host.files.workspace import Workspace
    from toolroll.host.runtime.cancellation import CancelToken
    from toolroll.host.runtime.state import State

MAX_CONVERSION_SECONDS = 240.0  # after which no more documents of a folder are converted in one call

_CUTS = {"pdf": chunks.split_text, "image": chunks.split_text, "audio": chunks.split_text, "sheet": chunks.split_table}


class TimeBudgetError(Exception):
    """The time for converting documents of a folder is used up: this one is for another call."""


class Conversions:
    """The conversions of one call. `remarks` collects what was left out, or may be wrong."""

    def __init__(self, converter: Converter, state: State, token: CancelToken) -> None:
        self._converter = converter
        self._spent = 0.0
        self._unreadable = FailureCache(state, token)
        self.remarks: list[str] = []

    def load(
        self, files: Workspace, path: str, format: Format, *, one_of_many: bool
    ) -> tuple[LibraryDocument, Callable[[], list[Chunk]]]:
        """A file as a document, and what converts and cuts it."""
        data = files.data(path, limits.BYTES)
        source = "/".join(files.key(path))
        if not data:
            raise ToolError(ErrorCode.VALIDATION, f"{source!r} is empty: there is nothing to add.")
        document = LibraryDocument("file", source, format.form, digest(data).hex(), len(data))
        return document, lambda: self._cut(data, document, format, one_of_many)

    def _cut(self, data: bytes, document: LibraryDocument, format: Format, one_of_many: bool) -> list[Chunk]:
        source, known_by = document.source, document.digest
        if one_of_many:  # a file that was named itself is tried again
            self._unreadable.check(known_by, format.reader, source)
            if self._spent > MAX_CONVERSION_SECONDS:
                raise TimeBudgetError
        began = time.monotonic()
        try:
            converter = self._converter.without_progress() if one_of_many else self._converter
            found = converter.convert(data, source, format)
        except ToolError as error:
            self._unreadable.keep(known_by, format.reader, error)
            raise
        finally:
            self._spent += time.monotonic() - began
        self.remarks += [f"{source}: {note}" for note in found.notes]
        return chunks.split_parts(found.parts, _CUTS.get(format.form, chunks.split_markdown))
