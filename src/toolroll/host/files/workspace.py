"""The files of one workspace: strict reads, atomic writes, and a guard against overwriting unseen changes."""

from __future__ import annotations

import copy
import os
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from toolroll.host.approval.auto_run import AutoRunCheck
from toolroll.host.files import atomic, python_syntax
from toolroll.host.files.journal.entry import PathChange, check_kept
from toolroll.host.files.journal.recorder import Recorder
from toolroll.host.files.openat import PathHandle, WriteTurn
from toolroll.host.files.reader import ContentChange, FileReader, TextFile, read_all
from toolroll.host.files.root import Root
from toolroll.host.files.spill import PREFIX, Spill
from toolroll.host.files.verdict import find_break
from toolroll.host.files.versions import EditGuard, Freshness, Version, digest, modified_error, stamp_of
from toolroll.host.runtime.launcher import Launcher
from toolroll.host.runtime.state import State
from toolroll.policy import paths
from toolroll.policy.effects import Effect
from toolroll.policy.limits import Limits
from toolroll.policy.rules import Policy
from toolroll.result import ErrorCode, ToolError
from toolroll.text import diff
from toolroll.text.encoding import HEAD, UTF8, Encoding, detect, find_encoding
from toolroll.text.lines import line_range

if TYPE_CHECKING:
    from toolroll.host.files.tree import FileTree
    from toolroll.text.edit.model import SplicedBytes

_TOGETHER = 64  # files that are replaced at a time; each takes two descriptors
JUDGED = 20  # files of many that are looked at whether they still parse
_SPLIT = "Make several smaller files of it."


class _Save(NamedTuple):
    """A new file that is ready to be put in the place of the draft it was made of."""

    draft: TextFile
    place: PathHandle
    new: atomic.Replacement
    digest: bytes
    step: PathChange | None
    note: Mapping[str, Any]


def _changed_lines(before: bytes | None, now: bytes) -> str:
    """Which lines of a file are others than before, in words."""
    if before is None:
        return "It was changed since it was read."
    head, tail = diff.common_ends(before, now)
    first, last = now.count(b"\n", 0, head) + 1, now.count(b"\n", 0, max(head, len(now) - tail - 1)) + 1
    return f"It was changed since it was read, in {line_range(first, last)} as they are now."


class OfferingCalls:
    """A refusal within it offers calls that work on these files, named relative to a folder."""

    def __init__(self, drafts: Mapping[str, TextFile], folder: str = ".") -> None:
        self._drafts, self._folder = drafts, folder

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: object, _traceback: object) -> None:
        if isinstance(error, ToolError):
            from toolroll.host.files.verdict import offer_calls

            offer_calls(error, self._drafts, self._folder)


