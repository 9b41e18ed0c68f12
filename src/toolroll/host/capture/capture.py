"""Capture what commands change: a baseline before, a comparison after, one entry of the journal for each command."""

from __future__ import annotations

import os
import re
import stat
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from toolroll.host.capture.baseline import TreeBaseline, describe_folder, kind_of, token
from toolroll.host.capture.git_refs import GitRefs
from toolroll.host.capture.listing import (
    Differences,
    Listing,
    NewFiles,
    Stamp,
    keep_entries,
    split_differences,
)
from toolroll.host.capture.losses import find_targets, name_losses
from toolroll.host.capture.steps import (
    FolderPairs,
    Pairs,
    align_states,
    count_changes,
    find_renamed,
    is_cache,
    is_same,
    name_changes,
    order_steps,
)
from toolroll.host.capture.under_way import CaptureWatch, Writer, WriterRecord, drop_record, hold_record, left_records
from toolroll.host.files.journal.entry import UNKNOWN, JournalEntry, PathState
from toolroll.host.files.journal.journal import Journal
from toolroll.host.files.journal.pending import TouchedPaths
from toolroll.host.files.versions import SeenVersions, Version, digest
from toolroll.host.runtime.process_tree import own_activity
from toolroll.result import ToolError
from toolroll.text.files.changes import Change, describe_changes

if TYPE_CHECKING:
    from toolroll.host.files.root import Root
    from toolroll.host.runtime.call import Call
    from toolroll.host.runtime.launcher import Launcher
    from toolroll.host.runtime.state import State
    from toolroll.policy.commands import Judgement
    from toolroll.policy.limits import Limits

_MAX_KEPT_FILES = 500  # new contents of one command that are kept at once; the next baseline keeps the others
_MAX_TITLE = 500
_TICK_S, _QUIET_S = 0.5, 2.0  # how often jobs are looked at, and after what time without a change they are recorded
_REST = 50  # times as long as a look at the tree takes there is none
_OTHERS = "other programs"
_PATIENCE_S = 5.0  # of a kit that is closed while calls of others change what its commands have changed
_SETTLE_S = 0.05  # after which another change of a file shows in its times
_SURROGATES = re.compile("[\ud800-\udfff]")


