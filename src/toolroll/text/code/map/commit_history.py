"""What past changes tell: which files they touched, and in which words people spoke of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from heapq import nsmallest
from math import log, sqrt
from typing import NamedTuple

from toolroll.text.ranking import terms as words
from toolroll.text.ranking.bm25 import Bm25Index

COMMITS = 3_000
"""How many of the newest are looked at."""
FORMAT = "%x01%B%x02"
"""For `git log -z --name-only`."""

_ALIKE = 20  # past changes that a new one is compared with, the likest
_WIDEST = 20  # files of a change beyond which it is about none of them
_MESSAGE = 2_000  # characters


class Commit(NamedTuple):
    """A change: what was said of it, and the files that it touched."""

    message: str
    files: tuple[str, ...]


class Past:
    """The changes of a repository, by file."""

    def __init__(self, commits: Iterable[Commit]) -> None:
        terms: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._changes: Counter[str] = Counter()
        self._touched: list[tuple[str, ...]] = []
        self._messages = Bm25Index(length=0.3)
        for commit in commits:
            if not 0 < len(commit.files) <= _WIDEST:
                continue
            found = words.count_terms(commit.message)
            self._messages.add(found)
            self._touched.append(commit.files)
            for path in commit.files:
                self._changes[path] += 1
                terms[path].update(found)
        self._index = Bm25Index(
            length=1.0
        )  # else the files that change all the time win by the words of all their changes
        self._paths = list(terms)
        for path in self._paths:
            self._index.add(terms[path])

    def scores(self, question: Mapping[str, float]) -> dict[str, float]:
        """The files of whose changes people spoke in the words of the question."""
        return {self._paths[number]: score for number, score in self._index.scores(question).items()}

    def alike(self, question: Mapping[str, float]) -> dict[str, float]:
        """The files that the changes touched which were spoken of most alike; of many files, each a little."""
        found = self._messages.scores(question)
        made: dict[str, float] = {}
        for number in nsmallest(_ALIKE, found, key=lambda number: (-found[number], number)):
            files = self._touched[number]
            for path in files:
                made[path] = made.get(path, 0.0) + found[number] / sqrt(len(files))
        return made

    def popularity(self, path: str) -> float:
        """How often a file changes, as a logarithm."""
        return log(1 + self._changes[path])


def read(printed: str, inside: str = "") -> list[Commit]:
    """The commits that `git log` printed; `inside` comes before their paths."""
    found = []
    for record in printed.split("\x01")[1:]:
        message, _, names = record.partition("\x02")
        files = tuple(f"{inside}{name}" for name in names.strip("\0\n").split("\0") if name)
        found.append(Commit(message.strip()[:_MESSAGE], files))
    return found
