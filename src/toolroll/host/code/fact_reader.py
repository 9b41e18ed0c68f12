"""From a file to its sheet: read, told by its content, parsed if its language is known."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolroll.host.code.fact_store import Stamp
from toolroll.host.files.versions import digest
from toolroll.result import ErrorCode, ToolError
from toolroll.text.code.map import file_facts as sheet
from toolroll.text.code.map.file_facts import EMPTY, FORMAT, Sheet
from toolroll.text.code.syntax import languages
from toolroll.text.code.syntax.languages import MOST_BYTES
from toolroll.text.encoding import HEAD, detect
from toolroll.text.ranking.weights import ASIDE, aside

if TYPE_CHECKING:
    from toolroll.host.code.parser_pool import Parsers
    from toolroll.host.files.reader import FileReader
    from toolroll.host.runtime.cancellation import Token

NO_TEXT = b""
"""The key of a file that is no text: it has no sheet."""
BY_PATH = b"path"
"""The key of a file that is known by its path alone."""

_FEW = 4  # texts that are not worth starting one
_ENDING = frozenset({ErrorCode.CANCELLED, ErrorCode.TIMEOUT})


@dataclass(slots=True)
class Copy:
    """A file as it was read."""

    path: str
    stamp: Stamp | None
    """Its state before that; None if that could not tell its next change."""
    key: bytes
    language: str = ""
    """Of those that are parsed; else empty."""
    source: bytes = b""
    """Its text, in UTF-8."""
    sheet: Sheet | None = None
    packed: bytes = b""
    """The sheet, as it is kept."""
    lasting: bool = True
    """False if another time may give another sheet for the same content."""


class Surveyor:
    """Makes the sheets of the files of one workspace."""

    def __init__(self, files: FileReader, parsers: Parsers) -> None:
        self._files = files
        self._parsers = parsers

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
        source = _utf8(data)
        if source is None:
            return Copy(path, stamp, NO_TEXT)
        language = languages.of(path, data)
        name = language.name if language is not None else ""
        return Copy(path, stamp, _key(name, data), name if name and sheet.wants(name) else "", source)

    def fill(self, copies: Sequence[Copy], deadline: float, token: Token | None) -> None:
        """Make the sheets of copies that have none, as far as there is time."""

        def some(chosen: Sequence[Copy]) -> None:
            if time.monotonic() < deadline:
                self._fill(chosen, token)

        for _ in self._parsers.spread(some, copies):
            pass

    def _fill(self, copies: Sequence[Copy], token: Token | None) -> None:
        import msgspec

        if any(copy.language for copy in copies) or len(copies) > _FEW:
            packed = self._parsers.every_sheet([(copy.language, copy.source) for copy in copies], token)
        else:
            packed = [_as_text(copy.source) for copy in copies]  # not worth a child
        decoder = msgspec.msgpack.Decoder(Sheet)
        for copy, made in zip(copies, packed, strict=True):
            # A language without a grammar here, or a source that is too hard to parse: another time it may be neither.
            copy.lasting = not isinstance(made, Exception)
            copy.packed = _as_text(copy.source) if isinstance(made, Exception) else made
            copy.sheet = decoder.decode(copy.packed)
            copy.source = b""


def _as_text(source: bytes) -> bytes:
    """The packed sheet of a text that is not parsed."""
    import msgspec

    return msgspec.msgpack.encode(sheet.made(source.decode(), None))


def _key(language: str, data: bytes) -> bytes:
    return digest(b"%d %s\n%s" % (FORMAT, language.encode(), data))


def _utf8(data: bytes) -> bytes | None:
    """The text of a file, whatever it is written in, without a mark; None if it is none."""
    try:
        encoding = detect(data[:HEAD])
    except ToolError:
        return None
    try:
        text = data[len(encoding.bom) :].decode(encoding.codec)
    except UnicodeDecodeError:
        return data.decode("latin-1").encode()
    return data if encoding.codec == "utf-8" and not encoding.bom else text.encode()
