"""BM25: how well texts answer a question, by the terms they share and how rare those are."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from math import log

_BITS = 16
_MAX_COUNT = (1 << _BITS) - 1  # of one term in one text
_MIN_TIDIED = 1000  # removed texts that are not worth tidying up


def rarity(texts: int, holding: int) -> float:
    """Inverse document frequency: how rare it is to hold a term."""
    return log(1 + (texts - holding + 0.5) / (holding + 0.5))


class Bm25Index:
    """Texts by their terms. To change a text, remove it and add it again."""

    def __init__(self, saturation: float = 1.2, length: float = 0.75) -> None:
        """`saturation` says how much a term that comes again still adds, `length` how much long texts lose by it."""
        self._saturation = saturation
        self._length = length
        self._found: dict[str, array[int]] = {}
        self._lengths = array("I")
        self._alive = bytearray()
        self._texts = 0
        self._total = 0
        self._dead = 0

    def add(self, terms: Mapping[str, int]) -> int:
        """Take a text in; the number by which it is known."""
        number = len(self._lengths)
        size = sum(terms.values())
        self._lengths.append(size)
        self._alive.append(1)
        self._texts += 1
        self._total += size
        if size > _MAX_COUNT:
            terms = {term: min(times, _MAX_COUNT) for term, times in terms.items()}
        found, base = self._found, number << _BITS
        for term, times in terms.items():
            try:
                found[term].append(base | times)
            except KeyError:
                found[term] = array("Q", (base | times,))
        return number

    def remove(self, number: int) -> None:
        """Forget a text."""
        self._alive[number] = 0
        self._texts -= 1
        self._total -= self._lengths[number]
        self._dead += 1
        if self._dead > max(_MIN_TIDIED, self._texts):
            self._tidy()

    def scores(self, question: Mapping[str, float]) -> dict[int, float]:
        """The texts that share a term with the question, each with its score; terms count by their weights."""
        made: dict[int, float] = {}
        saturation, mean = self._saturation, self._total / self._texts if self._texts else 1.0
        fixed, slope = saturation * (1 - self._length), saturation * self._length / (mean or 1.0)
        lengths, alive = self._lengths, self._alive
        for term, weight in question.items():
            entries = [one for one in self._found.get(term, ()) if alive[one >> _BITS]]
            if not entries:
                continue
            worth = weight * rarity(self._texts, len(entries)) * (saturation + 1)
            for one in entries:
                number, times = one >> _BITS, one & _MAX_COUNT
                score = worth * times / (times + fixed + slope * lengths[number])
                made[number] = made.get(number, 0.0) + score
        return made

    def rarity(self, term: str) -> float:
        """How much a term tells: 0 if it is nowhere."""
        count = sum(self._alive[one >> _BITS] for one in self._found.get(term, ()))
        return rarity(self._texts, count) if count else 0.0

    def _tidy(self) -> None:
        alive, self._dead = self._alive, 0
        for term in list(self._found):
            kept = array("Q", (one for one in self._found[term] if alive[one >> _BITS]))
            if kept:
                self._found[term] = kept
            else:
                del self._found[term]
