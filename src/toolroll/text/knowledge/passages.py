"""Passages: their terms, their BM25 scores, and how they are shown and cited."""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import Literal

from toolroll.result import ErrorCode, ToolError
from toolroll.text.ranking.bm25 import Bm25Index
from toolroll.text.ranking.terms import split_terms, weigh_question
from toolroll.text.ranking.weights import STOP

Kind = Literal["file", "text"]
Form = Literal[
    "text", "markdown", "code", "table", "html", "notebook", "pdf", "word", "sheet", "slides", "image", "audio"
]
By = Literal["words", "meaning and words"]

_PAGES = {"sheet": "sheet", "slides": "slide", "word": "part", "notebook": "cell"}  # what is no page in these forms
_CONVERTED = frozenset({"html", "pdf", "word", "sheet", "slides", "image", "audio"})
"""Forms whose lines are those of the text that was made of them."""

_PLAIN_WORD_WEIGHT = 0.2  # weight of words that any sentence has
_SATURATION, _LENGTH = 1.2, 0.75  # as in Index
_MAX_TITLE_CHARS = 200
ENTRY_BYTES = 12  # bytes of an entry: the number of a passage, how often it has the term, how long it is
_MAX_QUERY_CHARS = 4_000  # characters of a question; a longer one is a pasted text
_WORD = re.compile(r"\w+")
_ACCENTS = re.compile("[\u0300-\u036f]")


@dataclass(frozen=True, slots=True)
class RankingMethod:
    """What passages are ranked by."""

    by: By = "words"
    reason: str = ""
    """Why it is not by meaning too, or not for all of them: a sentence."""

    @property
    def note(self) -> str:
        said = f"Ranked by {self.by if self.by != 'words' else 'words alone'}"
        return f"{said}: {self.reason}" if self.reason else f"{said}."


@dataclass(frozen=True, slots=True)
class LibraryDocument:
    """A document as it was when it was added; `source` is its path, or the title of a given text."""

    kind: Kind
    source: str
    form: Form
    digest: str
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
    page: int = 0
    """Or sheet, slide, cell, part of a book, from 1; 0 for a source without any."""

    @property
    def citation(self) -> str:
        """Where it is from, to be named beside what is taken from it."""
        if place := name_page(self.form, self.page, self.title.partition(" > |")[0]):
            return f"{self.source} {place}"
        if not self.start:
            return self.source
        lines = f"{self.start}" if self.start == self.end else f"{self.start}-{self.end}"
        return f"{self.source}:{lines}" + (" of its text" if self.form in _CONVERTED else "")


def name_page(form: str, page: int, title: str) -> str:
    """A part of a document as it is cited: "p. 12", "slide 3", "sheet Budget"; empty for one without parts."""
    if not page or (form == "image" and page == 1):
        return ""
    return f"sheet {title}" if form == "sheet" and title else f"{_PAGES.get(form, 'p.')} {page}"


@dataclass(frozen=True, slots=True)
class CitedPassage:
    """A passage as it is shown."""

    citation: str
    source: str
    start: int
    end: int
    title: str
    text: str
    score: float
    page: int = 0


@dataclass(frozen=True, slots=True)
class Hits:
    """The passages that answer a question, the best first, of `total` that do, and what they are ranked by."""

    passages: list[Passage]
    total: int
    ranking: RankingMethod = field(default_factory=RankingMethod)
    unknown: list[str] = field(default_factory=list)
    """The words of the question that the library has nowhere, if nothing answers it for that reason."""


@dataclass(frozen=True, slots=True)
class PassageResults:
    """The passages that answer a question, the best first, of `total` that do."""

    passages: list[CitedPassage]
    total: int
    ranking: str
    lead: str = ""
    none: str = "No passage answers this."
    reasons: list[str] = field(default_factory=list)

    @property
    def note(self) -> str:
        more = self.total - len(self.passages)
        return "\n".join([*([f"{more} more: raise `limit`."] if more else []), *self.reasons])

    def __str__(self) -> str:
        if not self.passages:
            return self.none
        shown = (f"[{at}] {show_source(one)}\n{one.text}" for at, one in enumerate(self.passages, 1))
        return "\n\n".join([*filter(None, [self.lead]), *shown])


def show_hits(hits: Hits, *, lead: str = "", none: str = "", more: Sequence[str] = ()) -> PassageResults:
    """The answer in which these passages are shown."""
    lacks = f"Nothing in the library has the words: {', '.join(hits.unknown)}."
    said = [*more, *([lacks] if hits.unknown else []), hits.ranking.note]
    rows = [show_passage(one) for one in hits.passages]
    return PassageResults(rows, hits.total, hits.ranking.by, lead, none or "No passage answers this.", said)


