"""Rank the files of a tree: for a question, for files in play, or by how the code depends on them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nlargest, nsmallest
from typing import NamedTuple

from toolroll.text.code.map import question
from toolroll.text.code.map.commit_history import CommitHistory
from toolroll.text.code.map.compound_words import CompoundWords
from toolroll.text.code.map.file_facts import FileFacts, Mark, marks_of
from toolroll.text.code.map.graph import Graph
from toolroll.text.ranking.bm25 import Bm25Index
from toolroll.text.ranking.terms import count_terms, find_mentions, split_terms, weigh_question
from toolroll.text.ranking.weights import ASIDE, CHORES, KINDS, WEIGHTS, Weights, find_aside

_BEST_FILES = 20  # from which dependencies are followed
_NEAR_ROUNDS = 3  # from a file to its dependencies
_FULL_SHARE = 0.5  # of the question in a name; more does not raise its value
_REST_SHARE = 0.05  # of the score of a file that the files in play do not depend on
_MIN_SHARE = 0.1  # for a definition that shares no word with the question


@dataclass(frozen=True, slots=True)
class FileRanking:
    """Files with their scores, best first, 1.0 for the best."""

    files: Sequence[tuple[str, float]]
    asked: Mapping[str, float]
    """The terms of the question with their weights; empty without a question."""
    shares: dict[str, float] = field(default_factory=dict)

    def share(self, name: str) -> float:
        """The weight of the terms that a name shares with the question."""
        known = self.shares.get(name)
        if known is None:
            known = self.shares[name] = sum(self.asked.get(term, 0.0) for term in set(split_terms(name)))
        return known


class _Held(NamedTuple):
    number: int  # document number in all three indices
    marks: bytes
    aside: int | None  # its row of ASIDE, if any


class FileRanker:
    """The files of one tree by their facts. Not thread-safe."""

    def __init__(self) -> None:
        self._held: dict[str, _Held] = {}
        self._graph = Graph()
        self._contents = Bm25Index()
        self._names = Bm25Index(length=0.3)
        self._places = Bm25Index(length=0.3)
        self._owners: dict[int, str] = {}
        self._compound_words: CompoundWords | None = None

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, path: str) -> bool:
        return path in self._held

    def put(self, path: str, facts: FileFacts) -> None:
        if path in self._held:
            self._unindex(path)
        else:
            self._compound_words = None
        number = self._contents.add(facts.terms)
        self._names.add(facts.names)
        self._places.add(count_terms(_path_words(path)))
        self._held[path] = _Held(number, facts.marks, find_aside(path))
        self._owners[number] = path
        self._graph.put(path, facts.defined, facts.used or {})

    def drop(self, path: str) -> None:
        self._unindex(path)
        del self._held[path]
        self._compound_words = None
        self._graph.drop(path)

    def marks(self, path: str) -> Sequence[Mark]:
        return marks_of(self._held[path].marks)

    def is_own(self, path: str) -> bool:
        """False for tests, texts, generated code and the code of others."""
        row = self._held[path].aside
        return row is None or ASIDE[row].code

    def uses(self, paths: Collection[str], most: int) -> dict[tuple[str, str], float]:
        """The strongest dependencies among these files, from the user to what it uses, 1.0 for the strongest."""
        rank, known = self._graph.rank(), set(paths)
        flow = {
            (path, other): rank[path] * share
            for path in paths
            for other, share in self._graph.dependencies(path)
            if other in known
        }
        best = nlargest(most, flow, key=lambda row: (flow[row], row))
        return {row: flow[row] / flow[best[0]] for row in best}

    def by_graph(self, play: Collection[str] = ()) -> FileRanking:
        """The files that others depend on; with files in play, first those that they depend on, without themselves.

        What the project's own code depends on counts; tests, texts and the code of others come after all of it.
        """
        own = {path: 1.0 for path in self._held if self.is_own(path)}
        found = self._of_most(self._graph.rank(own))
        found = {path: found.get(path, 0.0) for path in self._held}
        start = {path: 1.0 for path in sorted(play) if path in self._held}
        if start:
            near = self._of_most(
                {path: share for path, share in self._graph.rank_from(start).items() if path not in start}
            )
            found = {path: near.get(path, 0.0) + _REST_SHARE * score for path, score in found.items()}
        least = min((found[path] for path in own), default=1.0)
        return _ranking({path: score if path in own else least * score for path, score in found.items()}, play, {})

    def by_question(
        self, text: str, past: CommitHistory | None = None, play: Collection[str] = (), weights: Weights = WEIGHTS
    ) -> FileRanking:
        """The files that a question is about: by text, names, path, history and dependencies."""
        asked_text = question.plain(text)
        asked = weigh_question(asked_text, weights)
        found = self._scores(asked, count_terms(question.area(asked_text)).keys() - CHORES, past, weights)
        if found and weights.graph:
            self._follow(found, play, weights.graph)
        if found and weights.mention:
            self._mentioned(found, find_mentions(asked_text), weights.mention)
        values = {term: weight * self._contents.rarity(term) for term, weight in asked.items()}
        return _ranking(found, play, {term: value for term, value in values.items() if value > 0})

    def _scores(
        self, asked: Mapping[str, float], area: Collection[str], past: CommitHistory | None, weights: Weights
    ) -> dict[str, float]:
        """Scores of the files that share a term with the question; terms of its area count more in paths."""
        found: dict[str, float] = {}
        placed = {term: weight * (weights.area if term in area else 1.0) for term, weight in asked.items()}
        for part, index, terms in (
            (weights.contents, self._contents, asked),
            (weights.names, self._names, asked),
            (weights.path, self._places, placed),
        ):
            for number, score in index.scores(terms).items() if part else ():
                path = self._owners[number]
                found[path] = found.get(path, 0.0) + part * score
        if weights.glued:
            self._add(found, weights.glued, self._file_names().scores(placed))
        if past is not None and weights.history:
            self._add(found, weights.history, past.scores(asked))
            self._add(found, weights.alike, past.similar(asked))
            for path, score in found.items():
                found[path] = score * (1 + weights.popularity * past.popularity(path))
        return self._set_aside(found, asked) if weights.aside else found

    def _add(self, found: dict[str, float], part: float, scores: Mapping[str, float]) -> None:
        for path, score in scores.items():
            if path in self._held:
                found[path] = found.get(path, 0.0) + part * score

    def _file_names(self) -> CompoundWords:
        if self._compound_words is None:
            self._compound_words = CompoundWords(self._held)
        return self._compound_words

    def _set_aside(self, found: Mapping[str, float], asked: Mapping[str, float]) -> dict[str, float]:
        left = [1.0 if row.unless & asked.keys() else row.left for row in ASIDE]
        held = self._held
        return {path: score if (at := held[path].aside) is None else score * left[at] for path, score in found.items()}

    def values(self, path: str, ranking: FileRanking) -> list[float]:
        """The value of showing each definition of a file, from 0 to 1."""
        total = sum(ranking.asked.values())
        found = [self._value(mark, ranking, total) for mark in self.marks(path)]
        best = max(found, default=0.0)
        return [value / best for value in found] if best else found

    def _of_most(self, shares: Mapping[str, float]) -> dict[str, float]:
        most = max(shares.values(), default=1.0)
        return {path: share / most for path, share in shares.items()}

    def _value(self, mark: Mark, ranking: FileRanking, total: float) -> float:
        name, kind, _, parent, _ = mark
        value = KINDS.get(kind, 0.3) * (1 + 0.2 * min(10, self._graph.users(name)))
        if name.startswith("_"):
            value *= 0.5
        if not total:
            return value
        around = ranking.share(parent.rpartition(".")[2])
        return value * (_MIN_SHARE + min(_FULL_SHARE, (ranking.share(name) + 0.3 * around) / total))

    def _follow(self, found: dict[str, float], play: Collection[str], weight: float) -> None:
        """Add the files that the best ones, and those in play, depend on."""
        best = nsmallest(_BEST_FILES, found, key=lambda path: (-found[path], path))
        top = found[best[0]]
        start = {path: (found[path] / top) ** 2 for path in best}
        start |= {path: 1.0 for path in sorted(play) if path in self._held}
        shares = self._graph.rank_from(start, _NEAR_ROUNDS)
        most = max(shares.values(), default=0.0)
        for path, flow in shares.items():
            found[path] = found.get(path, 0.0) + weight * top * flow / most

    def _mentioned(self, found: dict[str, float], mentions: Sequence[str], weight: float) -> None:
        """Raise the files that the question names, by path or as a dotted module."""
        ends = [end for one in mentions for end in (one, one.replace(".", "/"))]
        top = max(found.values())
        for path in self._held if ends else ():
            bare = path.rpartition(".")[0]
            if any(_ends(path, end) or _ends(bare, end) for end in ends):
                found[path] = found.get(path, 0.0) + weight * top

    def _unindex(self, path: str) -> None:
        number = self._held[path].number
        for index in (self._contents, self._names, self._places):
            index.remove(number)
        del self._owners[number]


def _ranking(found: Mapping[str, float], play: Collection[str], asked: Mapping[str, float]) -> FileRanking:
    rows = sorted((row for row in found.items() if row[0] not in play), key=lambda row: (-row[1], row[0]))
    top = rows[0][1] if rows else 0.0
    return FileRanking([(path, score / top if top else 1.0) for path, score in rows], asked)


def _path_words(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}{name.rpartition('.')[0] or name}".replace("/", " ").replace(".", " ")


def _ends(path: str, end: str) -> bool:
    return path == end or path.endswith(f"/{end}")
