"""Read files and make their facts; parse those whose language is known."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolroll.host.files.versions import Stamp, digest
from toolroll.result import ErrorCode, ToolError
from toolroll.text.code.map.file_facts import EMPTY, FORMAT, FileFacts, make_facts, pack, wants
from toolroll.text.code.syntax import languages
from toolroll.text.code.syntax.language import MAX_SOURCE_BYTES
from toolroll.text.encoding import as_utf8
from toolroll.text.ranking.weights import ASIDE, find_aside

if TYPE_CHECKING:
    from toolroll.host.code.parser_pool import ParserPool
    from toolroll.host.files.reader import FileReader
    from toolroll.host.runtime.cancellation import CancelToken

NO_TEXT = b""  # the key of a file that is not text and has no facts
BY_PATH = b"path"  # the key of a file that is known by its path alone

_MAX_HERE = 4  # plain texts that are not worth the start of a parser
_ENDING = frozenset({ErrorCode.CANCELLED, ErrorCode.TIMEOUT})


@dataclass(slots=True)
class SourceFile:
    """A file as it was read."""

    path: str
    stamp: Stamp | None
    """Its stamp before reading; None if it is too recent to show the next change."""
    key: bytes
    language: str = ""
    """Name of its language if it is parsed; else empty."""
    source: bytes = b""
    facts: FileFacts | None = None
    packed: bytes = b""
    lasting: bool = True
    """False if the same content may give other facts another time."""


class FactReader:
    """Makes the facts of the files of one workspace."""

    def __init__(self, files: FileReader, parsers: ParserPool) -> None:
        self._files = files
        self._parsers = parsers

    def read(self, path: str, stamp: Stamp | None) -> SourceFile | None:
        """A file with its key; None if it cannot be read."""
        row = find_aside(path)
        if row is not None and not ASIDE[row].contents:
            return SourceFile(path, stamp, BY_PATH, facts=EMPTY)
        try:
            data = self._files.data(path, MAX_SOURCE_BYTES)
        except ToolError as error:
            if error.code in _ENDING:
                raise
            return SourceFile(path, stamp, BY_PATH, facts=EMPTY) if error.code == ErrorCode.TOO_LARGE else None
        except OSError:
            return None
        try:
            source = as_utf8(data)
        except ToolError:
            return SourceFile(path, stamp, NO_TEXT)
        language = languages.detect(path, data)
        name = language.name if language is not None else ""
        return SourceFile(path, stamp, _key(name, data), name if name and wants(name) else "", source)

    def fill(self, copies: Sequence[SourceFile], deadline: float, token: CancelToken | None) -> None:
        """Make missing facts, until the deadline."""

        def some(chosen: Sequence[SourceFile]) -> None:
            if time.monotonic() < deadline:
                self._fill(chosen, token)

        for _ in self._parsers.spread(some, copies):
            pass

    def _fill(self, copies: Sequence[SourceFile], token: CancelToken | None) -> None:
        import msgspec

        if any(copy.language for copy in copies) or len(copies) > _MAX_HERE:
            packed = self._parsers.every_facts([(copy.language, copy.source) for copy in copies], token)
        else:
            packed = [_text_facts(copy.source) for copy in copies]  # not worth a child
        decoder = msgspec.msgpack.Decoder(FileFacts)
        for copy, made in zip(copies, packed, strict=True):
            # The grammar is missing here, or the source is too hard to parse: this may change.
            copy.lasting = not isinstance(made, Exception)
            copy.packed = _text_facts(copy.source) if isinstance(made, Exception) else made
            copy.facts = decoder.decode(copy.packed)
            copy.source = b""


def _text_facts(source: bytes) -> bytes:
    return pack(make_facts(source.decode(), None))


def _key(language: str, data: bytes) -> bytes:
    return digest(b"%d %s\n%s" % (FORMAT, language.encode(), data))
