"""In-process engine for small sets of files; same results as ripgrep, without starting a program.

It takes only queries and files for which both are sure to agree, and leaves the others to another engine. Also
classifies files for all engines: text, binary, too big.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from toolroll.text.search import patterns

if TYPE_CHECKING:
    from toolroll.host.search.query import Candidates, Engine, Hit, Query, Scope, SearchRoot

MAX_FILES = 256
"""Files that are searched faster here than by a program that has to be started."""
MAX_FIRST_FILES = 2_000
"""The same before the first start of ripgrep, when its sandbox has to be chosen and tried out."""
FileKind = Literal["text", "binary", "too big", "unreadable", "gone"]
SEARCHABLE: tuple[FileKind, ...] = ("text", "unreadable")
"""Kinds that can be named to ripgrep: it takes all files for text, and counts those that it cannot read."""
FOLDING_SIGNS = ("\u017f".encode(), "\u212a".encode())
"""The long s and the Kelvin sign: ignoring case, they match "s" and "k", though the text does not hold those."""

_MAX_FILE_BYTES = 1_000_000  # in a larger file ripgrep is faster, its start included
_FILES_PER_CHECK = 16  # files between two looks at the clock
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_UTF8 = b"\xef\xbb\xbf"
_BLOCK = 1 << 20
_OUT_OF_RESOURCES = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)  # which says nothing about the file

Seek = Callable[[int], int]
"""Where in a text the next match starts, from an offset on; -1 if there is none."""
Finder = Callable[[bytes], Seek | None]
"""Makes the `Seek` of a text; None if ripgrep must search that text."""


class LineMatcher:
    """A query, compiled for texts in memory."""

    def __init__(self, query: Query, finder: Finder) -> None:
        self._before, self._after = query.before, query.after
        self._finder = finder

    def rows(self, data: bytes, max_matches: int | None) -> Iterator[tuple[int, int, bytes]] | None:
        """Line, column and bytes of matching lines and their context; None if ripgrep must search this text."""
        seek = None if _has_lone_cr(data) else self._finder(data)
        if seek is None:
            return None
        first = seek(0)
        return iter(()) if first < 0 else self._rows(data, seek, first, max_matches)

    def count(self, data: bytes) -> int | None:
        """Number of matching lines; None if ripgrep must search this text."""
        seek = self._finder(data)
        return None if seek is None else sum(1 for _ in _lines(data, seek, seek(0)))

    def _rows(self, data: bytes, seek: Seek, first: int, max_matches: int | None) -> Iterator[tuple[int, int, bytes]]:
        found = islice(_lines(data, seek, first), max_matches)
        if not self._before and not self._after:
            for line, column, begin, end in found:
                yield line, column, data[begin:end]
            return
        yield from with_context(data, {line: column for line, column, _, _ in found}, self._before, self._after)


def with_context(data: bytes, columns: Mapping[int, int], before: int, after: int) -> Iterator[tuple[int, int, bytes]]:
    """Line, column and bytes of the matching lines, given by line and column, and of those around them."""
    lines, shown = data.removesuffix(b"\n").split(b"\n"), 0
    for line in columns:
        start = max(shown + 1, line - before)
        shown = max(shown, min(len(lines), line + after))
        for number in range(start, shown + 1):
            yield number, columns.get(number, 0), lines[number - 1]


class InProcess:
    """Engine for few named files. Leaves to the `fallback` what it cannot match."""

    def __init__(self, matcher: LineMatcher, fallback: Callable[[], Engine], max_bytes: int) -> None:
        """Files of more than `max_bytes` are left too. `fallback` is called only if something is left."""
        self._matcher = matcher
        self._fallback = fallback
        self._max_bytes = max_bytes

    def rows(
        self,
        root: SearchRoot,
        query: Query,
        scope: Scope,
        candidates: Candidates | None = None,
        stop_after: int | None = None,
    ) -> Generator[Hit, None, None]:
        """As `Engine` has it; begins no file after `stop_after` matching lines."""
        left: list[str] = []
        found = 0
        for number, path in enumerate(candidates.files if candidates is not None else ()):
            if stop_after is not None and found >= stop_after:
                break
            if number % _FILES_PER_CHECK == 0:
                root.check()
            data = read_text(root, path, self._max_bytes)
            if data is not None and b"\0" in data:
                if candidates is not None and candidates.skipped is not None:
                    candidates.skipped.binary.append(path)
                continue
            rows = None if data is None else self._matcher.rows(data, stop_after)
            if rows is None:
                left.append(path)
                continue
            for line, column, raw in rows:
                found += column > 0
                yield path, line, column, raw
        if candidates is None or left:
            rest = None if candidates is None else replace(candidates, files=left)
            yield from self._fallback().rows(root, query, scope, rest, stop_after)


def compile_matcher(query: Query) -> LineMatcher | None:
    """The matcher for a query; None if only ripgrep can search for it."""
    prepared = patterns.prepare(query.pattern, literal=query.literal, multiline=query.multiline)
    if query.whole_word or prepared.multiline or prepared.sees_cr or "\0" in query.pattern:
        return None
    if query.literal or patterns.is_literal(query.pattern):
        is_simple = query.pattern.isascii() or not query.ignore_case
        return LineMatcher(query, _literal(query.pattern.encode(), query.ignore_case)) if is_simple else None
    finder = _regex(query.pattern, query.ignore_case) if patterns.is_common(query.pattern) else None
    return None if finder is None else LineMatcher(query, finder)


def read_text(root: SearchRoot, path: str, max_bytes: int) -> bytes | None:
    """The content of a file, as ripgrep reads it; None if it is larger than `max_bytes`, or ripgrep must read it."""
    try:
        fd = root.open(path)
    except OSError:
        return None
    try:
        about = os.fstat(fd)
        if not stat.S_ISREG(about.st_mode) or about.st_size > min(max_bytes, _MAX_FILE_BYTES):
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
        if fold and not data.isascii() and any(sign in data for sign in FOLDING_SIGNS):
            return None
        where = data.lower() if fold else data
        return lambda at: where.find(word, at)

    return finder


def _regex(pattern: str, fold: bool) -> Finder | None:
    exact, widest = _compile(patterns.exact(pattern), fold), _compile(patterns.widest(pattern), fold, in_bytes=True)
    if exact is None or widest is None:
        return None  # if the pattern is wrong, ripgrep says why

    def may_match(data: bytes) -> bool:
        """Whether a line with letters beyond ASCII can match."""
        if fold and any(sign in data for sign in FOLDING_SIGNS):
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


def _compile(pattern: str, fold: bool, *, in_bytes: bool = False) -> Any:
    try:
        import re2
    except ImportError:  # then ripgrep searches
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
    """Each matching line, the first match `at` an offset: number, byte of its first match from 1, start, end."""
    line, begin = 1, 0
    while at >= 0:
        before, begin = begin, data.rfind(b"\n", begin, at) + 1 or begin
        if begin == len(data):
            return  # no line follows the last line end
        line += data.count(b"\n", before, begin)
        end = data.find(b"\n", at)
        if end < 0:
            yield line, at - begin + 1, begin, len(data)
            return
        yield line, at - begin + 1, begin, end
        at = seek(end + 1)


def classify_file(root: SearchRoot, path: str, max_bytes: int) -> FileKind:
    """The kind of a file, by its path in the searched folder; "gone" if that leads out of it. Notes its age."""
    try:
        fd = root.open(path)
    except PermissionError:
        return "unreadable"
    except OSError as error:
        if error.errno in _OUT_OF_RESOURCES:
            raise
        return "gone"
    try:
        about = os.fstat(fd)
        root.ages[path] = -about.st_mtime_ns
        if about.st_size > max_bytes:
            return "too big"
        return "binary" if is_binary(fd, about.st_size) else "text"
    except OSError:
        return "unreadable"
    finally:
        os.close(fd)


def is_text(root: SearchRoot, path: str, max_bytes: int) -> bool:
    """Whether a file can be named to ripgrep."""
    return classify_file(root, path, max_bytes) in SEARCHABLE


def is_binary(fd: int, size: int = _BLOCK) -> bool:
    """Whether a file holds a NUL character, in UTF-16 too; `size` bytes are likely to be all of it."""
    step = size + 2 - size % 2 if size < _BLOCK else _BLOCK
    at, block = 0, os.pread(fd, step, 0)
    if b"\0" not in block and len(block) < step:  # nearly all
        return False
    wide = block.startswith((b"\xff\xfe", b"\xfe\xff"))
    while block:
        if b"\0" in block and (not wide or _has_wide_nul(block)):
            return True
        at += len(block)
        block = os.pread(fd, _BLOCK, at)
    return False


def _has_wide_nul(block: bytes) -> bool:
    return 0 in memoryview(block)[: len(block) & ~1].cast("H")
