"""The search engine ripgrep: how it is run, and what comes of that."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal

from toolroll.host.runtime import processes
from toolroll.host.runtime.launcher import DEVNULL, PIPE, AccessRules, Launcher
from toolroll.host.runtime.state import nameless
from toolroll.host.search.arguments import Wants, named_args, query_args, row_args, scope_args, wanter
from toolroll.host.search.query import AGAIN, Ground, Hit, Query, Scope
from toolroll.host.search.ripgrep_output import SEARCHED, in_one, read_counts, read_rows, started_once
from toolroll.host.search.text_files import sort_of
from toolroll.policy.limits import Limits
from toolroll.result import ErrorCode, ToolError
from toolroll.text.search import patterns

_BASE = ("--no-config", "--color=never", "--no-ignore-messages")
_COUNTS = ("--count", "--include-zero", "--with-filename", "--null")
_PATIENCE = 5.0  # seconds for a swift search
_MEMORY = 1 << 30  # bytes for one, address space included: a line takes as much as it is long

# For a ripgrep that is linked to the libraries of the system; the wheel's is not.
LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/nix/store", "/gnu/store")

_LOGGED = re.compile(rb"(?m)^rg: DEBUG\|.*\n?")
_NO_TEXT = re.compile(r"[\udc80-\udcff]")  # bytes that are not UTF-8, after which it would not read on
_OS_ERROR = re.compile(rb"(?m)^rg: .*\(os error \d+\)\n?")

SortOf = Callable[[str], str]
"""What sort of file matches: rows are shown of "text"."""


class HeavyError(Exception):
    """There is something in the tree that a swift search takes too long for, or too much memory."""


class Ripgrep:
    """The engine "ripgrep" (see `query.Engine`)."""

    name: Literal["ripgrep"] = "ripgrep"

    def __init__(self, program: str, limits: Limits, launcher: Launcher, reach: AccessRules) -> None:
        """It reads what is in its `reach` and nothing else: a file may become a link while it runs."""
        self._program = program
        self._limits = limits
        self._launcher = launcher
        self._reach = replace(reach, read=(*reach.read, program, *LIBRARIES), system=False)
        self._version: bytes | None = None
        self._heavy: set[tuple[str, ...]] = set()

    def rows(
        self, ground: Ground, query: Query, scope: Scope, only: Sequence[str] | None = None, most: int | None = None
    ) -> Generator[Hit, None, None]:
        """As `query.Engine` has it. `only` are all files to look at, of which none is binary or out of scope.

        Of each of them, `most` matching lines are enough; of all files PlentyError may tell that there are more.
        """
        if only is not None:
            yield from self._read(ground, query, scope, named_args(only, most), _text, only=only)
        elif ground.is_file:
            if not _is_binary(ground):
                yield from self._read(ground, query, scope, [], _text)
        elif "--multiline" in query_args(query) or ground.parts in self._heavy or not processes.BOUNDED:
            yield from self._careful(ground, query, scope)
        else:
            try:
                yield from self._swift(ground, query, scope, None if query.before or query.after else most)
            except HeavyError:
                self._heavy.add(ground.parts)
                ground.passed.clear()
                ground.binary = 0
                yield "", AGAIN, 0, b""
                yield from self._careful(ground, query, scope)

    def _swift(self, ground: Ground, query: Query, scope: Scope, most: int | None) -> Generator[Hit, None, None]:
        """All files are searched as if they were text and small; those that match are looked at for what they are.

        So nobody has to tell how large each file is, and after an empty answer nobody has to look at binary files.
        HeavyError if one of them turns out to be a burden.
        """
        where, rest = scope_args(scope)
        wants, max_bytes = wanter(scope, rest), self._limits.search_bytes

        def sort(path: str) -> str:
            return sort_of(ground, path, max_bytes) if wants(path) else "unwanted"

        try:
            yield from self._read(ground, query, scope, ["--text", *where], sort, swift=True, most=most)
        except TimeoutError:
            if time.monotonic() >= ground.deadline:
                raise
            raise HeavyError from None

    def _careful(self, ground: Ground, query: Query, scope: Scope) -> Generator[Hit, None, None]:
        """No file is searched that is too big, and of a binary one no more than up to what shows that."""
        where, wants = self._where(ground, scope)
        yield from self._read(ground, query, scope, where, lambda path: "text" if wants(path) else "unwanted")

    def _read(
        self,
        ground: Ground,
        query: Query,
        scope: Scope,
        where: list[str],
        sort_of: SortOf,
        *,
        only: Sequence[str] | None = None,
        swift: bool = False,
        most: int | None = None,
    ) -> Generator[Hit, None, None]:
        """The rows of text files that one run writes. What else it came by is told in `ground`."""
        args = row_args(query)
        with _log(wanted=only is None and _tells(ground, scope)) as log:
            args += [*where, *([] if log is None else ["--debug", "--stats"])]
            with self._run(ground, scope, args, only, log, swift=swift) as chunks:
                rows = read_rows(chunks if most is None else in_one(chunks, most))
                rows = started_once(rows) if "--multiline" in args else rows
                searched = yield from _shown(rows, ground, sort_of)
                if swift and chunks.status not in (0, 1, 2):
                    raise HeavyError
                _finish(chunks, ground, query.pattern, log)
            shows = ground.passed["text"] or ground.passed["unwanted"]
            if log is not None and searched is not None and not shows and not chunks.cut:
                ground.searched, ground.log = searched, _whole(log)

    def counts(
        self, ground: Ground, query: Query, scope: Scope, *, binary: bool = False, only: Sequence[str] | None = None
    ) -> Generator[tuple[str, int], None, None]:
        """As `query.Engine` has it. `only` are files and folders to look at, and into."""
        if ground.is_file and not binary and _is_binary(ground):
            return
        form = [*_COUNTS, "--text"] if binary else _COUNTS
        where, wants = self._where(ground, scope)
        wants = wants if only is None else scope.filter().wants  # what is named is searched whatever the rest says
        with self._run(ground, scope, [*form, *query_args(query), *where], only) as chunks:
            for name, count in read_counts(chunks):
                path = "" if ground.is_file else _path(name)
                if wants(path):
                    yield path, count
            if (chunks.status or 0) < 0:  # it had no more memory: what is left is not counted
                raise TimeoutError
            _finish(chunks, ground, query.pattern)

    def tells(self, ground: Ground) -> bool:
        """Whether what this program logs is known to us (see `told`)."""
        if self._version is None:
            process = self._launcher.start([self._program, "--version"], self._reach, cwd=ground.folder, stdout=PIPE)
            with processes.stream(process, token=ground.token, deadline=ground.deadline) as chunks:
                self._version = b"".join(chunks)
        return self._version.startswith(b"ripgrep 15.")

    def _where(self, ground: Ground, scope: Scope) -> tuple[list[str], Wants]:
        if ground.is_file:
            return [], _all
        args, rest = scope_args(scope)
        return [*args, f"--max-filesize={self._limits.search_bytes}"], wanter(scope, rest)

    @contextmanager
    def _run(
        self,
        ground: Ground,
        scope: Scope,
        args: Sequence[str],
        only: Sequence[str] | None = None,
        log: int | None = None,
        *,
        swift: bool = False,
    ) -> Iterator[processes.Stream]:
        with _rules_file([] if scope.ignored or ground.is_file or only is not None else ground.rules) as rules:
            above = [] if rules is None else [f"--ignore-file=/dev/fd/{rules}"]
            stdin = DEVNULL
            if ground.is_file:
                os.lseek(ground.fd, 0, os.SEEK_SET)
                stdin = ground.fd
            places = (
                ["-" if ground.is_file else "./"] if only is None else [f"./{path}" for path in only] or [os.devnull]
            )
            process = self._launcher.start(
                [self._program, *_BASE, *above, *args, "--", *places],
                self._reach,
                cwd=ground.folder,
                stdin=stdin,
                stdout=PIPE,
                stderr=PIPE if log is None else log,
                pass_fds=() if rules is None else (rules,),
            )
            with processes.stream(
                process,
                log=log,
                token=ground.token,
                deadline=min(ground.deadline, time.monotonic() + _PATIENCE) if swift else ground.deadline,
                memory=_MEMORY,
            ) as chunks:
                yield chunks


def _shown(
    rows: Iterator[tuple[bytes, int, int, bytes]], ground: Ground, sort_of: SortOf
) -> Generator[Hit, None, int | None]:
    """The rows of text files; gives back how many files were searched, if that was told."""
    last, path, sort = b"", "", ""
    for name, line, column, text in rows:
        if line == SEARCHED:
            return column
        if name != last:
            last, path = name, "" if ground.is_file else _path(name)
            sort = sort_of(path)
            ground.passed[sort] += 1
        if sort == "text":
            yield path, line, column, text
        elif sort == "binary":
            ground.binary += column > 0
    return None


def _finish(stream: processes.Stream, ground: Ground, pattern: str, log: int | None = None) -> None:
    """Judge how the program ended, once all was read. What it could not open is counted, not an error."""
    if stream.status in (0, 1):
        return
    message = stream.stderr if log is None else _LOGGED.sub(b"", _whole(log))
    message, unreadable = _OS_ERROR.subn(b"", message)
    ground.unreadable += unreadable
    reason = message.decode(errors="replace").strip()
    if stream.status == 2 and not reason:
        return
    if stream.status != 2:
        raise ToolError(ErrorCode.EXECUTION, f"ripgrep ended with status {stream.status}. Search a smaller folder.")
    _, parse_error, short = reason.rpartition("\nerror: ")
    if parse_error or "regex" in reason:
        raise patterns.refused(pattern, short.splitlines()[0].removeprefix("rg: "))
    raise ToolError(ErrorCode.EXECUTION, f"ripgrep failed: {reason[:300]}")


@contextmanager
def _rules_file(lines: Sequence[str]) -> Iterator[int | None]:
    """A descriptor of a nameless file with these lines, which a child can open; None if there are none."""
    if not lines:
        yield None
        return
    fd = nameless("\n".join(_safe(line) for line in lines if not _NO_TEXT.search(line)).encode())
    try:
        yield fd
    finally:
        os.close(fd)


def _safe(rule: str) -> str:
    """A rule as ripgrep reads it: braces are choices to it, and to git they are not."""
    return re.sub(r"\\.|[{}]", lambda found: found[0] if len(found[0]) > 1 else f"\\{found[0]}", rule)


@contextmanager
def _log(*, wanted: bool) -> Iterator[int | None]:
    """A descriptor of a nameless file for what the program logs: a pipe would have to be read all the time."""
    if not wanted:
        yield None
        return
    fd = nameless(b"")
    try:
        yield fd
    finally:
        os.close(fd)


def _whole(fd: int) -> bytes:
    return os.pread(fd, os.fstat(fd).st_size, 0)


def _tells(ground: Ground, scope: Scope) -> bool:
    """Whether it is worth while to have the program tell what it passes over: not if that is much, and meant."""
    return not (ground.is_file or scope.include or scope.exclude or scope.skip or scope.depth is not None)


def _text(_: str) -> str:
    return "text"


def _all(_: str) -> bool:
    return True


def _is_binary(ground: Ground) -> bool:
    """Whether the single file holds a NUL; ripgrep itself would show what is before it."""
    at = 0
    while block := os.pread(ground.fd, 1 << 20, at):
        if at == 0 and block.startswith((b"\xff\xfe", b"\xfe\xff")):
            return False
        if b"\0" in block:
            return True
        ground.check()
        at += len(block)
    return False


def _path(name: bytes) -> str:
    return name.removeprefix(b"./").decode("utf-8", "surrogateescape")