def show_passage(one: Passage) -> CitedPassage:
    """A passage to be shown."""
    return CitedPassage(one.citation, one.source, one.start, one.end, one.title, one.text, one.score, one.page)


def check_query(query: str) -> str:
    """A question that can be answered; ToolError for one without a word in it."""
    if not any(map(str.isalnum, query)):
        raise ToolError(ErrorCode.VALIDATION, f"`query`: {query[:80]!r} has no word in it. Say what to look for.")
    return query


def check_title(title: str) -> str:
    """A title on one line; ToolError if it cannot be one."""
    made = " ".join(title.split())
    if not made or len(made) > _MAX_TITLE_CHARS or not made.isprintable():
        raise ToolError(ErrorCode.VALIDATION, f"`title` must be 1 to {_MAX_TITLE_CHARS} characters of plain text.")
    return made


def count_terms(text: str) -> Counter[str]:
    """The terms that a text is found by; numbers and single letters too, and words also as one types them in haste."""
    counts: Counter[str] = Counter()
    for word, times in Counter(_WORD.findall(unicodedata.normalize("NFKC", text))).items():
        for term in split_terms(word) or filter(None, [word.lower().replace("_", "")]):
            counts[term[:80]] += times
            if not term.isascii() and (bare := remove_accents(term)) != term:
                counts[bare[:80]] += times
    return counts


def remove_accents(text: str) -> str:
    """The text in small letters without the accents of European ones: Café is cafe, and Straße strasse."""
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text.casefold())))


def weigh_query(query: str) -> dict[str, float]:
    """The terms of a question with their weights: other forms of its words count less, plain words least."""
    normal = unicodedata.normalize("NFKC", query[:_MAX_QUERY_CHARS])
    return {term: _PLAIN_WORD_WEIGHT if term in STOP else 1.0 for term in count_terms(normal)} | weigh_question(normal)


def required_terms(question: Mapping[str, float]) -> set[str]:
    """The terms one of which a passage must have: all but plain words, unless there are no others."""
    return {term for term, weight in question.items() if weight > _PLAIN_WORD_WEIGHT} or set(question)


@dataclass(frozen=True, slots=True)
class Bm25:
    """BM25 scores; needs the number of passages and their mean length."""

    texts: int
    mean: float

    def scores(self, question: Mapping[str, float], entries: Mapping[str, bytes]) -> dict[int, float]:
        """The numbers of passages with their scores, from entries that are kept by term."""
        made: dict[int, float] = {}
        fixed, slope = self._shape()
        for term, data, needed in _in_turn(question, entries):
            part = array("I", data)
            rarity = self._rarity(question[term], len(part) // 3)
            for number, times, length in zip(part[::3], part[1::3], part[2::3], strict=True):
                if needed or number in made:
                    score = rarity * times / (times + fixed + slope * length)
                    made[number] = made.get(number, 0.0) + score
        return made

    def _shape(self) -> tuple[float, float]:
        return _SATURATION * (1 - _LENGTH), _SATURATION * _LENGTH / (self.mean or 1.0)

    def _rarity(self, weight: float, count: int) -> float:
        return weight * log(1 + max(0.0, self.texts - count + 0.5) / (count + 0.5)) * (_SATURATION + 1)


def _in_turn(question: Mapping[str, float], entries: Mapping[str, bytes]) -> Iterator[tuple[str, bytes, bool]]:
    """The terms with their entries, and whether they suffice for an answer; plain words, which do not, come last."""
    needed = required_terms(question)
    for term in sorted(question, key=lambda one: (one not in needed, one)):
        if data := entries.get(term):
            yield term, data, term in needed


def score_passages(passages: Sequence[Passage], query: str) -> dict[int, float]:
    """Of passages that are all at hand, which share a word that tells something, and how well their words fit."""
    index, question = Bm25Index(), weigh_query(query)
    needed = required_terms(question)
    answering = set()
    for at, one in enumerate(passages):
        counts = count_terms(f"{one.source} {one.title} {one.text}")
        index.add(counts)
        if not needed.isdisjoint(counts):
            answering.add(at)
    return {at: score for at, score in index.scores(question).items() if at in answering}


def pack_entries(pieces: Iterable[tuple[int, Mapping[str, int]]]) -> dict[str, array[int]]:
    """The entries of passages by term, each (number, times, length of the passage), from the terms of each."""
    made: dict[str, array[int]] = {}
    for number, counts in pieces:
        length = sum(counts.values())
        for term, times in counts.items():
            made.setdefault(term, array("I")).extend((number, times, length))
    return made


def show_source(one: CitedPassage) -> str:
    """Where a passage is from, and what it is about."""
    return f"{one.citation} ({one.title})" if one.title else one.citation
