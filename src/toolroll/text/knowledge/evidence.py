"""Whether a library can answer a question at all, by the words of the question that are nowhere in it.

With the questions of bench/questions, 1 of 241 that the documents answer gets no passage for this reason, and so do 51
of 60 that they do not answer.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from toolroll.text.knowledge.passages import count_terms, required_terms, weigh_query
from toolroll.text.ranking.weights import STOP

MIN_PIECES = 100  # of which a library must have so many: a smaller one lacks words that it does not need
_UNKNOWN_SHARE, _ONE_UNKNOWN_SHARE = 1 / 3, 1 / 2
_COVERED_SHARE = 0.5  # of the words of a question, of which a passage must have more to answer it all the same
_ENDING = 3  # letters by which two forms of a word differ, at most


class AskedWords(NamedTuple):
    """The words of a question that tell something."""

    words: list[str]
    unknown: list[str]
    """Those that the library has in no form."""

    @property
    def doubtful(self) -> bool:
        share = _UNKNOWN_SHARE if len(self.unknown) > 1 else _ONE_UNKNOWN_SHARE
        return bool(self.words) and len(self.unknown) >= share * len(self.words)

    def covered_by(self, text: str) -> bool:
        """Whether a passage has more than half of the words."""
        terms = count_terms(text)
        return sum(_has(terms, word) for word in self.words) > _COVERED_SHARE * len(self.words)


def find_unknown(query: str, known: Collection[str]) -> AskedWords:
    """The words of a question; `known` are those of its terms that the library has."""
    words = [word for word in count_terms(query) if word not in STOP and len(word) > 1]
    return AskedWords(words, [word for word in words if not _has(known, word)])


def list_terms(query: str) -> Sequence[str]:
    """The terms of a question, in all forms, to look up in the library."""
    return sorted(required_terms(weigh_query(query)))


def _has(terms: Collection[str], word: str) -> bool:
    """Whether a word is among terms, in whatever form."""
    if word in terms:
        return True
    start = word[: max(4, len(word) - _ENDING)]
    return any(one.startswith(start) and len(one) <= len(start) + 2 * _ENDING for one in terms)
