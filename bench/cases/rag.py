"""A question to a library of 1,000, 10,000 and 100,000 pieces, beside a look at all of its vectors with numpy.

Ours opens the database, asks Qdrant's embedded engine for the nearest vectors, ranks by words, fuses both orders, reads
the best twenty passages and orders them once more by their texts. numpy holds all vectors in memory and picks the
nearest fifty; BM25 is a plain one in Python over lists in memory. The texts are made of words as frequent as those of a
language, the vectors at random: the model's own time for a question, the same for everybody who ranks by meaning, is
left out. The floor reads every vector.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate, cycle
from math import log
from pathlib import Path
from typing import Any

from bench import corpora
from bench.cases import Settings
from bench.measure import Contestant, Race, timed
from toolroll.host.knowledge.library import Library
from toolroll.host.knowledge.vectors.background import BackgroundFill
from toolroll.host.knowledge.vectors.qdrant_edge import QdrantEdge
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.state import State
from toolroll.text.knowledge.chunks import Chunk
from toolroll.text.knowledge.passages import LibraryDocument
from toolroll.text.ranking.weights import STOP

SIZES = (1_000, 10_000, 100_000)
TOGETHER = 20  # pieces of a document
WORDS, VOCABULARY = 170, 40_000  # of a piece; of the language
LENGTH = 384  # of a vector
ASKED = 13  # words of a question
NEAREST = 50
MEMORY = Path("/dev/shm")
STAMP = 3  # of what is made; another number builds it again


def races(settings: Settings) -> Iterator[Race]:
    one_thread()
    for size in SIZES[:2] if settings.quick else SIZES:
        texts = list(made_texts(size))
        kept = filled(texts)
        yield Race(f"search, {size:,} pieces", contestants(kept, texts), row="search", size=size)
        kept.close()


def one_thread() -> None:
    """Before numpy is loaded: more threads would take CPU time to wait for each other."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"


def contestants(kept: Kept, texts: Sequence[str]) -> list[Contestant]:
    asked = cycle(questions())
    matrix, bm25 = kept.matrix(texts), BM25(texts)
    return [
        Contestant("toolroll", "ours", timed(lambda: kept.library.search(next(asked), 5))),
        Contestant("numpy, all vectors", "peer", timed(lambda: nearest(matrix, vector(next(asked))))),
        Contestant("BM25 in Python", "peer", timed(lambda: bm25.search(next(asked), 5))),
        Contestant("matrix product", "floor", timed(partial(matrix.dot, vector("floor")))),
    ]


def made_texts(size: int) -> Iterator[str]:
    """So many pieces, the same each time: few words are in many of them, most in few."""
    chance = random.Random(size)
    names, weights = language()
    for _ in range(size):
        yield " ".join(chance.choices(names, cum_weights=weights, k=WORDS))


def questions() -> list[str]:
    """A hundred questions with as many frequent and rare words as the texts have."""
    chance = random.Random(0)
    names, weights = language()
    return [" ".join(chance.choices(names, cum_weights=weights, k=ASKED)) for _ in range(100)]


def language() -> tuple[list[str], list[float]]:
    """The words and how often they are used (Zipf), summed up. Three of four frequent ones are plain English words.

    With that a question meets about as many entries as those of bench/questions do in real documentation: 3.4 for each
    piece of a library, three of four by a plain word.
    """
    letters = random.Random(1)
    names = ["".join(letters.choices("abcdefghijklmnoprstuvw", k=letters.randrange(3, 10))) for _ in range(VOCABULARY)]
    for at, word in enumerate(sorted(STOP)):
        names[at + at // 3] = word
    return names, list(accumulate(1 / (rank + 2.7) for rank in range(VOCABULARY)))


def vector(text: str) -> Any:
    """A direction for a text: any, but always the same."""
    import numpy as np

    seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
    made = np.random.default_rng(seed).standard_normal(LENGTH, np.float32)
    return made / np.linalg.norm(made)


def nearest(matrix: Any, asked: Any) -> list[int]:
    """The rows with the largest cosines, in order."""
    import numpy as np

    cosines = matrix @ asked
    best = np.argpartition(cosines, -NEAREST)[-NEAREST:]
    return list(best[np.argsort(-cosines[best])])


class Meaning:
    """Takes the place of the model: what is left of the search is the product's own."""

    unavailable_reason = ""
    name = model = "made"
    batch = 1_000
    reranks = False

    def __init__(self, state: State) -> None:
        self.background = BackgroundFill(state)
        self.vectors = QdrantEdge(state)

    @property
    def embedder(self) -> Meaning:
        return self

    @property
    def bulk_embedder(self) -> Meaning:
        return self

    def embed_question(self, query: str, _token: CancelToken) -> Any:
        return vector(query)

    def embed(self, texts: Sequence[str], _token: CancelToken) -> Any:
        import numpy as np

        return np.stack([vector(text) for text in texts])


class Kept:
    """A filled library with its vectors."""

    def __init__(self, folder: Path) -> None:
        self._state = State(str(folder))
        self._meaning: Any = Meaning(self._state)
        self.library = Library(self._state, CancelToken(), self._meaning)

    def matrix(self, texts: Sequence[str]) -> Any:
        return self._meaning.embed(texts, CancelToken())

    def close(self) -> None:
        self._meaning.background.close()
        self._meaning.vectors.close()
        self._state.close()


def filled(texts: Sequence[str]) -> Kept:
    """A library of these texts, made on the first run and kept with the corpora."""
    folder = corpora.FOLDER / f"library-{len(texts)}-{STAMP}"
    if not folder.exists():
        with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.exists() else None) as room:  # its writes are many
            made = Kept(Path(room) / "made")
            for at in range(0, len(texts), TOGETHER):
                chunks = [Chunk(text, 1 + n, 1 + n) for n, text in enumerate(texts[at : at + TOGETHER])]
                made.library.put(LibraryDocument("text", f"document-{at}", "text", f"{at}", WORDS), chunks)
            while made.library.embed(_silent, 600.0):
                pass
            made.close()
            part = folder.with_suffix(".part")
            shutil.rmtree(part, ignore_errors=True)
            shutil.copytree(Path(room) / "made", part)
        part.rename(folder)
    return Kept(folder)


def _silent(_done: float, _total: float | None, _what: str) -> None:
    pass


class BM25:
    """The plain kind: every piece that has a word of the question gets a score."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._found: dict[str, list[tuple[int, int]]] = {}
        self._count = len(texts)
        for number, text in enumerate(texts):
            for word, times in Counter(text.split()).items():
                self._found.setdefault(word, []).append((number, times))

    def search(self, question: str, limit: int) -> list[int]:
        scores: dict[int, float] = {}
        for word in question.split():
            found = self._found.get(word, ())
            rarity = log(1 + (self._count - len(found) + 0.5) / (len(found) + 0.5))
            for number, times in found:
                scores[number] = scores.get(number, 0.0) + rarity * times * 2.2 / (times + 1.2)
        return sorted(scores, key=lambda number: -scores[number])[:limit]
