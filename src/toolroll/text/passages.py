"""Passages that answer a question: what they are found and ranked by, and how they are shown and cited."""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log
from typing import Literal

from toolroll.result import ErrorCode, ToolError
from toolroll.text.rank.index import Index
from toolroll.text.rank.weights import STOP
from toolroll.text.rank.words import question
from toolroll.text.rank.words import terms as terms_of

Kind = Literal["file", "text"]
Form = Literal["text", "markdown", "code", "table", "html", "notebook"]

TEXT_ALONE = "Ranked by text alone: what is said in other words may be missed."
"""What every answer says as long as nothing ranks by meaning."""

_PLAIN = 0.2  # weight of words that any sentence has
_SATURATION, _LENGTH = 1.2, 0.75  # as in Index
_TITLE = 200
_QUERY = 4_000  # characters of a question; a longer one is a pasted text
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Document:
    """A document as it was when it was added; `source` is its path, or the title of a given text."""

    kind: Kind
    source: str
    form: Form
    digest: str
    """Of its bytes."""
    bytes: int


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a source. `score` only says how it compares to others of the same search."""

    source: str
    title: str
    text: str
    score: float
    start: int = 0
    """Its lines, from 1; 0 for a source without lines."""
    end: int = 0
    kind: str = "file"
    form: str = "text"
    digest: str = ""

    @property
    def citation(self) -> str:
        """Where it is from, to be named beside what is taken from it."""
        if not self.start:
            return self.source
        lines = f"{self.start}" if self.start == self.end else f"{self.start}-{self.end}"
        return f"{self.source}:{lines}" + (" of its text" if self.form == "html" else "")


@dataclass(frozen=True, slots=True)
class Cited:
    """A passage as it is shown."""

    citation: str
    source: str
    start: int
    end: int
    title: str
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Found:
    """The passages that answer a question, the best first, of `total` that share a word with it."""

    passages: list[Cited]
    total: int
    ranking: str = "text"
    """By what: later also 'text and vectors'."""
    lead: str = ""
    none: str = "No passage answers this."
    reasons: list[str] = field(default_factory=lambda: [TEXT_ALONE])

    @property
    def note(self) -> str:
        more = self.total - len(self.passages)
        return "\n".join([*([f"{more} more: raise `limit`."] if more else []), *self.reasons])

    def __str__(self) -> str:
        if not self.passages:
            return self.none
        shown = (f"[{at}] {_headed(one)}\n{one.text}" for at, one in enumerate(self.passages, 1))
        return "\n\n".join([*filter(None, [self.lead]), *shown])


def found(best: Sequence[Passage], total: int, *, lead: str = "", none: str = "", more: Sequence[str] = ()) -> Found:
    """The answer in which these passages are shown."""
    rows = [Cited(one.citation, one.source, one.start, one.end, one.title, one.text, one.score) for one in best]
    return Found(rows, total, lead=lead, none=none or "No passage answers this.", reasons=[*more, TEXT_ALONE])


def check_query(query: str) -> str:
    """A question that can be answered; ToolError for one without a word in it."""
    if not any(map(str.isalnum, query)):
        raise ToolError(ErrorCode.VALIDATION, f"`query`: {query[:80]!r} has no word in it. Say what to look for.")
    return query


def check_title(title: str) -> str:
    """A title on one line; ToolError if it cannot be one."""
    made = " ".join(title.split())
    if not made or len(made) > _TITLE or not made.isprintable():
        raise ToolError(ErrorCode.VALIDATION, f"`title` must be 1 to {_TITLE} characters of plain text.")
    return made


def terms(text: str) -> Counter[str]:
    """The terms that a text is found by; numbers and single letters too."""
    counts: Counter[str] = Counter()
    for word, times in Counter(_WORD.findall(unicodedata.normalize("NFKC", text))).items():
        for term in terms_of(word) or filter(None, [word.lower().replace("_", "")]):
            counts[term[:80]] += times
    return counts


def asked(query: str) -> dict[str, float]:
    """The terms of a question with their weights: other forms of its words count less, plain words least."""
    normal = unicodedata.normalize("NFKC", query[:_QUERY])
    return {term: _PLAIN if term in STOP else 1.0 for term in terms(normal)} | question(normal)


def telling(question: Mapping[str, float]) -> set[str]:
    """The terms one of which a passage must have: all but plain words, unless there are no others."""
    return {term for term, weight in question.items() if weight > _PLAIN} or set(question)


def scores(
    question: Mapping[str, float], entries: Mapping[str, Sequence[array[int]]], texts: int, mean: float
) -> dict[int, float]:
    """BM25 over entries that are kept by term, each (number, times, length) of a passage; numbers with scores."""
    made: dict[int, float] = {}
    needed = telling(question)
    fixed, slope = _SATURATION * (1 - _LENGTH), _SATURATION * _LENGTH / (mean or 1.0)
    for term in sorted(question, key=lambda one: (one not in needed, one)):  # plain words come last
        parts = entries.get(term, ())
        count = sum(len(part) for part in parts) // 3
        if not count:
            continue
        rarity = question[term] * log(1 + max(0.0, texts - count + 0.5) / (count + 0.5)) * (_SATURATION + 1)
        counts = term in needed
        for part in parts:
            for number, times, length in zip(part[::3], part[1::3], part[2::3], strict=True):
                if counts or number in made:
                    score = rarity * times / (times + fixed + slope * length)
                    made[number] = made.get(number, 0.0) + score
    return made


def ranked(passages: Sequence[Passage], query: str, limit: int) -> tuple[list[Passage], int]:
    """Of passages that are all at hand, the best and how many answer; of equals, the one that comes later."""
    index, question = Index(), asked(query)
    needed = telling(question)
    answering = set()
    for at, one in enumerate(passages):
        counts = terms(f"{one.source} {one.title} {one.text}")
        index.add(counts)
        if not needed.isdisjoint(counts):
            answering.add(at)
    judged = {at: score for at, score in index.scores(question).items() if at in answering}
    best = sorted(judged, key=lambda at: (-judged[at], -at))
    return [replace(passages[at], score=round(judged[at], 4)) for at in best[:limit]], len(best)


def packed(pieces: Iterable[tuple[int, Mapping[str, int]]]) -> dict[str, array[int]]:
    """The entries of passages by term, from the number and the terms of each."""
    made: dict[str, array[int]] = {}
    for number, counts in pieces:
        length = sum(counts.values())
        for term, times in counts.items():
            made.setdefault(term, array("I")).extend((number, times, length))
    return made


def _headed(one: Cited) -> str:
    return f"{one.citation} ({one.title})" if one.title else one.citation
