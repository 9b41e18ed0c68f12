"""A look into few files in this process: what ripgrep would find in them, without starting it.

It is only for queries and files of which both are sure to tell the same; all else is left to ripgrep.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from toolroll.text.search import patterns

if TYPE_CHECKING:
    from toolroll.host.search.query import Ground, Hit, Query

FEW = 256
"""Files that are quicker looked at here than by a program that has to be started."""
SIGNS = ("\u017f".encode(), "\u212a".encode())
"""The long s and the Kelvin sign: to those who ignore case a text with them matches without holding the letter."""

_MOST_BYTES = 1_000_000  # of a file; in a larger one ripgrep is quicker, with its start
_UNCHECKED = 16  # files that may be looked into before the clock is
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_UTF8 = b"\xef\xbb\xbf"

Seek = Callable[[int], int]
"""Where in a text the next match starts, from a place on; -1 if there is none."""
Finder = Callable[[bytes], Seek | None]
"""Gives the way to seek in a text; None if the text is one for ripgrep."""


class Glance:
    """A query made ready for looks into files."""

    def __init__(self, query: Query, finder: Finder) -> None:
        self._before, self._after = query.before, query.after
        self._finder = finder
        self.looked = 0
        """How many files were looked into."""
        self.binary: list[str] = []
        """Those of them that are binary."""
        self.big = 0
        """How many of them are too big to be searched."""
        self.most_bytes = _MOST_BYTES
        """Of a file; a larger one is not looked into here."""

    def rows(
        self, ground: Ground, paths: Iterable[str], left: list[str], most: int, enough: int | None = None
    ) -> Iterator[Hit]:
        """The rows of some files, of each up to `most` matching lines. What is for ripgrep is added to `left`.

        No file is begun after `enough` matching lines.
        """
        found = 0
        for path in paths:
            if enough is not None and found >= enough:
                return
            if self.looked % _UNCHECKED == 0:
                ground.check()
            self.looked += 1
            data = text(ground, path, self.most_bytes)
            if data is not None and b"\0" in data:
                self.binary.append(path)
                continue
            seek = None if data is None or _has_lone_cr(data) else self._finder(data)
            if data is None or seek is None:
                left.append(path)
            elif (first := seek(0)) >= 0:
                for line, column, raw in self._shown(data, seek, first, most):
                    found += column > 0
                    yield path, line, column, raw

    def count(self, data: bytes) -> int | None:
        """How many lines of a text match; None if ripgrep must tell."""
        seek = self._finder(data)
        return None if seek is None else sum(1 for _ in _lines(data, seek, seek(0)))

    def _shown(self, data: bytes, seek: Seek, first: int, most: int) -> Iterator[tuple[int, int, bytes]]:
        """The matching lines and those around them, from the first match on."""
        found = islice(_lines(data, seek, first), most)
        if not self._before and not self._after:
            for line, column, begin, end in found:
                yield line, column, data[begin:end]
        else:
            lines, shown = data.removesuffix(b"\n").split(b"\n"), 0
            columns = {line: column for line, column, _, _ in found}
            for line in columns:
                first = max(shown + 1, line - self._before)
                shown = max(shown, min(len(lines), line + self._after))
                for number in range(first, shown + 1):
                    yield number, columns.get(number, 0), lines[number - 1]


def glance(query: Query) -> Glance | None:
    """The look for a query; None if it is one for ripgrep alone."""
    prepared = patterns.prepare(query.pattern, literal=query.literal, multiline=query.multiline)
    if query.whole_word or prepared.multiline or prepared.sees_cr or "\0" in query.pattern:
        return None
    if query.literal or patterns.is_literal(query.pattern):
        is_simple = query.pattern.isascii() or not query.ignore_case
        return Glance(query, _literal(query.pattern.encode(), query.ignore_case)) if is_simple else None
    finder = _regex(query.pattern, query.ignore_case) if patterns.is_common(query.pattern) else None
    return None if finder is None else Glance(query, finder)


def text(ground: Ground, path: str, most: int = _MOST_BYTES) -> bytes | None:
    """What a file holds, as ripgrep reads it; None if it has more bytes than `most`, or is not to be had here."""
    try:
        fd = ground.open(path)
    except OSError:
        return None
    try:
        about = os.fstat(fd)
        if not stat.S_ISREG(about.st_mode) or about.st_size > min(most, _MOST_BYTES):
            return None
        data = os.read(fd, about.st_size + 1)
    except OSError:
        return None
    finally:
        os.close(fd)
    if len(data) != about.st_size or data.startswith(_UTF16):
        return None
    return data.removeprefix(_UTF8)


def _has_lone_cr(data: bytes) -> bool:
    return b"\r" in data and data.count(b"\r") != data.count(b"\r\n")


def _literal(word: bytes, fold: bool) -> Finder:
    word = word.lower() if fold else word

    def finder(data: bytes) -> Seek | None:
        if fold and not data.isascii() and any(sign in data for sign in SIGNS):
            return None
        where = data.lower() if fold else data
        return lambda at: where.find(word, at)

    return finder


def _regex(pattern: str, fold: bool) -> Finder | None:
    exact, widest = _compiled(patterns.exact(pattern), fold), _compiled(patterns.widest(pattern), fold, in_bytes=True)
    if exact is None or widest is None:
        return None  # ripgrep tells what is wrong, if it thinks so too

    def may_match(data: bytes) -> bool:
        """Whether a line with letters of other languages can match."""
        if fold and any(sign in data for sign in SIGNS):
            return True
        end = -1
        while found := widest.search(data, end + 1):
            begin, end = data.rfind(b"\n", 0, found.start()) + 1, data.find(b"\n", found.start())
            if not data[begin : end if end >= 0 else None].isascii():
                return True
            if end < 0:
                break
        return False

    def seek(data: bytes, at: int) -> int:
        found = exact.search(data, at)
        return -1 if found is None else found.start()

    def finder(data: bytes) -> Seek | None:
        if b"\r" in data or (not data.isascii() and may_match(data)):
            return None
        return lambda at: seek(data, at)

    return finder


def _compiled(pattern: str, fold: bool, *, in_bytes: bool = False) -> Any:
    try:
        import re2
    except ImportError:  # then ripgrep looks for it
        return None

    source, options = f"(?m){pattern}", re2.Options()
    options.never_nl = True
    options.case_sensitive = not fold
    options.log_errors = False
    if in_bytes:
        options.encoding = re2.Options.Encoding.LATIN1
    try:
        return re2.compile(source.encode() if in_bytes else source, options)
    except re2.error:
        return None


def _lines(data: bytes, seek: Seek, at: int) -> Iterator[tuple[int, int, int, int]]:
    """Each line that matches, the first one `at` a place: its number, the byte from 1 where its first match starts,
    and where it begins and ends.
    """
    line, begin = 1, 0
    while at >= 0:
        before, begin = begin, data.rfind(b"\n", begin, at) + 1 or begin
        if begin == len(data):
            return  # after the last line end there is no line
        line += data.count(b"\n", before, begin)
        end = data.find(b"\n", at)
        if end < 0:
            yield line, at - begin + 1, begin, len(data)
            return
        yield line, at - begin + 1, begin, end
        at = seek(end + 1)
