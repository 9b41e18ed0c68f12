"""Questions over real documentation with the places of their answers, and the documents, which do not ship.

`documents.toml` names the documents and their hashes, `questions.toml` and `fresh.toml` the questions; those of
`django.toml` are about the whole documentation of Django. An answer is a phrase that is in its document once; the
passages that hold its lines are right.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from bench import corpora

FOLDER = Path(__file__).parent
KINDS = ("words", "paraphrase", "symptom")
PARTS = ("fresh", "held-out", "tuning")
WORDS = 6  # of a phrase, at most


class Place(NamedTuple):
    """Lines of a document, from 1, both inclusive."""

    document: str
    first: int
    last: int

    def holds(self, other: Place) -> bool:
        return self.document == other.document and self.first <= other.first and other.last <= self.last


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, how it is put, and where it is answered: any one place will do."""

    text: str
    kind: str
    answers: tuple[Place, ...]
    fresh: bool = False
    """Whether nothing was chosen by it."""

    @property
    def part(self) -> str:
        """One of PARTS. Which half it is of, if it is not fresh, a hash decides, so that no other question matters."""
        if self.fresh:
            return "fresh"
        return "held-out" if hashlib.sha256(self.text.encode()).digest()[0] % 2 == 1 else "tuning"


def nowhere() -> list[str]:
    """Questions that none of the documents answers."""
    return list(_read("nowhere.toml")["questions"])


def documents() -> dict[str, str]:
    """Every document by its name; ValueError if one is not as it was."""
    made: dict[str, str] = {}
    for source, hashes in _read("documents.toml").items():
        folder = corpora.real(source) / "docs"
        for path, known_by in hashes.items():
            data = (folder / path).read_bytes()
            if hashlib.sha256(data).hexdigest() != known_by:
                raise ValueError(f"{source}/{path} is not the document it was")
            made[f"{source}/{path}"] = data.decode()
    return made


def questions(texts: Mapping[str, str]) -> list[Question]:
    """Every question, its answers found in the documents; ValueError if one of them is not there, or not clear."""
    files = {"fresh.toml": True, "questions.toml": False}
    return [_question(one, texts, fresh=fresh) for name, fresh in files.items() for one in _read(name)["question"]]


def whole() -> tuple[dict[str, str], list[Question]]:
    """All pages of Django's documentation by their names, and the questions about them."""
    folder = corpora.real("django") / "docs"
    texts = {f"django/{path.relative_to(folder)}": path.read_text("utf-8") for path in sorted(folder.rglob("*.txt"))}
    return texts, [_question(one, texts, fresh=True) for one in _read("django.toml")["question"]]


def _question(given: Mapping[str, Any], texts: Mapping[str, str], *, fresh: bool) -> Question:
    if given["by"] not in KINDS or not given["in"]:
        raise ValueError(f"{given['ask']!r} is of no known kind, or has no answer")
    answers = tuple(place(name, phrase, texts) for name, phrase in given["in"])
    return Question(given["ask"], given["by"], answers, fresh)


def place(name: str, phrase: str, texts: Mapping[str, str]) -> Place:
    """The lines of a phrase; blanks and line ends in it count alike."""
    words = phrase.split()
    if name not in texts:
        raise ValueError(f"{name} is no document of the list")
    text = texts[name]
    found = list(re.finditer(r"\s+".join(map(re.escape, words)), text))
    if len(found) != 1 or len(words) > WORDS:
        raise ValueError(
            f"{phrase!r} is {len(found)} times in {name}; a phrase is there once, with {WORDS} words at most"
        )
    first, last = (text.count("\n", 0, at) + 1 for at in found[0].span())
    return Place(name, first, last)


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / name).read_text(encoding="utf-8"))