class Capture:
    """The writers of one workspace, and what they change. Thread-safe."""

    def __init__(
        self,
        root: Root,
        state: State,
        journal: Journal,
        records: SeenVersions,
        launcher: Launcher,
        limits: Limits,
    ) -> None:
        self._state, self._journal, self._records = state, journal, records
        self._blobs = journal.log.blobs
        self._limits = limits
        self._baseline = self._make_baseline(root, state, self._blobs, launcher, limits)
        self._blobs.needed = self._baseline.contents_kept
        self._refs = self._make_refs(root, self._blobs, launcher, limits.undo_file_bytes)
        self._top = root.path
        self._lock = threading.Lock()
        self._writers: list[Writer] = []
        self._closed = threading.Event()
        self._is_following = False
        self._activity: object = None
        self._size = 0  # of the journal, at the time of the baseline
        self._own = set[int]()  # the entries that were made here
        self._left: Writer | None = None  # whose changes are not all recorded, for calls of ours changed the same paths
        self._before_calls: dict[str, PathState | None] = {}  # what stood at paths that calls are changing
        journal.catch_up = self.flush

    def _make_baseline(self, *own: Any) -> TreeBaseline:
        return TreeBaseline(*own)

    def _make_refs(self, *own: Any) -> GitRefs:
        return GitRefs(*own)

    def watch(self, call: Call, title: str) -> CaptureWatch:
        """What a command that is about to be started is captured by."""
        return CaptureWatch(self, call, title)

    @contextmanager
    def captured(self, call: Call, title: str) -> Iterator[None]:
        """Around work of another process for a call; the call is given what was changed."""
        writer = self.begin(call, title)
        try:
            yield
        finally:
            self.end(writer)
            writer.report(call)

    def name_losses(self, judgement: Judgement, cwd: str, call: Call) -> Judgement:
        """A question that says also what the command would remove or overwrite and `undo` could not put back."""
        targets = find_targets(judgement.parts, cwd, self._top)
        lost = self._losses(targets) if targets else ""
        if not lost:
            return judgement
        call.progress(0, None, lost)
        return replace(judgement, reason=f"{judgement.reason} {lost}")

    def _losses(self, targets: Sequence[str]) -> str:
        with self._lock:
            try:
                if not self._writers and self._left is None:
                    self._update()
            except (OSError, ToolError) as error:
                return f"`undo` could not put back what it removes: {_describe(error)}."
            return name_losses(self._baseline, targets)

    def begin(self, call: Call, title: str) -> Writer:
        """Before something that may write is started: make the baseline current."""
        writer = Writer(call.name, call.session, call.message, title[:_MAX_TITLE])
        with self._lock:
            try:
                if (last := self._last_writer()) is not None:
                    self._flush(last)
                if self._last_writer() is None:
                    self._update()
                else:
                    self._baseline.keep_pending()
                self._refs.take_moved()
                about = WriterRecord(writer.tool, writer.session, writer.message, writer.title, self._baseline.name)
                writer.record = hold_record(self._state, about)
            except (OSError, ToolError) as error:
                writer.unknown = _describe(error)
                writer.note = f"Its changes cannot be undone: {writer.unknown}."
                return writer
            self._writers.append(writer)
        return writer

    def end(self, writer: Writer) -> None:
        """After it has ended: compare, and write the entry. Never raises."""
        with self._lock:
            if writer not in self._writers:
                return self._note_unknown(writer)
            try:
                self._flush(writer)
            except (OSError, ToolError) as error:
                writer.unknown = _describe(error)
                writer.note = f"What it changed could not be recorded: {writer.unknown}."
                self._note_unknown(writer)
            finally:
                self._writers.remove(writer)
                self._drop_record(writer)
                self._keep_later()

    def _note_unknown(self, writer: Writer) -> None:
        """Have an entry for a command whose changes are not known, at which an undo stops."""
        if writer.unknown:
            note = {UNKNOWN: writer.unknown, "command": writer.title}
            who = writer.tool, writer.session, writer.message
            self._journal.note_unknown(JournalEntry(0, time.time(), *who, (), note=note))

    def _drop_record(self, writer: Writer | None) -> None:
        """Remove the record of a command that has ended and whose changes are all in the journal."""
        if writer is not None and writer is not self._left and writer not in self._writers and writer.record:
            drop_record(self._state, writer.record)
            writer.record = None

    def _leave(self, writer: Writer | None) -> None:
        """Note whose changes are not all recorded; None if they are."""
        before, self._left = self._left, writer
        self._drop_record(before)

    def _keep_later(self) -> None:
        """Keep the contents of many new files beside what else is done, before the next command waits for it."""
        if not self._writers and self._baseline.pending() > _MAX_KEPT_FILES and not self._closed.is_set():
            threading.Thread(target=self._keep_now, name="toolroll baseline", daemon=True).start()

    def _keep_now(self) -> None:
        time.sleep(_SETTLE_S)
        with self._lock, suppress(OSError, ToolError):
            if self._last_writer() is None and not self._closed.is_set():
                self._update()

    def flush(self) -> None:
        """Before a call of ours that changes files: record what jobs have changed so far."""
        if self._last_writer() is not None:
            with self._lock, suppress(OSError, ToolError):
                if (last := self._last_writer()) is not None:
                    self._flush(last)

    def _last_writer(self) -> Writer | None:
        """Who may have changed what differs from the baseline; None if no command runs and all is recorded."""
        return self._writers[-1] if self._writers else self._left

    def settle(self, writer: Writer, call: Call, *, is_job: bool) -> None:
        """A command has ended, and its call reports what it changed; or it goes on as a job.

        What a job has changed is recorded whenever it has been quiet for a while.
        """
        if not is_job:
            writer.report(call)
            return
        with self._lock:
            writer.is_job = True
            if not self._is_following and writer in self._writers:
                self._is_following = True
                threading.Thread(target=self._follow, name="toolroll jobs", daemon=True).start()

    def _follow(self) -> None:
        seen: Listing | None = None
        since, pause = 0.0, _TICK_S
        while not self._closed.wait(pause):
            with self._lock:
                jobs = [one for one in self._writers if one.is_job]
                if not jobs or self._closed.is_set():
                    self._is_following = False
                    return
                began = time.monotonic()
                with suppress(OSError, ToolError):
                    now = self._baseline.list_now()
                    if now is not seen and now != seen:
                        seen, since = now, began
                    elif began - since >= _QUIET_S and len(jobs) == len(self._writers):
                        self._flush(jobs[-1])
                pause = max(_TICK_S, _REST * (time.monotonic() - began))

    def move_refs_back(self, notes: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], str]:
        """Move back what commands moved in the repository; the note of that, and a sentence."""
        with self._lock:
            done = self._refs.put_back(notes)
            self._refs.take_moved()
            return done

    def recover(self) -> list[str]:
        """Record what commands had changed whose kit was killed; what of that is not known, each with the reason."""
        unknown = []
        for left in left_records(self._state):
            title = f"what {left.title!r} changed" if left is not None else "what a command changed"
            try:
                if left is None or not self._baseline.load(left.baseline):
                    unknown.append(f"{title} before it was killed (its record is damaged)")
                    continue
                self._size, self._own = self._baseline.log_size, set()
                self._flush(Writer(left.tool, left.session, left.message, left.title))
            except (OSError, ToolError) as error:
                unknown.append(f"{title} before it was killed ({_describe(error)})")
        return unknown

    def close(self) -> None:
        self._closed.set()
        with self._lock:
            end = time.monotonic() + _PATIENCE_S
            while self._left is not None and time.monotonic() < end:  # another process changes the same paths
                with suppress(OSError, ToolError):
                    self._flush(self._left)
                time.sleep(_SETTLE_S if self._left else 0)
            if (left := self._left) is not None and left.record is not None:
                os.close(left.record.fd)  # the next start records what it finds
            self._baseline.close(keep=left is not None)

    def _flush(self, writer: Writer) -> None:
        """Record what has changed since the baseline as done by this writer, and make the baseline current.

        A path that a call of ours is changing, or has changed meanwhile, is left as it was for the next time.
        """
        log = self._journal.log
        size, steps = log.look()
        now, is_by_others = self._list()
        touched = TouchedPaths(steps)
        found, new_files = self._find(now, touched)
        moved = self._refs.take_moved()
        folders = self._baseline.folder_states(now, found)
        left = {path for path in found if path in touched}
        found = {path: stamps for path, stamps in found.items() if path not in left}
        if found and not (new_files or moved or left) and all(map(is_cache, found)):
            self._leave(None)
            return self._advance(now, found, size)
        end = log.size()
        every = self._ours(end)
        gone = (path for path, state in every.items() if state is not None and path not in left and path not in found)
        found |= {path: (None, None) for path in gone if path not in touched and self._is_gone(path, now)}
        if not (found or new_files or folders or moved or left):
            self._size, self._before_calls = size, {}
            return self._leave(None)
        ours = {path: state for path, state in every.items() if path in found or path in folders}
        pairs, kept = self._compare(found, ours, now, left)
        pairs |= {path: pair for path, pair in folders.items() if path not in ours and not is_same(*pair, exact=True)}
        renamed = dict(find_renamed(found, now, self._baseline.is_whole))
        self._note_seen(found, pairs)

        def make() -> JournalEntry | None:
            self._leave_late(left, pairs, end)
            return self._entry(writer, pairs, renamed, folders, new_files, moved, by_others=is_by_others)

        if (pairs or new_files or moved) and (entry := log.append_made(make)) is not None:
            self._own.add(entry.number)
        found = {path: stamps for path, stamps in found.items() if path not in left}
        self._advance(keep_entries(self._baseline.listing, now, left), found, size, kept, new_files)
        self._before_calls = {path: every[path] for path in left & every.keys()}
        return self._leave(writer if left else None)

    def _leave_late(self, left: set[str], pairs: dict[str, Any], end: int) -> None:
        """Leave out of an entry what calls of ours change, or have changed since the log had this size."""
        log = self._journal.log
        steps = log.pending.under_way()
        if log.size() != end:
            steps += (change for entry in log.entries_from(end) for change in entry.changes)
        late = TouchedPaths(steps)
        left.update(path for path in pairs if path in late)
        for path in left:
            pairs.pop(path, None)

    def _entry(
        self,
        writer: Writer,
        pairs: Pairs,
        renamed: Mapping[str, str],
        folders: FolderPairs,
        new_files: NewFiles,
        moved: Mapping[str, Any],
        *,
        by_others: bool,
    ) -> JournalEntry | None:
        """What is to be recorded; None if it is nothing but caches. The writer is told of it."""
        if not (pairs or new_files or moved):
            return None
        renamed = {new: old for new, old in renamed.items() if new in pairs and old in pairs}
        rows = name_changes(pairs, renamed, count_changes(pairs, self._blobs), new_files)
        note = {**self._note(writer, rows, by_others=by_others), **moved}
        if not (new_files or moved) and all(map(is_cache, pairs)):
            return None
        moves = {new: old for new, old in renamed.items() if (one := pairs[old][0]) is not None and one.is_lost}
        steps, who = order_steps(pairs, moves, folders), (writer.tool, writer.session, writer.message)
        return JournalEntry(0, time.time(), *who, steps, note=note, new_files=new_files)

    def _find(self, now: Listing, touched: TouchedPaths) -> tuple[Differences, NewFiles]:
        """What differs from the baseline; of many new files the further ones apart, unless some may be old ones."""
        found, new_files = split_differences(self._baseline.listing, now, _MAX_KEPT_FILES)
        is_plain = self._journal.log.size() == self._size and all(new is not None for _, new in found.values())
        if new_files and not (is_plain and not touched and _can_be_written(new_files)):
            found |= {f + name: (None, stamp) for f, names in new_files.items() for name, stamp in names.items()}
            new_files = {}
        return found, new_files

    def _compare(
        self, found: Differences, ours: Mapping[str, PathState | None], now: Listing, left: set[str]
    ) -> tuple[dict[str, tuple[PathState | None, PathState | None]], dict[str, str]]:
        """What stood at each path and does now, where that differs; the contents that are kept of the new ones.

        Paths at which there is nothing any more are `left` for the next time.
        """
        befores = {**self._baseline.states(found.keys() - ours.keys()), **ours}
        names = self._baseline.names_of((new for _, new in found.values()), now)
        kept: dict[str, str] = {}
        contents: dict[str, bytes] = {}
        pairs = {}
        for path, (old, new) in sorted(found.items()):
            before, after = align_states(befores.get(path), self._after(path, new, now, kept, contents))
            if after is not None and after.is_lost and self._baseline.is_gone(path):
                left.add(path)
                continue
            if new is not None and after is not None and new[1] in names:
                after = replace(after, names=tuple(one for one in names[new[1]] if one != path))
            is_other = bool(old and new and old[1] != new[1] and before and after and before.names != after.names)
            is_lost_cache = after is None and is_cache(path)
            if is_other or not (is_lost_cache or is_same(before, after, exact=path not in ours)):
                pairs[path] = before, after
        self._blobs.keep_many(contents)
        return pairs, kept

    def _advance(
        self,
        now: Listing,
        found: Differences,
        size: int,
        kept: Mapping[str, str] | None = None,
        new_files: NewFiles | None = None,
    ) -> None:
        """Take over a listing that was made when the log had this size."""
        self._baseline.advance(now, found, kept or {}, new_files or {})
        self._baseline.leave()
        self._size, self._before_calls = size, {}

    def _update(self) -> None:
        """Make the baseline current while no command runs; what calls of ours are changing stays as it was."""
        size, steps = self._journal.log.look()

        def look() -> TouchedPaths:
            steps.extend(self._journal.log.pending.under_way())
            return TouchedPaths(steps)

        self._baseline.update(size, look)
        touched = TouchedPaths(steps)
        every = self._ours(self._journal.log.size()) if touched else {}
        self._size, self._before_calls = size, {path: state for path, state in every.items() if path in touched}
        for step in steps:
            if step.source is None and self._baseline.stamp(step.path) is None:
                self._before_calls.setdefault(step.path, step.before)

    def _list(self) -> tuple[Listing, bool]:
        """What is there now, and whether only jobs were under way since the last time and none of them has run."""
        has_jobs = bool(self._writers) and all(one.is_job for one in self._writers)
        before, self._activity = self._activity, own_activity() if has_jobs else None
        now = self._baseline.list_now()
        return now, has_jobs and before is not None and before == own_activity()

    def _note(self, writer: Writer, rows: list[Change], *, by_others: bool) -> dict[str, Any]:
        """Tell the writer what was changed; what the entry says of it."""
        others = [one.title for one in self._writers if one is not writer]
        if by_others:
            others = [_OTHERS]
            writer.note = f"Also changed meanwhile, by other programs. {describe_changes(rows)}"
        else:
            writer.changes += rows
        if others and not by_others:
            writer.note = f"Commands that ran at the same time may have changed some of it: {'; '.join(others)}."
        return {"command": writer.title, **({"meanwhile": others} if others else {})}

    def _is_gone(self, path: str, now: Listing) -> bool:
        """Whether what was made here since the baseline, by another writer, is gone again."""
        folder, slash, name = path.rpartition("/")
        known = self._baseline.stamp(path) or now.get(folder + slash, {}).get(name)
        return known is None and self._baseline.is_gone(path)

    def _ours(self, end: int) -> dict[str, PathState | None]:
        """What other writers have left at paths since the baseline, up to a size of the log."""
        left = dict(self._before_calls)
        if end == self._size:
            return left
        for entry in self._journal.log.entries_from(self._size):
            for change in entry.changes:
                if entry.number in self._own:  # the baseline has it
                    left.pop(change.path, None)
                    continue
                left[change.path] = change.after
                if change.source is not None:
                    left[change.source] = None
        return left

    def _after(
        self, path: str, stamp: Stamp | None, now: Listing, kept: dict[str, str], contents: dict[str, bytes]
    ) -> PathState | None:
        """What stands at a path now; the content of a file of usual size is to be kept."""
        if stamp is None:
            return None
        kind, mode = kind_of(stamp), stat.S_IMODE(stamp[0])
        if kind == "directory":
            return describe_folder(path, stamp, now, self._baseline.read_attributes(path))
        is_small = stamp[2] <= self._limits.undo_file_bytes and len(kept) < _MAX_KEPT_FILES and not is_cache(path)
        if kind == "other" or (kind == "file" and not is_small):
            return PathState(kind, mode, token(stamp), stamp[3])
        if kind == "link":
            return PathState("link", 0, self._baseline.read_link(path))
        data, attributes = self._baseline.read_file(path)
        if data is None:
            return PathState(kind, mode, token(stamp), stamp[3])
        kept[path] = name = digest(data).hex()
        contents[name] = data
        return PathState("file", mode, name, stamp[3], attributes)

    def _note_seen(self, found: Differences, pairs: Pairs) -> None:
        """What the session's own command changed counts as seen, where it had seen the file as it was before."""
        for path, known in self._records.all().items() if self._records.knows_commands else ():
            if path not in found or known.version is None:
                continue
            old, new = found[path]
            after = pairs.get(path, (None, None))[1]
            same = old is not None and known.version.stamp[1:] == (old[1], *old[2:])
            if same and new is not None and after is not None and after.kind == "file" and not after.is_lost:
                stamp = known.version.stamp[0], new[1], *new[2:]
                version = Version(stamp, bytes.fromhex(after.content))
                self._records.note_command(path, version, known.encoding)


def _describe(error: OSError | ToolError) -> str:
    return error.message.rstrip(".") if isinstance(error, ToolError) else error.strerror or str(error)


def _can_be_written(files: NewFiles) -> bool:
    """Whether the log can have these names as they are: bytes that are not UTF-8 are translated step by step."""
    return not any(_SURROGATES.search(folder) or _SURROGATES.search("".join(names)) for folder, names in files.items())
