"""Parse the output of ripgrep: rows, counts, and its log of skipped files."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator

from toolroll.host.files.walk import Kind, enter
from toolroll.host.search.query import BINARY, SearchRoot, SkippedFiles, TooManyRowsError

_MAX_LINE_BYTES = 8 << 20
# A name may hold line ends but no NUL; a line may not hold a NUL either, or the file would be binary.
# No column is written for an empty match at the end of a line.
_ROW = re.compile(rb"([^\0]+)\0(\d+)(?:(:)(?:(\d+):)?|-)([^\n]*)\n")
_COUNT = re.compile(rb"([^\0]+)\0(\d+)\r?\n")
_STATS = re.compile(rb"\n\d+ matches\n(?:.+\n)*(\d+) files searched\n(?:.+\n)*$")
FILES_SEARCHED = -2
"""Line number of a row whose column is the number of files that were searched."""

_NOTICE = re.compile(rb": (?:WARNING: stopped searching binary file|binary file matches)[^\n]*\n")
_LOG = b"rg: DEBUG|"
_OWN = (b"ignore::walk|", b"grep_printer::")
_PASSED = re.compile(
    rb"[\w:]+\|[^|:\n]+:\d+: ignoring \./(.+): "
    rb"(?:(Ignore\(IgnoreMatch\(.*)|(found binary data at offset \d+)|\d+ bytes)"
)
_LOSSY = "\ufffd".encode()
_MAX_LOG_LINES = 4_000  # with more it is quicker to walk the tree


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
    stats = _STATS.search(tail)
    if tail and (stats is None or stats.start()):
        yield last, BINARY, 0, b""
    if stats:
        yield last, FILES_SEARCHED, int(stats[1]), b""


def join_chunks(chunks: Iterable[bytes], max_lines: int) -> Iterator[bytes]:
    """All output in one chunk, or in few if it is very large; TooManyRowsError after `max_lines`."""
    held: list[bytes] = []
    lines = size = 0
    try:
        for chunk in chunks:
            held.append(chunk)
            lines, size = lines + chunk.count(b"\n"), size + len(chunk)
            if lines > max_lines:
                raise TooManyRowsError
            if size > _MAX_LINE_BYTES:
                yield b"".join(held)
                held, size = [], 0
    except TimeoutError:
        yield b"".join(held)
        raise
    yield b"".join(held)


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


def read_log(log: bytes, root: SearchRoot) -> SkippedFiles | None:
    """The files that ripgrep says it skipped; None if there are too many, or a name is in doubt.

    All names are checked: the log holds what is in the tree, which may try to look like a log.
    """
    found, names = SkippedFiles(root.searched), []
    lines = [line for line in log.split(b"\n") if line]
    if len(lines) > _MAX_LOG_LINES or _LOSSY in log or not all(line.startswith(_LOG) for line in lines):
        return None  # a name that is not UTF-8, or that holds a line end
    for line in lines:
        about = line[len(_LOG) :]
        if not about.startswith(_OWN):
            continue
        passed = _PASSED.fullmatch(about)
        if passed is None:
            return None
        name = passed[1].decode()
        if ".." in name.split("/"):
            return None
        if passed[2]:
            names.append(name)
        elif passed[3]:
            found.binary.append(name)
        else:
            found.too_big += 1
    try:
        for above in {name.rpartition("/")[0] for name in found.binary}:
            os.close(_open_folder(root, above))
        found.left_out = [(name, kind) for name in names if (kind := _kind(root, name))]
    except OSError:
        return None  # gone, or a forged name
    return found


def _kind(root: SearchRoot, path: str) -> Kind | None:
    """The kind of an entry, without following links; None for one that no search looks at."""
    above, _, name = path.rpartition("/")
    fd = _open_folder(root, above)
    try:
        mode = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
    finally:
        os.close(fd)
    if stat.S_ISDIR(mode):
        return None if name == ".git" else "directory"
    return "file" if stat.S_ISREG(mode) else None


def _open_folder(root: SearchRoot, path: str) -> int:
    """A descriptor of a folder; OSError if a link is on the way, so that the name is not from ripgrep."""
    return enter(root.fd, f"{path}/" if path else "")
