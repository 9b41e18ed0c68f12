"""Calls, commands and edits of a workspace in one line of time, with their diffs."""

from __future__ import annotations

import datetime
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from toolroll.host.files.journal.entry import UNKNOWN
from toolroll.host.files.journal.log import undone_numbers
from toolroll.host.files.journal.points import CHECKPOINT
from toolroll.host.knowledge.call_log import SAID, CallLog, LoggedCall
from toolroll.text.escape import escape_line
from toolroll.text.files.changes import change_rows
from toolroll.text.names import show_name

if TYPE_CHECKING:
    from toolroll.host.files.journal.entry import JournalEntry
    from toolroll.host.files.journal.journal import Journal

_MAX_CHARS = 200  # of a command or of arguments
_LOGGED_SECONDS = 2.0  # within which a call that has an entry is logged
COMMAND = "command"  # in the note of an entry: the text of the command that made it


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """One call. `entry` is its number in the journal; None if it changed no file."""

    entry: int | None
    time: str
    tool: str
    session: str
    said: str
    """The command, the arguments or the name, on one line."""
    outcome: str = "success"
    paths: list[str] = field(default_factory=list)
    undoes: list[int] = field(default_factory=list)
    undone: bool = False
    changes: list[dict[str, Any]] = field(default_factory=list)
    """Like `diff`, only where diffs were asked for."""
    diff: str = ""

    def __str__(self) -> str:
        what = ": ".join(filter(None, [self.said, ", ".join(map(show_name, self.paths))]))
        end = " (undone)" if self.undone else "" if self.outcome == "success" else f" ({self.outcome})"
        head = f"{self.entry or '':>5}  {self.time}  {self.tool:<14} {what}{end}"
        return f"{head}\n{self.diff}" if self.diff else head


@dataclass(frozen=True, slots=True)
class Timeline:
    """The last calls of a workspace, newest last."""

    calls: list[TimelineRow]

    def __str__(self) -> str:
        return (
            "\n".join(map(str, self.calls)) or "The journal is empty: no call has changed files or run programs here."
        )


def read_timeline(journal: Journal, log: CallLog, last: int | None, *, diffs: bool = False) -> Timeline:
    """The last calls, or all of them: those that changed files, ran programs or asked others."""
    entries = journal.entries()
    gone = undone_numbers(entries)
    made: list[tuple[float, JournalEntry | LoggedCall]] = [(one.time, one) for one in entries]
    made += [(one.time, one) for one in _without_entries(log.all(), entries)]
    made = sorted(made, key=lambda pair: pair[0])[-(last or len(made) or 1) :]
    return Timeline(
        [
            _call(one) if isinstance(one, LoggedCall) else _entry(one, one.number in gone, journal if diffs else None)
            for _, one in made
        ]
    )


def _without_entries(calls: Sequence[LoggedCall], entries: Sequence[JournalEntry]) -> list[LoggedCall]:
    """The logged calls that have no entry; a call is logged right after its entry was written."""
    left = sorted((one for one in calls if one.outcome != SAID), key=lambda one: one.time)
    for entry in entries:
        if COMMAND in entry.note or CHECKPOINT in entry.note:
            known = entry.tool, entry.session
            for at in range(bisect_left(left, entry.time, key=lambda one: one.time), len(left)):
                if left[at].time > entry.time + _LOGGED_SECONDS:
                    break
                if (left[at].tool, left[at].session) == known:
                    del left[at]
                    break
    return left


def _call(one: LoggedCall) -> TimelineRow:
    return TimelineRow(None, _at(one.time), one.tool, one.session, _one_line(_command(one.arguments)), one.outcome)


def _entry(one: JournalEntry, undone: bool, journal: Journal | None) -> TimelineRow:
    shown = journal.describe(one.changes) if journal is not None else []
    diff = "\n".join(f"{change}\n{text}".rstrip() for change, text in shown)
    own = one.paths(), list(one.undoes), undone, change_rows([change for change, _ in shown]), diff
    return TimelineRow(one.number, _at(one.time), one.tool, one.session, describe_note(one), "success", *own)


def describe_note(entry: JournalEntry) -> str:
    """The command that made an entry, the name of a checkpoint, or what is wrong, on one line; often empty."""
    return _one_line(str(next((entry.note[one] for one in (COMMAND, CHECKPOINT, UNKNOWN) if one in entry.note), "")))


def _command(arguments: str) -> str:
    """The command among arguments, or all of them."""
    try:
        given = msgspec.json.decode(arguments)
    except msgspec.DecodeError:  # they were long, and cut
        return arguments
    return str(given.get(COMMAND) or arguments)


def _one_line(text: str) -> str:
    return escape_line(text[:_MAX_CHARS]) + ("..." if len(text) > _MAX_CHARS else "")


def _at(moment: float) -> str:
    return datetime.datetime.fromtimestamp(moment, datetime.UTC).isoformat(timespec="seconds")
