"""The search engine ripgrep: its arguments, and the reading of what it writes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

from toolroll.host import processes
from toolroll.host.query import Ground, Hit, Query, Scope, is_hidden
from toolroll.host.state import nameless
from toolroll.host.written import SEARCHED, read_counts, read_rows, started_once
from toolroll.policy.limits import Limits
from toolroll.result import ErrorCode, ToolError
from toolroll.text import patterns
from toolroll.text.globs import Filter, Matcher

Wants = Callable[[str], bool]

_BASE = ("--no-config", "--color=never", "--no-ignore-messages")
_ROWS = ("--line-number", "--with-filename", "--no-heading", "--column", "--no-context-separator", "--null")
_COUNTS = ("--count", "--include-zero", "--with-filename", "--null")
# Nothing above the searched folder is read: what holds of it is given by --ignore-file.
_IGNORING = ("--no-require-git", "--no-ignore-global", "--no-ignore-parent", "--no-ignore-exclude")
_MAX_REGEX = "4M"
_FEW = 30

# Patterns in which ripgrep and text/globs cannot differ. "?" is not among them: to ripgrep it is one byte.
_PLAIN = re.compile(r"(?:\*\*(?=/|$)|(?<!\*)\*(?!\*)|[\w.@+=~%/-])+", re.ASCII)
_LOGGED = re.compile(rb"(?m)^rg: DEBUG\|.*\n?")
_OS_ERROR = re.compile(rb"(?m)^rg: .*\(os error \d+\)\n?")


class Ripgrep:
    """The engine "ripgrep" (see `query.Engine`)."""

    name: Literal["ripgrep"] = "ripgrep"

    def __init__(self, program: str, limits: Limits) -> None:
        self._program = program
        self._limits = limits
        self._version: bytes | None = None

    def files(self, ground: Ground, scope: Scope) -> Generator[str, None, None]:
        if ground.is_file:
            yield ""
            return
        where, rest = scope_args(scope)
        wants = _wanter(scope, rest)
        with self._run(ground, scope, ["--files", "--null", *where]) as chunks:
            tail = b""
            for chunk in chunks:
                *names, tail = (tail + chunk).split(b"\0")
                found = b"\0".join(names).decode("utf-8", "surrogateescape").split("\0") if names else []
                yield from (name[2:] for name in found if wants(name[2:]))  # without "./"
            _finish(chunks, ground, "")

    def rows(
        self, ground: Ground, query: Query, scope: Scope, only: Sequence[str] | None = None, most: int | None = None
    ) -> Generator[Hit, None, None]:
        """As `query.Engine` has it. `only` are all files to look at, of which none is binary or out of scope.

        Of each file, `most` matching lines are enough.
        """
        if ground.is_file and _is_binary(ground):
            return
        form = [*_ROWS, *_around(query)]
        where, wants = self._where(ground, scope) if only is None else (_named(only), _all)
        args = [*query_args(query), *([] if most is None else [f"--max-count={most}"])]
        with _log(wanted=only is None and _tells(ground, scope)) as log:
            form += [] if log is None else ["--debug", "--stats"]
            with self._run(ground, scope, [*form, *args, *where], only, log) as chunks:
                last, path, wanted, searched = b"", "", False, None
                rows = read_rows(chunks)
                for name, line, column, text in started_once(rows) if "--multiline" in args else rows:
                    if line == SEARCHED:
                        searched = column
                        continue
                    if name != last:
                        last, path = name, "" if ground.is_file else _path(name)
                        wanted = wants(path)
                    if wanted:
                        yield path, line, column, text
                _finish(chunks, ground, query.pattern, log)
            if log is not None and searched is not None and not last and not chunks.cut:
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
            _finish(chunks, ground, query.pattern)

    def tells(self, ground: Ground) -> bool:
        """Whether what this program logs is known to us (see `told`)."""
        if self._version is None:
            asked = [self._program, "--version"]
            with processes.stream(asked, cwd=ground.folder, token=ground.token, deadline=ground.deadline) as chunks:
                self._version = b"".join(chunks)
        return self._version.startswith(b"ripgrep 15.")

    def _where(self, ground: Ground, scope: Scope) -> tuple[list[str], Wants]:
        if ground.is_file:
            return [], _all
        args, rest = scope_args(scope)
        return [*args, f"--max-filesize={self._limits.search_bytes}"], _wanter(scope, rest)

    @contextmanager
    def _run(
        self,
        ground: Ground,
        scope: Scope,
        args: Sequence[str],
        only: Sequence[str] | None = None,
        log: int | None = None,
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
                stderr=log,
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
    args = ["--hidden", "--glob=!.git/"] if scope.hidden else []  # else see `_wanter`
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


def _around(query: Query) -> list[str]:
    both = (("--before-context", query.before), ("--after-context", query.after))
    return [f"{name}={lines}" for name, lines in both if lines]


def _wanter(scope: Scope, rest: Filter) -> Wants:
    """Tells what was asked for. An ignore file can bring hidden files back, but for us they stay hidden."""
    if scope.hidden:
        return rest.wants
    return lambda path: not is_hidden(path) and rest.wants(path)


def _all(_: str) -> bool:
    return True


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
