"""Words that are written together in the names of files: the "surface" of gdksurface.c."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from toolroll.text.ranking import terms as words
from toolroll.text.ranking.bm25 import rarity

_SHORTEST = 4  # letters of a word that is no accident within another


class Glued:
    """The names of files, to be searched for what is in the middle of their words."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._owners: dict[str, list[str]] = {}
        self._files = 0
        for path in paths:
            self._files += 1
            name = path.rpartition("/")[2]
            for part in words.split_name(name.rpartition(".")[0] or name):
                self._owners.setdefault(part, []).append(path)
        self._text = "\n".join(("", *self._owners, ""))  # one text, as that is searched fastest

    def scores(self, question: Mapping[str, float]) -> dict[str, float]:
        """The files with a term of the question inside a word of their names, by how much of the word it is."""
        made: dict[str, float] = {}
        for term, weight in question.items():
            if len(term) < _SHORTEST or not term.isalpha():
                continue
            holding = list(self._holding(term))
            worth = weight * rarity(self._files, sum(len(self._owners[word]) for word in holding))
            for word in holding:
                if word != term:  # else the path says it, which counts already
                    for path in self._owners[word]:
                        made[path] = made.get(path, 0.0) + worth * len(term) / len(word)
        return made

    def _holding(self, term: str) -> Iterator[str]:
        text = self._text
        at = text.find(term)
        while at >= 0:
            end = text.index("\n", at)
            yield text[text.rindex("\n", 0, at) + 1 : end]
            at = text.find(term, end)
