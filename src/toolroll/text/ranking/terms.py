"""Text and names as terms: in lower case, split where names are written together."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from math import sqrt

from toolroll.text.ranking.weights import STOP, WEIGHTS, Weights

_WORD = re.compile(r"[^\W\d]\w+")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_OTHER = re.compile(r"[^\W\d_]+")
_DENSE = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")  # written without blanks
_MAX_WORD_CHARS = 80  # characters; what is longer is data
_MAX_QUESTION_TERMS = 400  # terms of a question; a longer one is a pasted file
_AROUND = "/.,;:!?()[]{}<>\"'`*"
_MAX_MENTIONS = 20


def count_terms(text: str) -> dict[str, int]:
    """The terms of a text, and how often each is in it."""
    found: dict[str, int] = {}
    for word, times in Counter(_WORD.findall(text)).items():
        for term in split_terms(word):
            found[term] = found.get(term, 0) + times
    return found


@lru_cache(maxsize=1 << 17)
def split_terms(word: str) -> tuple[str, ...]:
    """The terms of one word: its parts, and the whole if it has several. `parseURL` is parse, url, parseurl."""
    if len(word) > _MAX_WORD_CHARS:
        return ()
    parts = _split(word)
    made = [part for part in parts if len(part) > 1 and not part.isdigit()]
    if len(parts) > 1 and len(word) > 3:
        made.append(word.replace("_", "").lower())
    return tuple(made)


def split_name(name: str) -> set[str]:
    """The parts of the words of a name alone: of `sort_keys-old` sort, keys and old."""
    return {part for word in _WORD.findall(name) for part in _split(word)}


def weigh_question(text: str, weights: Weights = WEIGHTS) -> dict[str, float]:
    """The terms of a question with their weights; also other forms of its words, for less."""
    first, _, rest = text.strip().partition("\n")
    title, body = count_terms(first), count_terms(rest)
    more = weights.title if body else 1.0
    leading = title.keys() | _names(rest)
    every = list(dict.fromkeys((*title, *body)))
    telling = [term for term in every if term not in STOP] or every  # of nothing but such words, they are meant
    asked = {
        term: (more if term in leading else 1.0) * sqrt(title.get(term, 0) + body.get(term, 0))
        for term in telling[:_MAX_QUESTION_TERMS]
    }
    for term, weight in list(asked.items()):
        for form in _forms(term):
            asked.setdefault(form, weights.form * weight)
    return asked


def find_mentions(text: str) -> list[str]:
    """What in a question looks like the path of a file, or like a dotted module."""
    found: dict[str, None] = {}
    for word in text.split():
        bare = word.strip(_AROUND).partition(":")[0].strip(_AROUND)
        if ("/" in bare or "." in bare) and len(bare) <= _MAX_WORD_CHARS:
            found[bare] = None
    return list(found)[:_MAX_MENTIONS]


def _names(text: str) -> set[str]:
    """What is written together in a text, as the names in programs are and words are not."""
    return {made[-1] for word in _WORD.findall(text) if len(made := split_terms(word)) > 1}


def _forms(term: str) -> tuple[str, ...]:
    """The stem of an English word, and its plural or singular."""
    if not term.isascii() or not term.isalpha() or len(term) < 4:
        return ()
    one = _singular(term)
    return tuple(dict.fromkeys((one, f"{one}s", _stem(one))))


def _singular(word: str) -> str:
    if not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[: -2 if word.endswith(("sses", "xes", "ches", "shes", "zes")) else -1]


def _stem(word: str) -> str:
    for ending, least in (("ing", 7), ("ed", 6)):
        if word.endswith(ending) and len(word) >= least:
            cut = word[: -len(ending)]
            return cut[:-1] if cut[-1] == cut[-2] and cut[-1] not in "ls" else cut
    return word


def _split(word: str) -> list[str]:
    return [part.lower() for part in (_PARTS.findall(word) if word.isascii() else _parts(word))]


def _parts(word: str) -> list[str]:
    """The parts of a word that is not all ASCII; where words are not set apart, every two letters are one."""
    found = []
    for run in _OTHER.findall(word):
        if _DENSE.search(run):
            found += [run[at : at + 2] for at in range(max(1, len(run) - 1))]
        else:
            found += _PARTS.findall(run) if run.isascii() else [run]
    return found
