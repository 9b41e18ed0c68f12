"""Rank files by past commits: which files they touched, and the words of their messages."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from heapq import nsmallest
from math import log, sqrt
from typing import NamedTuple

from toolroll.text.ranking.bm25 import Bm25Index
from toolroll.text.ranking.terms import count_terms

MAX_COMMITS = 3_000  # how many of the newest commits are read
FORMAT = "%x01%B%x02"  # format for `git log -z --name-only`

_SIMILAR_COMMITS = 20  # that a question is compared with
_MAX_FILES = 20  # a commit of more files is about none of them
_MAX_MESSAGE_CHARS = 2_000


class PastCommit(NamedTuple):
    """The message of a commit, and the files that it touched."""

    message: str
    files: tuple[str, ...]


class CommitHistory:
    """The commits of a repository, indexed by file and by message."""

    def __init__(self, commits: Iterable[PastCommit]) -> None:
        terms: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._changes: Counter[str] = Counter()
        self._touched: list[tuple[str, ...]] = []
        self._messages = Bm25Index(length=0.3)
        for commit in commits:
            if not 0 < len(commit.files) <= _MAX_FILES:
                continue
            found = count_terms(commit.message)
            self._messages.add(found)
            self._touched.append(commit.files)
            for path in commit.files:
                self._changes[path] += 1
                terms[path].update(found)
        self._index = Bm25Index(length=1.0)  # else files that change often win by the words of all their commits
        self._paths = list(terms)
        for path in self._paths:
            self._index.add(terms[path])

    def scores(self, question: Mapping[str, float]) -> dict[str, float]:
        """Scores of files whose commit messages share words with the question."""
        return {self._paths[number]: score for number, score in self._index.scores(question).items()}

    def similar(self, question: Mapping[str, float]) -> dict[str, float]:
        """Scores of files that the most similar commits touched, shared among the files of a commit."""
        found = self._messages.scores(question)
        made: dict[str, float] = {}
        for number in nsmallest(_SIMILAR_COMMITS, found, key=lambda number: (-found[number], number)):
            files = self._touched[number]
            for path in files:
                made[path] = made.get(path, 0.0) + found[number] / sqrt(len(files))
        return made

    def popularity(self, path: str) -> float:
        return log(1 + self._changes[path])


def read_log(printed: str, prefix: str = "") -> list[PastCommit]:
    """The commits in the output of `git log`; `prefix` is put before their paths."""
    found = []
    for record in printed.split("\x01")[1:]:
        message, _, names = record.partition("\x02")
        files = tuple(f"{prefix}{name}" for name in names.strip("\0\n").split("\0") if name)
        found.append(PastCommit(message.strip()[:_MAX_MESSAGE_CHARS], files))
    return found
