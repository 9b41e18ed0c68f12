"""One order of two: how well the words of passages fit a question, and how like it they are in meaning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

By = Literal["both", "words", "meaning"]

ALIKE = 0.25
"""The cosine from which on a passage answers a question although they share no word."""
_WORDS = 0.45  # weight of the words, as a share of the best; the rest is that of the meaning
_SPREAD = 0.15  # between the first and the last, at least: among a few alike texts a small step means little


def fused(words: Mapping[int, float], near: Mapping[int, float], *, whole: bool = True) -> list[tuple[int, float]]:
    """The numbers of the passages that answer, the best first, with their scores.

    `words` holds the scores of those that share a word, `near` the cosines of those that are nearest. If `near` is the
    `whole` of what has a vector, nothing is known of the others, and their words speak for them; else they are as far
    as the last of the nearest. Cosines count by their place between the last and the first, since models differ in how
    far they spread them.
    """
    if not near:
        return _ordered(words)
    most = max(words.values(), default=1.0)
    last = min(*near.values(), ALIKE) if whole else min(near.values())
    spread = max(max(near.values()) - last, _SPREAD)
    made = {}
    for number in {**words, **{number: 0.0 for number, cosine in near.items() if cosine >= ALIKE}}:
        share = words.get(number, 0.0) / most
        far = share if whole else 0.0
        close = (near[number] - last) / spread if number in near else far
        made[number] = _WORDS * share + (1 - _WORDS) * close
    return _ordered(made)


def _ordered(scores: Mapping[int, float]) -> list[tuple[int, float]]:
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
