"""The search engine ripgrep: its arguments, and the reading of what it writes."""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

from toolroll.host import processes
from toolroll.host.query import BINARY, Ground, Hit, Query, Scope
from toolroll.host.state import nameless
from toolroll.policy.limits import Limits
from toolroll.result import ErrorCode, ToolError
from toolroll.text import patterns
from toolroll.text.globs import Filter, Matcher

_BASE = ("--no-config", "--color=never", "--no-ignore-messages", "--hidden")
_ROWS = ("--line-number", "--with-filename", "--no-heading", "--column", "--no-context-separator", "--null")
_COUNTS = ("--count", "--include-zero", "--with-filename", "--null")
# Nothing above the searched folder is read: what holds of it is given by --ignore-file.
_IGNORING = ("--no-require-git", "--no-ignore-global", "--no-ignore-parent", "--no-ignore-exclude")
_MAX_REGEX = "4M"
_MAX_LINE = 8 << 20
_FEW = 30

# Patterns in which ripgrep and text/globs cannot differ. "?" is not among them: to ripgrep it is one byte.
_PLAIN = re.compile(r"(?:\*\*(?=/|$)|(?<!\*)\*(?!\*)|[\w.@+=~%/-])+", re.ASCII)
# A name may hold line ends but no NUL; a line may not hold a NUL either, or the file would be binary.
_ROW = re.compile(rb"([^\0]+)\0(\d+)(?::(\d+):|-)([^\n]*)\n")
_COUNT = re.compile(rb"([^\0]+)\0(\d+)\r?\n")
_NOTICE = re.compile(rb": (?:WARNING: stopped searching binary file|binary file matches)[^\n]*\n")
_OS_ERROR = re.compile(rb"(?m)^rg: .*\(os error \d+\)\n?")


class Ripgrep:
    """The engine "ripgrep" (see `query.Engine`)."""

    name: Literal["ripgrep"] = "ripgrep"

    def __init__(self, program: str, limits: Limits) -> None:
        self._program = program
        self._limits = limits

    def files(self, ground: Ground, scope: Scope) -> Generator[str, None, None]:
        if ground.is_file:
            yield ""
            return
        where, rest = scope_args(scope)
        with self._run(ground, scope, ["--files", "--null", *where]) as chunks:
            tail = b""
            for chunk in chunks:
                *names, tail = (tail + chunk).split(b"\0")
                found = b"\0".join(names).decode("utf-8", "surrogateescape").split("\0") if names else []
                yield from (name[2:] for name in found if rest.wants(name[2:]))  # without "./"
            _finish(chunks, ground, "")

    def rows(
        self, ground: Ground, query: Query, scope: Scope, only: Sequence[str] | None = None, most: int | None = None
    ) -> Generator[Hit, None, None]:
        """As `query.Engine` has it. `only` are all files to look at, of which none is binary or out of scope.

        Of each file, `most` matching lines are enough.
        """
        if ground.is_file and _is_binary(ground):
            return
        form = [*_ROWS, f"--before-context={query.before}", f"--after-context={query.after}"]
        where, rest = self._where(ground, scope) if only is None else (_named(only), Filter())
        args = [*query_args(query), *([] if most is None else [f"--max-count={most}"])]
        with self._run(ground, scope, [*form, *args, *where], only) as chunks:
            last, path, wanted = b"", "", False
            rows = read_rows(chunks)
            for name, line, column, text in _started_once(rows) if "--multiline" in args else rows:
                if name != last:
                    last, path = name, "" if ground.is_file else _path(name)
                    wanted = rest.wants(path)
                if wanted:
                    yield path, line, column, text
            _finish(chunks, ground, query.pattern)

    def counts(
        self, ground: Ground, query: Query, scope: Scope, *, binary: bool = False, only: Sequence[str] | None = None
    ) -> Generator[tuple[str, int], None, None]:
        """As `query.Engine` has it. `only` are files and folders to look at, and into."""
        if ground.is_file and not binary and _is_binary(ground):
            return
        form = [*_COUNTS, "--text"] if binary else _COUNTS
        where, rest = self._where(ground, scope)
        rest = rest if only is None else scope.filter()  # what is named is searched whatever the other arguments say
        with self._run(ground, scope, [*form, *query_args(query), *where], only) as chunks:
            for name, count in read_counts(chunks):
                path = "" if ground.is_file else _path(name)
                if rest.wants(path):
                    yield path, count
            _finish(chunks, ground, query.pattern)

    def _where(self, ground: Ground, scope: Scope) -> tuple[list[str], Filter]:
        if ground.is_file:
            return [], Filter()
        args, rest = scope_args(scope)
        return [*args, f"--max-filesize={self._limits.search_bytes}"], rest

    @contextmanager
    def _run(
        self, ground: Ground, scope: Scope, args: Sequence[str], only: Sequence[str] | None = None
    ) -> Iterator[processes.Stream]:
        with _rules_file([] if scope.ignored or ground.is_file or only is not None else ground.rules) as rules:
            above = [] if rules is None else [f"--ignore-file=/dev/fd/{rules}"]
            stdin = None
            if ground.is_file:
                os.lseek(ground.fd, 0, os.SEEK_SET)
                stdin = ground.fd
            places = (
                ["-" if ground.is_file else "./"] if only is None else [f"./{path}" for path in only] or [os.devnull]
            )
            with processes.stream(
                [self._program, *_BASE, *above, *args, "--", *places],
                cwd=ground.folder,
                stdin=stdin,
                pass_fds=() if rules is None else (rules,),
                token=ground.token,
                deadline=ground.deadline,
            ) as chunks:
                yield chunks


