"""Find terms inside the words of file names, such as "surface" in gdksurface.c."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from toolroll.text.ranking import terms
from toolroll.text.ranking.bm25 import rarity

_MIN_CHARS = 4  # a shorter term is inside other words by accident


class CompoundWords:
    """The words of file names, for a search inside them."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._owners: dict[str, list[str]] = {}
        self._files = 0
        for path in paths:
            self._files += 1
            name = path.rpartition("/")[2]
            for part in terms.split_name(name.rpartition(".")[0] or name):
                self._owners.setdefault(part, []).append(path)
        self._text = "\n".join(("", *self._owners, ""))  # one text: the fastest to search

    def scores(self, question: Mapping[str, float]) -> dict[str, float]:
        """Scores of files with a term inside a word of their names, by its share of the word."""
        made: dict[str, float] = {}
        for term, weight in question.items():
            if len(term) < _MIN_CHARS or not term.isalpha():
                continue
            holding = list(self._words_with(term))
            worth = weight * rarity(self._files, sum(len(self._owners[word]) for word in holding))
            for word in holding:
                if word != term:  # a whole word counts in the path already
                    for path in self._owners[word]:
                        made[path] = made.get(path, 0.0) + worth * len(term) / len(word)
        return made

    def _words_with(self, term: str) -> Iterator[str]:
        text = self._text
        at = text.find(term)
        while at >= 0:
            end = text.index("\n", at)
            yield text[text.rindex("\n", 0, at) + 1 : end]
            at = text.find(term, end)
