"""Search earlier calls, notes and the shipped guidance."""

from __future__ import annotations

import datetime
import re
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from toolroll.host.files.journal.log import undone_numbers
from toolroll.host.knowledge.call_log import SAID, CallLog, LoggedCall
from toolroll.host.knowledge.note_store import NoteStore, path
from toolroll.text.knowledge import fusion, passages
from toolroll.text.knowledge.chunks import split_markdown
from toolroll.text.knowledge.passages import Hits, Passage
from toolroll.text.lines import counted, list_some

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from toolroll.host.files.journal.entry import JournalEntry
    from toolroll.host.files.journal.journal import Journal
    from toolroll.host.files.workspace import Workspace
    from toolroll.host.knowledge.semantic import SemanticRanking
    from toolroll.host.runtime.call import Call

_MAX_CALLS = 5_000  # the latest
_MAX_PATHS = 20  # of one call
_MAX_MESSAGE_CHARS = 2_000
_WHEN = re.compile(r"\A\d{4}-\d\d-\d\d \d\d:\d\d |; in session \S+")  # not embedded
_DIFF = "\n\0"  # between what is said of a call and the lines that it changed
_DIFF_SECONDS = 1.0  # for reading what calls changed
_MAX_DIFF_CHARS = 20_000  # of one call, that are searched
_MAX_DIFF_LINES, _MAX_LINE_CHARS = 8, 200  # of one call, that are shown
_EMBED_SECONDS = 2.0  # for making vectors during a search


@dataclass(frozen=True, slots=True)
class History:
    """Searches passages that are not in the library, on behalf of one call."""

    files: Workspace
    journal: Journal
    call_log: CallLog
    semantic: SemanticRanking
    call: Call

    def calls(self) -> list[Passage]:
        """What was said, and the calls that changed files, ran programs or asked others, the oldest first."""
        entries = self.journal.entries()
        gone = undone_numbers(entries)
        diffs = self._diffs(entries)
        made = [(one.time, _call(one, one.number in gone, diffs.get(one.number, ""))) for one in entries[-_MAX_CALLS:]]
        made += [(one.time, _called(one)) for one in self.call_log.all()[-_MAX_CALLS:]]
        return [passage for _, passage in sorted(made, key=lambda pair: pair[0])]

    def _diffs(self, entries: Sequence[JournalEntry]) -> dict[int, str]:
        """The lines that calls removed and added, by their numbers; of the latest ones, as far as there is time."""
        made: dict[int, str] = {}
        deadline = time.monotonic() + _DIFF_SECONDS
        for entry in reversed(entries):
            self.call.token.check()
            if time.monotonic() > deadline:
                break
            lines = (line for _, diff in self.journal.describe(entry.changes) for line in diff.split("\n"))
            made[entry.number] = "\n".join(line for line in lines if line[:1] in ("+", "-"))[:_MAX_DIFF_CHARS]
        return made

    def notes(self) -> list[Passage]:
        """The notes of this workspace in pieces, the last changed last."""
        made = []
        for note in reversed(NoteStore(self.files, self.call.token).all()[0]):
            tags = "".join(f" #{tag}" for tag in note.tags)
            for part in split_markdown(note.content):
                title = " > ".join(filter(None, [note.title, part.title]))
                made.append(Passage(path(note.id), f"{note.type} note{tags}: {title}", part.text, 0.0))
        return made

    def search(self, known: Sequence[Passage], query: str, limit: int) -> Hits:
        """The passages that answer, ranked by words and meaning; of equals, the later one comes first."""
        latest = known[::-1]  # so that of equals the later one comes first
        words = passages.score_passages(latest, passages.check_query(query))
        texts = [_WHEN.sub("", f"{one.title}\n{one.text}".strip().partition(_DIFF)[0]) for one in latest]
        near, ranking = self.semantic.similarities(query, texts, _EMBED_SECONDS, self.call.token)
        best = fusion.fuse(words, near)
        terms = passages.required_terms(passages.weigh_query(query))
        made = [replace(_shorten(latest[at], terms), score=round(score, 4)) for at, score in best[:limit]]
        return Hits(made, len(best), ranking)


def _shorten(one: Passage, terms: Collection[str]) -> Passage:
    """A passage with those lines of its diff that have one of the terms."""
    head, mark, diff = one.text.partition(_DIFF)
    if not mark:
        return one
    lines = diff.split("\n")
    kept = [line for line in lines if not passages.count_terms(line).keys().isdisjoint(terms)]
    shown = [line[:_MAX_LINE_CHARS] for line in kept[:_MAX_DIFF_LINES]]
    more = [f"... {counted(len(lines) - len(shown), 'more line')}"] if shown and len(lines) > len(shown) else []
    return replace(one, text="\n".join([head, *shown, *more]))


def _called(one: LoggedCall) -> Passage:
    ended = "" if one.outcome in ("success", SAID) else f"; it failed with {one.outcome}"
    session = f"; in session {one.session}" if one.session else ""
    said = f"{_at(one.time)} {one.tool}: {one.arguments}{ended}{session}"
    source = f"said by {one.tool}" if one.outcome == SAID else f"call of {one.tool}"
    return Passage(source, "", "\n".join(filter(None, [said, one.message])), 0.0)


def _at(moment: float) -> str:
    return datetime.datetime.fromtimestamp(int(moment), datetime.UTC).strftime("%Y-%m-%d %H:%M")


def guidance() -> list[Passage]:
    """The texts on how to use these tools well."""
    from importlib.resources import files

    made = []
    folder = files("toolroll.text.knowledge.guidance")
    for one in sorted(folder.iterdir(), key=lambda each: each.name):
        if one.name.endswith(".md"):
            head, _, body = one.read_text("utf-8").partition("\n")
            made.append(Passage(f"guidance/{one.name.removesuffix('.md')}", head.lstrip("# "), body.strip(), 0.0))
    return made


def _files(entry: JournalEntry) -> list[str]:
    """The paths that an entry touched, without folders that were only created or removed."""
    paths: dict[str, None] = {}
    for one in entry.changes:
        state = one.after or one.before
        if one.source is not None or (state is not None and state.kind != "directory"):
            paths |= dict.fromkeys(filter(None, [one.source, one.path]))
    return list(paths)


def _call(entry: JournalEntry, taken_back: bool, diff: str) -> Passage:
    paths = _files(entry) or entry.paths()
    back = f", taking back {', '.join(map(str, entry.undoes))}" if entry.undoes else ""
    said = [
        f"{_at(entry.time)} {entry.tool}: {list_some(paths, _MAX_PATHS)}{back}",
        f"in session {entry.session}" if entry.session else "",
        "undone since" if taken_back else "",
    ]
    text = "\n".join(filter(None, ["; ".join(filter(None, said)), entry.message[:_MAX_MESSAGE_CHARS]]))
    return Passage(f"call {entry.number}", "", f"{text}{_DIFF}{diff}" if diff else text, 0.0)
