"""Rank, evict, merge and show memories."""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from toolroll.result import ErrorCode, Suggestion, ToolError
from toolroll.text.knowledge import passages
from toolroll.text.knowledge.fusion import MIN_SIMILARITY
from toolroll.text.ranking.bm25 import Bm25Index

Type = Literal["working", "episodic", "semantic", "perceptual"]
TYPES: tuple[Type, ...] = get_args(Type)
Strategy = Literal["importance", "time", "capacity"]

MAX_WORKING = 100
MIN_PROMOTED_IMPORTANCE = 0.7  # how important a memory is that is worth keeping for long

_MAX_CONTENT_CHARS = 4000  # characters
_MAX_SUMMARY_CHARS = 200  # of a memory in a summary
_MAX_LISTED = 20  # memories in a list of what was done
_REPLACED_SHARE = 0.25  # of its score, that a memory keeps which a newer one contradicts
_DAY_SECONDS = 86400.0
_HALF: Mapping[Type, float] = {"working": 1, "perceptual": 7, "episodic": 30, "semantic": 365}
"""Days after which a memory of a type is half as fresh."""
_LONGEST_FIRST: tuple[Type, ...] = ("semantic", "episodic", "perceptual", "working")
_ID = re.compile(r"[mM]?([0-9]{1,15})")


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory as it is kept; times in seconds since 1970."""

    number: int
    content: str
    type: Type
    importance: float
    created: float
    updated: float
    replaced: int = 0
    """The number of a newer one that contradicts it; 0 if there is none."""

    @property
    def id(self) -> str:
        """Short, and never given to another one."""
        return f"m{self.number}"


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """One memory as it is shown; `score` only says how it compares to others of the same search."""

    id: str
    content: str
    type: str
    importance: float
    created: str
    updated: str
    score: float | None = None
    replaced_by: str | None = None

    def __str__(self) -> str:
        said = self.content.replace("\n", "\n    ")
        replaced = f", replaced by {self.replaced_by}" if self.replaced_by else ""
        return f"{self.id} [{self.type}, importance {self.importance:g}, {self.updated[:10]}{replaced}] {said}"

    @property
    def brief(self) -> str:
        return str(replace(self, content=_cut(self.content)))


@dataclass(frozen=True, slots=True)
class MemoryResults:
    """The memories that answer a question, the best first, of `total` that do."""

    memories: list[MemoryRow]
    total: int
    ranking: str
    reason: str = ""
    """What the ranking is by, in words, and why not by more."""
    others: list[str] = field(default_factory=list)
    """All memories, where none answers and they are few."""

    @property
    def note(self) -> str:
        more = self.total - len(self.memories)
        more_note = [f"{more} more: raise `limit` or narrow by `type`."] if more else []
        return "\n".join([*more_note, *filter(None, [self.reason])])

    def __str__(self) -> str:
        none = "No memory answers this." + " There are:" * bool(self.others)
        return "\n".join([*(map(str, self.memories) if self.memories else [none]), *self.others])


@dataclass(frozen=True, slots=True)
class MemorySummary:
    """How many memories of each type there are, and those that matter most now."""

    total: int
    types: dict[str, int]
    oldest: str
    newest: str
    memories: list[MemoryRow]

    def __str__(self) -> str:
        if not self.total:
            return "There are no memories."
        counts = ", ".join(f"{count} {type}" for type, count in self.types.items() if count)
        lead = f"{describe_count(self.total)}: {counts}. From {self.oldest[:10]} to {self.newest[:10]}."
        return "\n".join([f"{lead} What matters most:", *(one.brief for one in self.memories)])


@dataclass(frozen=True, slots=True)
class MergePlan:
    """Which memories to merge, and which to make semantic."""

    changed: list[Memory] = field(default_factory=list)
    promoted: list[Memory] = field(default_factory=list)
    """Those of them that are semantic from now on."""
    merged: dict[int, int] = field(default_factory=dict)
    """The number of each that goes, and of the one that says the same."""


@dataclass(frozen=True, slots=True)
class EvictionPlan:
    """Which working memories to drop, and which to keep, when there are too many."""

    dropped: list[Memory] = field(default_factory=list)
    promoted: list[Memory] = field(default_factory=list)
    """Those that are too important to go: semantic from now on."""


def check_content(content: str) -> str:
    """A text that can be remembered, without blanks around it; ToolError for any other."""
    made = content.strip()
    if not made or "\0" in made:
        raise ToolError(ErrorCode.VALIDATION, "`content` must be text: say what to remember.")
    if len(made) > _MAX_CONTENT_CHARS:
        raise ToolError(
            ErrorCode.TOO_LARGE,
            f"`content` has {len(made)} characters; a memory has at most {_MAX_CONTENT_CHARS}. "
            "Say it shorter, or make several.",
        )
    return made


def check_id(id: str) -> int:
    """The number of a memory from its id; ToolError for what can be none."""
    if found := _ID.fullmatch(id.strip()):
        return int(found[1])
    raise ToolError(ErrorCode.VALIDATION, f"`id`: {id[:80]!r} is not the id of a memory. Ids look like 'm12'.")


def missing_memory(number: int) -> ToolError:
    """The error for an id that no memory has."""
    return ToolError(
        ErrorCode.NOT_FOUND,
        f"There is no memory 'm{number}'. Find the right id with action 'search' or 'summary'.",
        suggest=(Suggestion("memory", {"action": "summary"}),),
    )


def show_memory(memory: Memory, score: float | None = None) -> MemoryRow:
    """A memory to be shown."""
    created, updated = format_time(memory.created), format_time(memory.updated)
    replaced = f"m{memory.replaced}" if memory.replaced else None
    return MemoryRow(memory.id, memory.content, memory.type, memory.importance, created, updated, score, replaced)


def list_memories(memories: Sequence[Memory]) -> list[str]:
    """A line for each of the memories that something was done to, and how many more."""
    more = len(memories) - _MAX_LISTED
    lines = [show_memory(one).brief for one in memories[:_MAX_LISTED]]
    return [*lines, *([f"and {more} more"] if more > 0 else [])]


def describe_count(count: int) -> str:
    """So many memories, in words."""
    return f"{count} {'memory' if count == 1 else 'memories'}"


def normalise_content(content: str) -> str:
    """What two memories that say the same have in common: all but case, blanks and a full stop.

    No more than that: one sign or one small word can turn what is said into its opposite.
    """
    return " ".join(content.casefold().split()).rstrip(".").rstrip()


def recency(memory: Memory, now: float) -> float:
    """How fresh a memory is, 1 to 0; types fade at their own pace."""
    days = max(0.0, now - memory.updated) / _DAY_SECONDS
    return float(0.5 ** (days / _HALF[memory.type]))


def worth(memory: Memory, now: float) -> float:
    """What a memory is worth without any question, 0 to 1."""
    return 0.7 * memory.importance + 0.3 * recency(memory, now)


def rank(
    memories: Sequence[Memory], query: str, now: float, likeness: Mapping[int, float] | None = None
) -> list[tuple[Memory, float]]:
    """The memories that answer a question with their scores, the best first.

    The words that they share with it count, and how like their vectors are where those are given by number; what
    is important and fresh comes before what answers as well.
    """
    texts = _by_words(memories, query)
    found = []
    for one in memories:
        text = texts.get(one.number, 0.0)
        relevance = text
        if likeness is not None:
            like = max(0.0, likeness.get(one.number, 0.0))
            relevance = (text + like) / 2 if text or like >= MIN_SIMILARITY else 0.0
        if relevance:
            share = _REPLACED_SHARE if one.replaced else 1.0
            found.append((one, round(share * relevance * (4 + 2 * one.importance + recency(one, now)) / 7, 4)))
    return sorted(found, key=lambda pair: (-pair[1], -pair[0].updated, -pair[0].number))


def choose_forgotten(
    memories: Iterable[Memory], strategy: Strategy, now: float, *, threshold: float, days: float, keep: int
) -> list[Memory]:
    """Those to forget: less important than the threshold, unchanged for so many days, or worth least beyond `keep`."""
    if strategy == "importance":
        return [one for one in memories if one.importance < threshold]
    if strategy == "time":
        return [one for one in memories if one.updated <= now - days * _DAY_SECONDS]
    best = sorted(memories, key=lambda one: (-worth(one, now), -one.number))
    return sorted(best[keep:], key=lambda one: one.number)


def plan_eviction(memories: Iterable[Memory], new: int, now: float) -> EvictionPlan:
    """What to do when there are too many working memories: those worth least go, and never the new one."""
    working = [one for one in memories if one.type == "working"]
    others = sorted((one for one in working if one.number != new), key=lambda one: (worth(one, now), one.number))
    crowd = others[: max(0, len(working) - MAX_WORKING)]
    return EvictionPlan(
        [one for one in crowd if one.importance < MIN_PROMOTED_IMPORTANCE],
        [replace(one, type="semantic") for one in crowd if one.importance >= MIN_PROMOTED_IMPORTANCE],
    )


def plan_merge(memories: Sequence[Memory], threshold: float, type: Type | None) -> MergePlan:
    """Important short-lived memories become semantic, and those that say the same become one.

    Of those, the one that lasts longest keeps its id, and takes the highest importance.
    """
    lasting = ("working", "episodic") if type is None else (type,)
    groups: dict[str, list[Memory]] = {}
    raised = set()
    for one in memories:
        if one.type in lasting and one.type != "semantic" and one.importance >= threshold:
            raised.add(one.number)
        made = replace(one, type="semantic") if one.number in raised else one
        groups.setdefault(normalise_content(one.content), []).append(made)
    changed = []
    merged: dict[int, int] = {}
    for group in groups.values():
        # One that was semantic before stays the one that others may know by its id.
        group.sort(key=lambda one: (_LONGEST_FIRST.index(one.type), one.number in raised, one.number))
        first, *rest = group
        merged |= {one.number: first.number for one in rest}
        if rest or first.number in raised:
            changed.append(_joined(group))
    return MergePlan(changed, [one for one in changed if one.number in raised], merged)


def summarise(memories: Sequence[Memory], now: float, most: int) -> MemorySummary:
    """What there is, and so many of those that are worth most."""
    counts = Counter(one.type for one in memories)
    best = sorted(memories, key=lambda one: (-worth(one, now), -one.number))[:most]
    return MemorySummary(
        len(memories),
        {type: counts[type] for type in TYPES},
        format_time(min((one.created for one in memories), default=0)) if memories else "",
        format_time(max((one.updated for one in memories), default=0)) if memories else "",
        [show_memory(one) for one in best],
    )


def format_time(seconds: float) -> str:
    """A time as text."""
    return datetime.datetime.fromtimestamp(int(seconds), datetime.UTC).isoformat().replace("+00:00", "Z")


def _joined(group: Sequence[Memory]) -> Memory:
    return replace(
        group[0],
        importance=max(one.importance for one in group),
        created=min(one.created for one in group),
        updated=max(one.updated for one in group),
    )


def _by_words(memories: Sequence[Memory], query: str) -> dict[int, float]:
    """How well the words fit, by number: 1 for the best. Only those that share one are in it."""
    question = passages.weigh_query(query)
    index = Bm25Index()
    for one in memories:
        # Splitting takes long: of a text that cannot have any of the terms, only its length counts.
        plain = unicodedata.normalize("NFKC", one.content).lower().replace("_", "")
        said = plain if plain.isascii() else f"{plain} {passages.remove_accents(plain)}"
        fits = any(map(said.__contains__, question))
        index.add(passages.count_terms(one.content) if fits else {"": plain.count(" ") + 1})
    scores = index.scores(question)
    best = max(scores.values(), default=1.0)
    return {memories[at].number: score / best for at, score in scores.items()}


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_SUMMARY_CHARS else f"{line[: _MAX_SUMMARY_CHARS - 3]}..."
