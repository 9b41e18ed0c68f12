"""From a file to its sheet: read, told by its content, parsed if its language is known."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolroll.host.records import digest
from toolroll.host.sheets import Stamp
from toolroll.result import ErrorCode, ToolError
from toolroll.text.encoding import HEAD, detect
from toolroll.text.rank import sheet
from toolroll.text.rank.sheet import EMPTY, FORMAT, Sheet
from toolroll.text.rank.weights import ASIDE, aside
from toolroll.text.structure import languages
from toolroll.text.structure.languages import MOST_BYTES

if TYPE_CHECKING:
    from toolroll.host.reader import Reader
    from toolroll.host.structure import Structure
    from toolroll.host.token import Token
    from toolroll.text.structure.model import Tags

NO_TEXT = b""
"""The key of a file that is no text: it has no sheet."""
BY_PATH = b"path"
"""The key of a file that is known by its path alone."""

_FEW = 4  # files that are not worth threads
_ENDING = frozenset({ErrorCode.CANCELLED, ErrorCode.TIMEOUT})


@dataclass(slots=True)
class Copy:
    """A file as it was read."""

    path: str
    stamp: Stamp | None
    """Its state before that; None if that could not tell its next change."""
    key: bytes
    language: str = ""
    text: str = ""
    sheet: Sheet | None = None
    lasting: bool = True
    """False if another time may give another sheet for the same content."""


class Surveyor:
    """Makes the sheets of the files of one workspace."""

    def __init__(self, files: Reader, structure: Structure) -> None:
        self._files = files
        self._structure = structure

    def read(self, path: str, stamp: Stamp | None) -> Copy | None:
        """A file with its key; None if it cannot be read."""
        row = aside(path)
        if row is not None and not ASIDE[row].contents:
            return Copy(path, stamp, BY_PATH, sheet=EMPTY)
        try:
            data = self._files.data(path, MOST_BYTES)
        except ToolError as error:
            if error.code in _ENDING:
                raise
            return Copy(path, stamp, BY_PATH, sheet=EMPTY) if error.code == ErrorCode.TOO_LARGE else None
        except OSError:
            return None
        text = _text(data)
        if text is None:
            return Copy(path, stamp, NO_TEXT)
        language = languages.of(path, data)
        name = language.name if language is not None else ""
        return Copy(path, stamp, _key(name, data), name, text)

    def fill(self, copies: Sequence[Copy], deadline: float, token: Token | None) -> None:
        """Make the sheets of copies that have none, as far as there is time."""

        def one(copy: Copy) -> None:
            if time.monotonic() < deadline:
                self._fill(copy, token)

        if len(copies) <= _FEW:
            for copy in copies:
                one(copy)
            return
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(max(1, min(4, os.cpu_count() or 1))) as pool:
            try:
                for _ in pool.map(one, copies):
                    pass
            finally:
                pool.shutdown(cancel_futures=True)  # when one of them raised, nobody wants the others

    def _fill(self, copy: Copy, token: Token | None) -> None:
        tags = self._tags(copy, token) if copy.language and sheet.wants(copy.language) else None
        copy.sheet = sheet.made(copy.text, tags)
        copy.text = ""

    def _tags(self, copy: Copy, token: Token | None) -> Tags | None:
        """The tags of a copy; None if its language has no grammar here, or it is too hard to parse."""
        try:
            tags = self._structure.tags_of(copy.path, token)
            # They are of the file as it is now; only the same content makes them those of the copy.
            again = self.read(copy.path, None)
        except ToolError as error:
            if error.code in _ENDING:
                raise
            tags, again = None, None
            copy.lasting = False
        except OSError:
            tags, again = None, None
        if again is None or again.key != copy.key:
            copy.lasting = False
            copy.stamp = copy.stamp if tags is None else None
        return tags


def _key(language: str, data: bytes) -> bytes:
    return digest(b"%d %s\n%s" % (FORMAT, language.encode(), data))


def _text(data: bytes) -> str | None:
    """The text of a file, whatever it is written in; None if it is none."""
    try:
        encoding = detect(data[:HEAD])
    except ToolError:
        return None
    try:
        return data[len(encoding.bom) :].decode(encoding.codec)
    except UnicodeDecodeError:
        return data.decode("latin-1")