def query_args(query: Query) -> list[str]:
    """The arguments that say what to look for. Never -P: its time has no bound."""
    prepared = patterns.prepare(query.pattern, literal=query.literal, multiline=query.multiline)
    args = [f"--regex-size-limit={_MAX_REGEX}", "--no-mmap"]
    args += [] if prepared.sees_cr else ["--crlf"]
    args += ["--multiline"] if prepared.multiline else []
    args += ["--ignore-case"] if query.ignore_case else []
    args += ["--word-regexp"] if query.whole_word else []
    return [*args, f"--regexp={prepared.regex}"]


def scope_args(scope: Scope) -> tuple[list[str], Filter]:
    """The arguments that say where to look, and what of the patterns is left to be done by us."""
    wanted = scope.filter()
    args = ["--glob=!.git/" if scope.hidden else "--glob=!.*"]
    args += [] if scope.depth is None else [f"--max-depth={scope.depth}"]
    if scope.ignored:
        args.append("--no-ignore")
    else:
        args += _IGNORING
    args += [f"--glob=!{_quoted(name)}/" for name in scope.skip]
    left = []
    for matcher in wanted.exclude:
        globs = [*matcher.names, *(path if path.startswith("**") else f"/{path}" for path in matcher.paths)]
        if all(map(_PLAIN.fullmatch, globs)):
            args += [f"--glob=!{glob}" for glob in globs]
        else:
            left.append(matcher)
    # A positive --glob would bring ignored files back; a type does not.
    if wanted.include and all(map(_is_type, wanted.include)):
        args += [f"--type-add=toolroll:{name}" for matcher in wanted.include for name in matcher.names]
        return [*args, "--type=toolroll"], Filter((), tuple(left))
    return args, Filter(wanted.include, tuple(left))


def read_rows(chunks: Iterable[bytes]) -> Iterator[tuple[bytes, int, int, bytes]]:
    """File, line, column and text of each row, as in a `query.Hit`; BINARY for a file that is found to be."""
    last, tail = b"", b""
    for block in whole_lines(chunks):
        data, end = tail + block, 0
        for row in _ROW.finditer(data):
            name, line, column, text = row.groups()
            end = row.end()
            if name != last:
                notice = _NOTICE.match(name, len(last)) if name.startswith(last) else None
                if notice:
                    yield last, BINARY, 0, b""
                    name = name[notice.end() :]
                last = name
            yield name, int(line), int(column or 0), text
        tail = data[end:]
    if tail:
        yield last, BINARY, 0, b""


def _started_once(rows: Iterator[tuple[bytes, int, int, bytes]]) -> Iterator[tuple[bytes, int, int, bytes]]:
    """The same rows. ripgrep repeats the column on all lines of a match, but it goes on from their start."""
    above = (b"", 0, 0)
    for name, line, column, text in rows:
        goes_on = column > 0 and above == (name, line - 1, column)
        yield name, line, 1 if goes_on else column, text
        above = (name, line, column)


def read_counts(chunks: Iterable[bytes]) -> Iterator[tuple[bytes, int]]:
    """File and number, as often as there are."""
    tail = b""
    for block in whole_lines(chunks):
        data, end = tail + block, 0
        for found in _COUNT.finditer(data):
            end = found.end()
            yield found[1], int(found[2])
        tail = data[end:]


def whole_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in blocks that end where a line ends. Of a line over 8 MB the start is kept."""
    held: list[bytes] = []
    size = 0
    for chunk in chunks:
        end = chunk.rfind(b"\n") + 1
        if end:
            yield b"".join((*held, chunk[:end]))
            held, size = [chunk[end:]], len(chunk) - end
        elif size < _MAX_LINE:
            held.append(chunk)
            size += len(chunk)
    if any(held):
        yield b"".join(held)


def _finish(stream: processes.Stream, ground: Ground, pattern: str) -> None:
    """Judge how the program ended, once all was read. What it could not open is counted, not an error."""
    if stream.status in (0, 1):
        return
    message, unreadable = _OS_ERROR.subn(b"", stream.stderr)
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


def _named(only: Sequence[str]) -> list[str]:
    """The arguments for a search of named files; few are not worth threads."""
    return ["--no-ignore", "--text", *(["--threads=1"] if len(only) <= _FEW else [])]


@contextmanager
def _rules_file(lines: Sequence[str]) -> Iterator[int | None]:
    """A descriptor of a nameless file with these lines, which a child can open; None if there are none."""
    if not lines:
        yield None
        return
    fd = nameless(os.fsencode("\n".join(lines)))
    try:
        yield fd
    finally:
        os.close(fd)


def _is_type(matcher: Matcher) -> bool:
    return not matcher.paths and all(map(_PLAIN.fullmatch, matcher.names))


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


def _quoted(name: str) -> str:
    return re.sub(r"([^\w./-])", r"\\\1", name)