class Workspace(FileReader):
    """Reads and writes beneath one root. Paths are relative to it (or to `cwd`), or absolute inside it."""

    def __init__(
        self,
        root: Root,
        state: State,
        spill: Spill,
        *,
        limits: Limits,
        policy: Policy,
        launcher: Launcher,
        guard: EditGuard = "fresh",
        new_file_mode: int | None = None,
        guess: bool = False,
        judged: bool = True,
    ) -> None:
        """`judged`: changes say where a file does not parse any more."""
        super().__init__(root, spill, limits, policy, guess=guess)
        self.judged = judged
        self.holds = False
        """Whether a change that makes a file unparsable is held."""
        self.state = state
        self._launcher = launcher
        self._fresh = Freshness(self.records, guard)
        self._new_file_mode = new_file_mode
        self._swept: set[int] = set()  # shared by all copies, so that it is done once
        self._recorder: Recorder | None = None
        self._auto_run: AutoRunCheck | None = None

    def at(self, cwd: str) -> Workspace:
        """The same files, with relative paths taken from another folder."""
        other = copy.copy(self)
        other.cwd = cwd
        return other

    def recording(self, recorder: Recorder) -> Workspace:
        """The same files; what is changed through them is recorded."""
        other = copy.copy(self)
        other._recorder = recorder
        return other

    def asking(self, check: AutoRunCheck) -> Workspace:
        """The same files; before one that other programs run by themselves is changed, `check` asks."""
        other = copy.copy(self)
        other._auto_run = check
        return other

    @property
    def tree(self) -> FileTree:
        """The names of these files."""
        from toolroll.host.files.tree import FileTree

        return FileTree(self)

    @property
    def recorder(self) -> Recorder | None:
        """What records the changes of this call, if anything does."""
        return self._recorder

    def rewritten(self) -> list[ContentChange]:
        """What this call has changed in files that were there before, as far as it is recorded."""
        return [one for one in self.changed() if not one.created]

    def changed(self) -> list[ContentChange]:
        """The same with new files."""
        found = self._recorder.contents() if self._recorder is not None else ()
        return [
            ContentChange(path, before, after, self._kept_encoding(before), judged=self.judged)
            for path, before, after in found
        ]

    def draft(self, path: str, encoding: str | None = None, *, quoted: bool = False) -> TextFile:
        """The whole text file in order to change it; raises ToolError when the guard forbids that.

        With `quoted` it may have been changed since it was read; then `check_quote` decides.
        """
        last = self._contents.last("/".join(self.key(path))) if quoted else None
        document = self.peek(path, encoding, strays=not self._fresh.needs_read)
        if quoted and self._fresh.allows_quotes and self._fresh.is_stale(document.path, document.version):
            lost = " The change that was held is dropped." * (self.records.get(document.path).held is not None)
            document = replace(document, stale=True, since=_changed_lines(last, document.data) + lost)
        else:
            self._fresh.check_seen(document.path, document.version)
        if not document.round_trips:
            raise ToolError(
                ErrorCode.UNSUPPORTED,
                f"{path!r} does not survive {document.encoding.codec}: an edit would change other bytes.",
            )
        return document

    def check_whole(self, path: str) -> None:
        """Raise ToolError if a file may not be replaced: a command of the session has changed what was seen of it."""
        self._fresh.check_whole("/".join(self.key(path)))

    def check_quote(self, draft: TextFile, quote: str) -> None:
        """Raise ToolError unless the draft is as it was read and all of it is text, or the quote stands in it once."""
        if (draft.stale or draft.stray) and draft.text.count(quote) != 1:
            raise draft.stray or modified_error(draft.path)

    def check_syntax(self, draft: TextFile, made: str | SplicedBytes) -> None:
        """Raise ToolError if a Python file that parses would no longer parse with this text."""
        data = draft.encoding.encode(made) if isinstance(made, str) else made.data
        said = python_syntax.find_syntax_error(draft.path, data, self._launcher)
        if said is not None and python_syntax.find_syntax_error(draft.path, draft.data, self._launcher) is None:
            raise ToolError(
                ErrorCode.VALIDATION,
                f"Syntax error in {draft.path!r} after this change, {said}. The file was left as it was.",
            )

    def check_new_syntax(self, path: str, text: str) -> None:
        """The same for a whole new content, whatever is there now."""
        if (said := python_syntax.find_syntax_error(path, UTF8.encode(text), self._launcher)) is not None:
            raise ToolError(ErrorCode.VALIDATION, f"Syntax error in the new {path!r}, {said}. Nothing was written.")

    def back_up(self, draft: TextFile) -> str:
        """Copy a file to a name beside it that says when; that name."""
        name = f"{draft.path}.backup.{time.time_ns() // 1_000_000}"
        with self.root.place(name, check=self.prepare_copy) as place:
            self._put(place, draft.data, None, draft.encoding, before=None, create_only=True)
        return name

    def save(self, draft: TextFile, made: str | SplicedBytes, note: Mapping[str, Any] | None = None) -> ContentChange:
        """Write a draft's new text, if the file is still what it was; `note` goes into the receipt."""
        if draft.stray and isinstance(made, str) and not "".join(set(made) - set(draft.text)).isascii():
            raise draft.stray  # in which encoding is it to be written?
        data = draft.encoding.encode(made) if isinstance(made, str) else made.data
        same = diff.NOTHING if isinstance(made, str) or draft.disk is not None else made.same
        change = ContentChange(draft.path, draft.stored, data, draft.encoding, same, self.judged)
        if self._hold(change, draft.version):
            return replace(change, held=True)
        if change.changed:
            self._check_size(draft.path, len(data), self._limits.write_bytes, _SPLIT)
            with self.root.place(draft.path, check=self.may_write) as place:
                self._put(place, data, draft.version, draft.encoding, before=draft.stored)
            if self._recorder is not None and note:
                self._recorder.note[draft.path] = dict(note)
        return change

    def _hold(self, change: ContentChange, version: Version) -> bool:
        """Keep a change for the next one, if the file would not parse any more; else end what was kept."""
        is_held = self.holds and change.changed and find_break(change.path, change.before, change.after) != ""
        if is_held or self.records.get(change.path).held is not None:
            self.records.hold(change.path, version, change.encoding, change.after if is_held else None)
        return is_held

    def save_all(self, drafts: Sequence[tuple[TextFile, str, Mapping[str, Any]]]) -> tuple[str, ...]:
        """Write the new texts of many drafts, each with its note; the disk is waited for once for many of them.

        Says where files do not parse any more, of the first ones.
        """
        made = (self._change(draft, text) for draft, text, _ in drafts)
        held = {one.path for (draft, *_), one in zip(drafts, made, strict=True) if self._hold(one, draft.version)}
        written = [row for row in drafts if row[0].path not in held]
        for at in range(0, len(written), _TOGETHER):
            with ExitStack() as stack, self._turn() if self._recorder is None else nullcontext():
                saves = list(self._saves(written[at : at + _TOGETHER], stack))
                if self._recorder is not None:
                    self._recorder.about_to(*(one.step for one in saves if one.step is not None))
                for one in saves:
                    one.new.settle()
                for one in saves:
                    self._finish(one)
        first = (self._change(draft, text) for draft, text, _ in (drafts[:JUDGED] if self.judged else ()))
        return tuple(said for one in first if (said := replace(one, held=one.path in held).verdict))

    def _change(self, draft: TextFile, text: str) -> ContentChange:
        return ContentChange(draft.path, draft.stored, draft.encoding.encode(text), draft.encoding)

    def _saves(self, drafts: Sequence[tuple[TextFile, str, Mapping[str, Any]]], held: ExitStack) -> Iterator[_Save]:
        """Make everything ready, so that putting the new files in their places is all that is left."""
        place, recorder = None, self._recorder
        for draft, text, note in drafts:
            data = draft.encoding.encode(text)
            self._check_size(draft.path, len(data), self._limits.write_bytes, _SPLIT)
            place = held.enter_context(self._place(draft.path, place))
            found = self._contents.digest(place.path, data)
            known = draft.version.digest, found
            step = recorder.plan(place, data, draft.stored, None, known) if recorder else None
            new = held.enter_context(atomic.Replacement(place, data, self._stage()))
            new.begin()
            yield _Save(draft, place, new, found, step, note)

    def _place(self, path: str, last: PathHandle | None) -> PathHandle:
        """Where a draft is to be saved; in the folder of the last one, that is known."""
        parts = tuple(path.split("/"))
        if last is None or parts[:-1] != last.parts[:-1]:
            return self.root.place(path, check=self.may_write)
        self.may_write(parts)
        return last.beside(parts[-1])

    def _finish(self, save: _Save) -> None:
        """Put a new file in its place, if the old one is still what it was."""
        place, draft, recorder = save.place, save.draft, self._recorder
        save.new.put(lambda: self._check_unchanged(place, draft.version))
        status = place.status()
        self.records.note(place.path, Version(stamp_of(status), save.digest), draft.encoding, written=True)
        if recorder is not None and save.step is not None:
            recorder.written(save.step, status)
            recorder.folders.add(place)
            recorder.note[place.path] = dict(save.note)
        else:
            place.sync()

    def write(
        self,
        path: str,
        content: str | bytes,
        *,
        overwrite: bool = True,
        mode: int | None = None,
        encoding: str | None = None,
    ) -> ContentChange:
        """Write a whole file, making missing folders. An existing file keeps its encoding, mode and owner."""
        if path.startswith(PREFIX):
            raise ToolError(ErrorCode.PERMISSION, f"{path!r} is a kept output: it can be read, not written.")
        with self.root.place(self.where(path)[1], create=True, check=self.prepare) as place:
            before, version = self._existing(place, path)
            if version is not None and not overwrite:
                raise ToolError(ErrorCode.CONFLICT, f"{path!r} exists. Set `overwrite` to replace it, or use `edit`.")
            if version is not None:
                self._fresh.check(place.path, version)
            used = find_encoding(encoding) if encoding else self._kept_encoding(before)
            data = content if isinstance(content, bytes) else used.encode(content)
            self._check_size(path, len(data), self._limits.write_bytes, _SPLIT)
            change = ContentChange(place.path, before, data, used, judged=self.judged)
            if version is not None and self._hold(change, version):
                return replace(change, held=True)
            if change.changed:
                self._put(place, data, version, used, before=before, create_only=not overwrite, mode=mode)
            return change

    def _put(
        self,
        place: PathHandle,
        data: bytes,
        version: Version | None,
        encoding: Encoding,
        *,
        before: bytes | None,
        create_only: bool = False,
        mode: int | None = None,
    ) -> None:
        mode = mode if mode is not None else self._new_file_mode
        digests = (version.digest if version else None, self._contents.digest(place.path, data))
        recorder = self._recorder
        sync = recorder.folders.add if recorder else PathHandle.sync
        with recorder.writing(place, data, before, mode, digests) if recorder else self._turn():
            atomic.write(
                place,
                data,
                stage=self._stage(),
                create_only=create_only,
                mode=mode,
                check=lambda: self._check_unchanged(place, version),
                sync=sync,
            )
        status = place.status()
        self.records.note(place.path, Version(stamp_of(status), digests[1]), encoding, written=True)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        with WriteTurn(self.root) as turn:
            turn.take()
            yield

    def _stage(self) -> int | None:
        try:
            with suppress(FileNotFoundError):
                if not self.root.others and os.stat(self.state.path).st_dev != os.fstat(self.root.fd).st_dev:
                    return None
            stage = self.state.folder("stage")
            if stage not in self._swept:
                self._swept.add(stage)
                atomic.sweep(stage, older=60)
            return stage
        except OSError:
            return None  # no place of our own: the new file is then made beside the old one

    def prepare(self, parts: tuple[str, ...]) -> None:
        """Before folders are made for a place: may it be written, and what will be made on the way."""
        self.may_write(parts)
        if self._recorder is not None:
            self._recorder.expect(parts)

    def prepare_copy(self, parts: tuple[str, ...]) -> None:
        """The same for a copy of ours, which has no type of its own."""
        self.prepare((*parts[:-1], parts[-1].partition(".backup.")[0]))

    def may_write(self, parts: tuple[str, ...]) -> None:
        """Raise ToolError if nothing may be written at this real path."""
        if found := paths.find_protected(parts, self._policy.protected):
            raise ToolError(
                ErrorCode.SECURITY,
                f"{'/'.join(parts)!r} is protected: tools read {found!r} but never write to it.",
            )
        if self.root.trust.protects:
            self.root.trust.check_write(parts)
        self._may_open(parts, Effect.WRITE | Effect.DELETE)
        if self._auto_run is not None:
            self._ask_auto_run(self._auto_run, parts)

    def _ask_auto_run(self, check: AutoRunCheck, parts: tuple[str, ...]) -> None:
        name, root, inner = self.root.owner(parts)
        check.check(root.fd, inner, name)

    def may_remove(self, parts: tuple[str, ...]) -> None:
        """Raise ToolError if what is at this real path may not be taken away or get another name."""
        self.may_write(parts)
        self.root.trust.check_remove(parts)

    def _check_unchanged(self, place: PathHandle, version: Version | None) -> None:
        """Raise ToolError if the old file was changed meanwhile; called right before a new one takes its name."""
        if not self._is(place, version) if version is not None else place.mode():
            raise modified_error(place.path)

    def _is(self, place: PathHandle, version: Version) -> bool:
        try:
            status = place.status()
        except FileNotFoundError:
            return False
        if stamp_of(status) == version.stamp:
            return True
        data = self._existing(place, place.path)[0]
        return version.digest is not None and data is not None and digest(data) == version.digest

    def _existing(self, place: PathHandle, path: str) -> tuple[bytes | None, Version | None]:
        """What stands at a place: its bytes (if it is a file of a size to hold) and version, or nothing."""
        try:
            fd = os.open(place.name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place.fd)
        except FileNotFoundError:
            return None, None
        try:
            status = os.fstat(fd)
            if stat.S_ISDIR(status.st_mode):
                raise IsADirectoryError(21, "It is a directory, not a file", path)
            check_kept(path, status.st_size)
            data = read_all(fd, status.st_size) if stat.S_ISREG(status.st_mode) else b""
            return data, Version(stamp_of(status), self._contents.digest(place.path, data))
        finally:
            os.close(fd)

    def _kept_encoding(self, before: bytes | None) -> Encoding:
        try:
            return UTF8 if before is None else detect(before[:HEAD])
        except ToolError:
            return UTF8
