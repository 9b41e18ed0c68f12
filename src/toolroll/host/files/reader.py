"""Read the text files of one workspace: strict, bounded, and remembered."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from toolroll.host.files.line_window import LineIndexCache, Window, window_of_file
from toolroll.host.files.root import Root
from toolroll.host.files.spill import PREFIX, Spill
from toolroll.host.files.verdict import describe_faults
from toolroll.host.files.versions import DigestCache, FileRecord, SeenVersions, Version, digest, stamp_of
from toolroll.host.files.walk import Walk
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.dir_entries import closing_fd
from toolroll.policy.effects import Effect
from toolroll.policy.limits import Limits
from toolroll.policy.paths import file_type
from toolroll.policy.rules import Policy, judge_path
from toolroll.result import ErrorCode, Suggestion, ToolError
from toolroll.text import diff, lines, names
from toolroll.text.encoding import HEAD, UTF8, Encoding, choose_encoding, detect

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

_EXACT = frozenset({"utf-8", "ascii", "iso8859-1"})  # one way to write a text, and decoding takes no other
_WHOLE_BYTES = 8_000_000  # files up to this size are read at once: quicker, and their content is then known exactly
_LINEWISE = ("utf-8", "ascii", "iso8859-", "cp125", "koi8-")  # a byte 10 is a line feed, wherever one looks


@dataclass(frozen=True)
class TextFile:
    """A text file as it was at one moment."""

    path: str
    data: bytes
    encoding: Encoding
    version: Version
    stale: bool = False
    """It was changed since it was read: only a quote to the letter may be replaced."""
    since: str = ""
    """What is known of that change, in words."""
    stray: ToolError | None = None
    """What is wrong with bytes that are no text; they are kept."""
    disk: bytes | None = None
    """What the file has on disk, where the data are held and not written."""

    @property
    def stored(self) -> bytes:
        return self.data if self.disk is None else self.disk

    @cached_property
    def text(self) -> str:
        return self.encoding.decode(self.data)

    @cached_property
    def plain(self) -> bool:
        """Whether each of its bytes is a character, the same in every encoding of text that is in use."""
        return self.encoding == UTF8 and self.data.isascii()

    @property
    def round_trips(self) -> bool:
        """Whether writing the text gives these bytes again."""
        return self.plain or self.encoding.codec in _EXACT or self.encoding.encode(self.text) == self.data


@dataclass(frozen=True, slots=True)
class ContentChange:
    """What a write did. `before` is None for a new file."""

    path: str
    before: bytes | None
    after: bytes
    encoding: Encoding
    same: diff.Same = diff.NOTHING
    """What is known to be the same in both."""
    judged: bool = True
    """False where verdicts are off."""
    held: bool = False
    """It is not written, because the file would not parse any more."""

    @property
    def created(self) -> bool:
        return self.before is None

    @property
    def changed(self) -> bool:
        return self.before != self.after

    def diff(self) -> str:
        """The change for the eye; empty for a new file and for one that was or is no text."""
        used = self.encoding
        if not self.before or (used == UTF8 and b"\0" in self.before[:HEAD] + self.after[:HEAD]):
            return ""

        def decode(data: bytes) -> str:
            return data.decode(used.codec, "backslashreplace")

        mark = len(used.bom)
        before, after = (self.before[mark:], self.after[mark:]) if mark else (self.before, self.after)
        if used.codec.startswith(_LINEWISE):
            return diff.unified_bytes(before, after, decode, self.same)
        return diff.unified(decode(before), decode(after))

    @property
    def verdict(self) -> str:
        """Where the file does not parse any more, or uses undefined names, in one line; empty if it is fine."""
        if not self.judged or not self.changed or names.is_prose(self.path):
            return ""
        said = describe_faults(self.path, self.before, self.after)
        return f"{said} {_HELD}" if self.held else said


def read_all(fd: int, size: int) -> bytes:
    """Every byte of an open file, also when it grew since its size was asked."""
    data = os.read(fd, size + 1)
    while len(data) > size and (more := os.read(fd, len(data))):
        data += more
    return data


_MOST = 3
_LISTED = 5_000  # names of a folder that are compared
_WALKED = 20_000  # entries among which the only file of a name is looked for
_SKIPPED = ("node_modules", "site-packages")
_HELD = (
    "So the change is held, not written: `read` and the next edit see the new text, and the edit after which the file "
    "parses writes all of it."
)


def near_names(root: Root, where: str) -> list[str]:
    """Up to three existing paths like a missing one, from the nearest folder above it that exists."""
    import difflib

    parts = root.text(where).split("/")
    for depth in range(len(parts) - 1, -1, -1):
        folder = "/".join(parts[:depth])
        try:
            fd = root.folder(folder or ".")
        except (OSError, ToolError):
            continue
        with os.scandir(fd) as found:
            names = [entry.name for entry, _ in zip(found, range(_LISTED), strict=False)]
        os.close(fd)
        near = difflib.get_close_matches(parts[depth], names, n=_MOST, cutoff=0.7)
        return [f"{folder}/{name}" if folder else name for name in near]
    return []


def find_by_name(root: Root, where: str) -> list[str]:
    """The only path in the tree that ends as this one, if it is soon found; empty if there are several."""
    try:
        with closing_fd(root.folder(".")) as fd:
            seen = (one.path for one, _ in zip(Walk(fd, skip=_SKIPPED), range(_WALKED), strict=False))
            found = [one for one in seen if f"/{one}".endswith(f"/{root.text(where)}")]
    except (OSError, ToolError):
        return []
    return found if len(found) == 1 else []


class FileReader:
    """Reads beneath one root. Paths are relative to it (or to `cwd`), or absolute inside it."""

    def __init__(self, root: Root, spill: Spill, limits: Limits, policy: Policy, *, guess: bool = False) -> None:
        """`guess`: read what is not UTF-8 and says no other encoding in the likeliest one, if that keeps every byte."""
        self.root = root
        self.records = SeenVersions()
        self.cwd = "."
        self.on_read: Callable[[tuple[str, ...]], None] = lambda _parts: None
        """Gets the real path of each file of the workspace that is read; an empty one for kept outputs."""
        self._contents = DigestCache()
        self._milestones = LineIndexCache()
        self._spill = spill
        self._limits = limits
        self._policy = policy
        self._guess = guess

    def where(self, path: str) -> tuple[Root, str]:
        """The root that a path is beneath (the workspace's, or that of kept outputs), and the path there."""
        if path.startswith(PREFIX):
            self.on_read(())
            return self._spill.root(), path.removeprefix(PREFIX)
        if self.cwd != "." and path and not path.startswith("/"):
            path = f"{self.cwd}/{path}"
        return self.root, self._meant(path) if "\\" in path else path

    def _meant(self, path: str) -> str:
        """A path with escapes as we show them, if that is what is there and not the path as it is written."""
        shown = [path, names.parse_shown(path)]
        return next((one for one in shown if self.root.has(one)), path)

    def key(self, path: str) -> tuple[str, ...]:
        """The components that calls on this path are locked by."""
        root, where = self.where(path)
        names = root.text(where).split("/")
        if ".." not in names and names != ["."]:
            return tuple(names)
        steps: list[str] = []
        for part in names:
            if part not in ("..", "."):
                steps.append(part)
            elif part == ".." and steps:
                steps.pop()
        return tuple(steps)

    def relative(self, path: str, folder: str) -> str | None:
        """An absolute path relative to a folder of the workspace; None if it is not beneath it."""
        try:
            names = self.root.text(path).split("/")
        except ToolError:
            return None
        above = [] if folder in (".", "./") else list(self.key(folder))
        return "/".join(names[len(above) :]) if names[: len(above)] == above else None

    def read(self, path: str, encoding: str | None = None) -> TextFile:
        """The whole text file; it then counts as seen."""
        document = self.peek(path, encoding)
        self.records.note(document.path, document.version, document.encoding)
        return document

    def peek(self, path: str, encoding: str | None = None, *, strays: bool = False) -> TextFile:
        """The whole text file, without its counting as seen; with `strays`, bytes that are no text are kept as such."""
        fd, real, status = self._file(path)
        try:
            self._check_size(path, status.st_size, self._limits.write_bytes)
            data = read_all(fd, status.st_size)
        finally:
            os.close(fd)
        version = Version(stamp_of(status), self._contents.digest(real, data))
        used = self._fitting(real, data, encoding, path)
        held = self._held(real, version)
        document = TextFile(real, data if held is None else held, used, version, disk=None if held is None else data)
        wrong = _wrong_text(path, document)
        if wrong is None:
            return document
        if not strays or encoding is not None or used != UTF8:
            raise wrong
        return replace(document, encoding=replace(used, errors="surrogateescape"), stray=wrong)

    def window(
        self,
        path: str,
        start: int,
        count: int,
        token: CancelToken,
        encoding: str | None = None,
        *,
        ranged: bool = False,
    ) -> Window:
        """Some lines of a text file; it then counts as seen. The limit of size is not for a `ranged` look."""
        fd, real, status = self._file(path)
        try:
            if not ranged:
                part = "Use `grep` to find what matters, or give `end` to read a part of it."
                self._check_size(path, status.st_size, self._limits.read_bytes, part)
            if status.st_size <= _WHOLE_BYTES:
                data = read_all(fd, status.st_size)
                version = Version(stamp_of(status), self._contents.digest(real, data))
                held = self._held(real, version)
                shown = data if held is None else held
                found = _window(shown, start, count, self._fitting(real, data, encoding, path))
            else:
                used = self._encoding(real, os.pread(fd, HEAD, 0), encoding, path)
                known = self._milestones.of(status)
                found = window_of_file(fd, start, count, used, token, known)
                self._milestones.keep(fd, status, known)
                version = Version(stamp_of(status))
        finally:
            os.close(fd)
        self.records.note(real, version, found.encoding)
        return found

    def data(self, path: str, most: int, *, seen: bool = False) -> bytes:
        """The raw bytes of a file no larger than `most`; with `seen`, it then counts as seen."""
        fd, real, status = self._file(path)
        try:
            self._check_size(path, status.st_size, most)
            data = read_all(fd, status.st_size)
        finally:
            os.close(fd)
        if seen:
            version = Version(stamp_of(status), self._contents.digest(real, data))
            self.records.note(real, version, self.records.get(real).encoding)
        return data

    def _held(self, real: str, version: Version) -> bytes | None:
        """The content that is held for this version of a file."""
        record = self.records.get(real)
        return record.held if record.version is not None and record.version.stamp == version.stamp else None

    def may_read(self, parts: tuple[str, ...]) -> None:
        """Raise ToolError if what is at this real path may not be read."""
        self.root.trust.check_read(parts)
        self._may_open(parts)

    def missing(self, path: str) -> ToolError:
        """The error for a path where nothing is, with names that are near."""
        root, where = self.where(path)
        near = near_names(root, where) or find_by_name(root, where)
        if root.text(where) in near:
            return ToolError(ErrorCode.NOT_FOUND, f"File not found: {path!r} is a link, and its target is not there.")
        hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else "Use `find` or `ls` to see what there is."
        return ToolError(
            ErrorCode.NOT_FOUND,
            f"File not found: there is no {path!r}. {hint}",
            details={"near": near},
            suggest=tuple(Suggestion("", {path: name}) for name in near),
        )

    def _may_open(self, parts: tuple[str, ...], effects: Effect = Effect.READ) -> None:
        policy = self._policy
        if policy.rules and (verdict := judge_path(parts, effects, policy)).decision == "deny":
            raise ToolError(ErrorCode.PERMISSION, f"{'/'.join(parts)!r} is {verdict.reason}. Use another path.")
        allowed = policy.extensions
        if allowed is None:
            return
        suffix = file_type(parts[-1]) if parts else ""
        if suffix and suffix not in allowed:
            raise ToolError(ErrorCode.SECURITY, f"Access denied: File type {suffix!r} is not allowed.")

    def _check_size(
        self, path: str, size: int, most: int | None, instead: str = "Use `grep` to find what matters."
    ) -> None:
        if most is not None and size > most:
            raise ToolError(ErrorCode.TOO_LARGE, f"{path!r} is too large: {size} bytes, the limit is {most}. {instead}")

    def _file(self, path: str) -> tuple[int, str, os.stat_result]:
        """A regular file: its descriptor, which the caller closes, its real path and its status."""
        root, where = self.where(path)
        try:
            fd, status, parts = root.located(where)
        except FileNotFoundError:
            raise self.missing(path) from None
        except IsADirectoryError:
            raise ToolError(
                ErrorCode.VALIDATION, f"{path!r} is a directory, not a file. Look into it with `ls`."
            ) from None
        try:
            self._may_open(parts)
            if root is self.root:
                self.on_read(parts)
        except BaseException:
            os.close(fd)
            raise
        return fd, path if root is not self.root else "/".join(parts), status

    def _encoding(self, real: str, head: bytes, asked: str | None, path: str) -> Encoding:
        """What was asked for, else what the file was read as before, else what it is."""
        known = self.records.get(real).encoding if asked is None else None
        try:
            kept = known is not None and known.errors == "strict" and head.startswith(known.bom)
            return known if known is not None and kept else detect(head, asked)
        except ToolError as error:
            raise ToolError(error.code, f"{path!r} cannot be read as text. {error.message}") from None

    def _fitting(self, real: str, data: bytes, asked: str | None, path: str) -> Encoding:
        """The same of a file that was read whole."""
        used = self._encoding(real, data[:HEAD], asked, path)
        if asked is not None or not self._guess:
            return used
        return choose_encoding(data, UTF8 if used.guessed else used)  # others may have saved it as UTF-8 since


class FileRecords:
    """Which files a session has read and written, and when; a program can add its own accesses, and clear them."""

    def __init__(self, files: FileReader) -> None:
        self._files = files

    def all(self) -> dict[str, FileRecord]:
        """The record of each file by its path, the least recently used first."""
        return self._files.records.all()

    def last_read(self, path: str) -> datetime | None:
        """When a file was read or written last; None if it was not."""
        return _as_time(self._record(path).read)

    def last_written(self, path: str) -> datetime | None:
        """When a file was written last by a tool or a command of the session; None if it was not."""
        return _as_time(self._record(path).written)

    def mark_read(self, path: str) -> None:
        """Count a file as read as it is now; ToolError if it cannot be read."""
        self._mark(path, written=False)

    def mark_written(self, path: str) -> None:
        """Count a file as written, and so read, as it is now; ToolError if it cannot be read."""
        self._mark(path, written=True)

    def clear(self, path: str | None = None) -> None:
        """Forget a path and everything below it, or all files."""
        if path is None:
            self._files.records.clear()
        else:
            self._files.records.forget("/".join(self._files.key(path)))

    def _mark(self, path: str, *, written: bool) -> None:
        fd, real, status = self._files._file(path)
        try:
            version = Version(stamp_of(status), digest(read_all(fd, status.st_size)))
        finally:
            os.close(fd)
        records = self._files.records
        records.note(real, version, records.get(real).encoding, written=written)

    def _record(self, path: str) -> FileRecord:
        try:
            fd, real, _ = self._files._file(path)
            os.close(fd)
        except ToolError:  # it is gone, or may no longer be read
            real = "/".join(self._files.key(path))
        return self._files.records.get(real)


def _as_time(seconds: float | None) -> datetime | None:
    import datetime

    return None if seconds is None else datetime.datetime.fromtimestamp(seconds, datetime.UTC)


def _window(data: bytes, start: int, count: int, encoding: Encoding) -> Window:
    """Some lines of a file that was read whole."""
    text = encoding.decode(data)
    found = lines.split_bare(text)
    end = start - 1 + count
    return Window(tuple(found[start - 1 : end]), start, len(found), encoding, end >= len(found) and text.endswith("\n"))


def _wrong_text(path: str, document: TextFile) -> ToolError | None:
    """Why the file cannot be decoded, if so; plain ASCII is not decoded here, as its text may not be needed."""
    try:
        _ = document.plain or document.text
        return None
    except ToolError as error:
        wrong, _, _ = error.message.partition(". ")
        guess = error.details["guess"] if isinstance(error.details, dict) else None
        likely = f" It looks like {guess!r}: give that as `read.encoding` first." if guess else ""
        message = f"{path!r} cannot be read. {wrong}.{likely}"
        return ToolError(error.code, message, details=error.details)
