"""Fuse the ranking by words (BM25) and the ranking by meaning (cosine) into one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from string import punctuation
from typing import Literal

from toolroll.text.ranking.weights import STOP

By = Literal["both", "words", "meaning"]

MIN_SIMILARITY = 0.25  # the cosine from which on a passage answers a question although they share no word
SURE_SIMILARITY = 0.45  # the cosine from which on it answers although the library lacks words of the question
_WORDS_WEIGHT = 0.45  # weight of the words, as a share of the best; the rest is that of the meaning
RESCORED = 20  # passages that are looked at for what the question says in the same words
_WORDING_BONUS = 0.3  # what a passage gets besides that says all of it so
_MIN_PAIRS = 5  # pairs of words: of fewer, one tells little
_SIGNS = set(punctuation) - {"_"} | set("\u00ab\u00bb\u2018\u2019\u201c\u201d\u2013\u2014\u2026")
_APART = str.maketrans(dict.fromkeys(_SIGNS, " "))
_ASIDE_SHARE = 0.6
_ASIDE = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (
            r"(^|/)(licen[cs]e|copying|notice|authors|contributors|maintainers)([.-][^/]*)?$",
            "license licence licensed authors",
        ),
        (r"\.(css|scss|sass|less)$", "css style styles stylesheet stylesheets colour color"),
        (r"(^|/)templates/|\.(j2|jinja2?|tmpl|tpl|mustache|hbs|ejs)$", "template templates"),
        (
            r"(^|/)(makefile|dockerfile|cmakelists\.txt|setup\.(py|cfg)|tox\.ini|package(-lock)?\.json)$",
            "build package",
        ),
        (r"\.(lock|toml|cfg|ini|ya?ml|mk|cmake|gradle|svg|map|pot?)$", "build config configuration setting settings"),
    )
)
"""Files that are no prose, with the words that ask for them."""
_MIN_SPREAD = 0.15  # between the first and the last, at least: among a few alike texts a small step means little


def fuse(
    words: Mapping[int, float], near: Mapping[int, float], unknown: Collection[int] | None = None
) -> list[tuple[int, float]]:
    """The numbers of the passages that answer, the best first, with their scores.

    `words` holds the scores of those that share a word, `near` the cosines of those that are nearest. Of the `unknown`
    ones there is no vector: their meaning is taken to be as good as their words. What is in neither is farther than
    the last of the nearest; without `unknown`, `near` is all that has a vector. Cosines count by their place between
    the last and the first, since models differ in how far they spread them.
    """
    if not near:
        return _ordered(words)
    most = max(words.values(), default=1.0)
    last = min(*near.values(), MIN_SIMILARITY) if unknown is None else min(near.values())
    spread = max(max(near.values()) - last, _MIN_SPREAD)
    made = {number: score / most for number, score in words.items()}
    if unknown is not None:
        known = made.keys() - set(unknown)
        made |= {number: _WORDS_WEIGHT * made[number] for number in known}
    for number, cosine in near.items():
        if cosine >= MIN_SIMILARITY or number in words:
            meaning = (1 - _WORDS_WEIGHT) * (cosine - last) / spread
            made[number] = _WORDS_WEIGHT * words.get(number, 0.0) / most + meaning
    return _ordered(made)


def score_wording(query: str, texts: Sequence[str]) -> list[float]:
    """A bonus for each text: the share of the question's word pairs in it. Pairs of two plain words do not count."""
    asked = {pair for pair in _pairs(query) if not STOP.issuperset(pair)}
    return [_WORDING_BONUS * len(asked.intersection(_pairs(text))) / max(_MIN_PAIRS, len(asked)) for text in texts]


def weigh_source(source: str, query: str) -> float:
    """The share of its score that a passage keeps by its file: less for files that are no prose, unless asked for."""
    found = next((words for pattern, words in _ASIDE if pattern.search(source.lower())), None)
    if found is None:
        return 1.0
    asked = set(query.lower().translate(_APART).split())
    name = source.lower().rpartition("/")[2].translate(_APART).split()
    return 1.0 if asked.intersection((*found.split(), *name)) else _ASIDE_SHARE


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    return pairwise(text.lower().translate(_APART).split())


def _ordered(scores: Mapping[int, float]) -> list[tuple[int, float]]:
    ordered = sorted((-score, number) for number, score in scores.items())
    return [(number, -score) for score, number in ordered]
