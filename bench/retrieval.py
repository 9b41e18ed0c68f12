"""`python -m bench.retrieval`: are the right passages found? By words, by meaning and by both, on questions that ship.

The documents are pages of documentation from pinned source distributions, the questions are in bench/questions. The
library is the product's own, filled and asked through the `rag` tool. It is kept in .bench, so that the vectors, which
cost minutes, are made once.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import comb, sqrt
from pathlib import Path

from bench import corpora, peers
from bench.cases import Settings, rag
from bench.measure import Outcome, run
from bench.questions import KINDS, PARTS, Place, Question, documents, nowhere, page, questions
from toolroll import Kit
from toolroll.host.knowledge.library import Library
from toolroll.text.knowledge import chunks
from toolroll.text.knowledge.fusion import By

FOLDER = peers.HOME / "retrieval"
MOST = 50  # passages that are looked at
ROUNDS = 9
SECONDS = 600.0  # until the next word on how far the vectors are
NOWHERE = 10**9

Row = tuple[str, ...]
HEAD: Row = ("ranked by", "recall@5 by document", "MRR by document", "recall@5 by passage", "MRR by passage")
PAIRS: Row = ("questions", "pair", "both", "only the first", "only the second", "neither", "chance")
TITLES = {"fresh": "The fresh questions", "held-out": "The held-out half", "tuning": "The tuning half"}

Method = Callable[[str], Sequence[Place]]
"""From a question to passages, the best first."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.retrieval", description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="also measure what it costs, and write docs/retrieval.md")
    options = parser.parse_args(arguments)
    rag.one_thread()
    try:
        texts = documents()
    except (peers.UnavailableError, OSError) as error:
        print(f"The documents cannot be had here: {error}", file=sys.stderr)
        return 1
    asked = questions(texts)
    with peers.alone(), library(texts, FOLDER) as (kept, why):
        held = kept.stats()
        scores = measured(methods(kept, by_meaning=not why), asked)
        made = dict(tables(scores, asked))
        print(f"{len(asked)} questions over {held.documents} documents in {held.pieces} pieces")
        for title, rows in made.items():
            print(f"\n{title}\n{shown(rows)}")
        empty = [not kept.search(one, 5).passages for one in nowhere()]
        print(f"\n{sum(empty)} of {len(empty)} questions that nothing answers get no passage")
        if options.write and not why:
            facts = {"documents": held.documents, "pieces": f"{held.pieces:,}", "most": MOST} | blind(scores, asked)
            facts |= {name: version for name, (version, _) in corpora.SOURCES.items()}
            page.write(peers.ROOT / "docs", facts, made, costs())
    if why:
        print(f"\nBy words alone: {why}", file=sys.stderr)
    return 1 if why else 0


def costs() -> dict[int, Outcome]:
    """What a search costs, by the number of pieces."""
    settings = Settings(FOLDER / "scratch", FOLDER / "scratch")
    return {size: run(race, ROUNDS) for size, race in zip(rag.SIZES, rag.races(settings), strict=True)}


@contextmanager
def library(texts: Mapping[str, str], folder: Path) -> Iterator[tuple[Library, str]]:
    """The product's library with all documents in it, and why it cannot rank by meaning: a sentence, or ""."""
    workspace = folder / "documents"
    for name, text in texts.items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
    stamp, known_by = folder / "cut", cut(texts)
    with Kit(workspace, state_dir=folder / "state") as kit:
        ctx = kit.context()
        if not stamp.exists() or stamp.read_text(encoding="utf-8") != known_by:
            _told_to(kit, {"action": "clear", "confirm": True})
        _told_to(kit, {"action": "add_document", "path": "."})
        stamp.write_text(known_by, encoding="utf-8")
        kept = Library(ctx.files.state, ctx.token, ctx.meaning)
        while left := kept.embed(_told, SECONDS):
            print(left, file=sys.stderr)
        yield kept, ctx.meaning.unavailable_reason


def cut(texts: Mapping[str, str]) -> str:
    """What the cut of the documents into pieces is known by. The library leaves a file that it knows as it once was."""
    pieces = [[(one.start, one.end, one.title) for one in chunks.split_text(text)] for text in texts.values()]
    return hashlib.sha256(repr(pieces).encode()).hexdigest()


def _told_to(kit: Kit, arguments: Mapping[str, object]) -> None:
    done = kit.call("rag", arguments)
    if not done.ok:
        raise RuntimeError(done.text)


def methods(kept: Library, *, by_meaning: bool) -> dict[str, Method]:
    """The ways to ask: the last one is what the tool does."""

    def asked(by: By) -> Method:
        def ranked(query: str) -> Sequence[Place]:
            return [Place(one.source, one.start, one.end) for one in kept.search(query, MOST, by=by).passages]

        return ranked

    words = {"words (BM25)": asked("words")}
    return words | {"meaning (vectors)": asked("meaning"), "both": asked("both")} if by_meaning else words


def _told(done: float, total: float | None, what: str) -> None:
    print(f"{done:.0f} of {total or 0:.0f} {what}", file=sys.stderr, flush=True)


@dataclass(slots=True)
class Score:
    """The ranks that a method reached, from 1: of the first right document and of the first right passage."""

    documents: list[int] = field(default_factory=list)
    passages: list[int] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, ranked: Sequence[Place], question: Question) -> None:
        self.documents.append(document_rank(ranked, question))
        self.passages.append(passage_rank(ranked, question))

    def of(self, chosen: Sequence[bool]) -> Score:
        """The part of it for some of the questions."""
        kept = [at for at, one in enumerate(chosen) if one]
        return Score([self.documents[at] for at in kept], [self.passages[at] for at in kept])

    def ranks(self, what: str) -> Sequence[int]:
        """Those of "document" or "passage"."""
        return {"document": self.documents, "passage": self.passages}[what]


def document_rank(ranked: Sequence[Place], question: Question) -> int:
    """The place of the first document that answers, each counted once."""
    right = {one.document for one in question.answers}
    names = dict.fromkeys(one.document for one in ranked)
    return next((rank for rank, name in enumerate(names, 1) if name in right), NOWHERE)


def passage_rank(ranked: Sequence[Place], question: Question) -> int:
    """The place of the first passage that holds an answer."""
    right = (rank for rank, one in enumerate(ranked, 1) if any(one.holds(answer) for answer in question.answers))
    return next(right, NOWHERE)


def recall(ranks: Sequence[int], most: int = 5) -> float:
    """The share of questions with the right one among the first so many."""
    return sum(rank <= most for rank in ranks) / len(ranks) if ranks else 0.0


def reciprocal(ranks: Sequence[int]) -> float:
    """The mean of 1 / rank."""
    return sum(1 / rank for rank in ranks) / len(ranks) if ranks else 0.0


@dataclass(frozen=True, slots=True)
class Paired:
    """How two methods differ, question by question: which of them has a right one among its first five."""

    both: int
    one: int
    other: int
    neither: int

    @classmethod
    def of(cls, one: Sequence[int], other: Sequence[int], most: int = 5) -> Paired:
        pairs = [(a <= most, b <= most) for a, b in zip(one, other, strict=True)]
        counts = (pairs.count(pair) for pair in ((True, True), (True, False), (False, True), (False, False)))
        return cls(*counts)

    @property
    def chance(self) -> float:
        """How likely a difference like this is if both are equally good (sign test, both sides)."""
        told = self.one + self.other
        tail = sum(comb(told, at) for at in range(min(self.one, self.other) + 1)) / 2**told
        return min(1.0, 2 * tail)


def measured(methods: Mapping[str, Method], asked: Sequence[Question]) -> dict[str, Score]:
    """Ask every method everything."""
    scores = {name: Score() for name in methods}
    for question in asked:
        for name, method in methods.items():
            began = time.process_time()
            ranked = method(question.text)
            scores[name].seconds += time.process_time() - began
            scores[name].add(ranked, question)
    return scores


def tables(scores: Mapping[str, Score], asked: Sequence[Question]) -> Iterator[tuple[str, list[Row]]]:
    """What was measured: for each part of the questions, by how they are put, and pair by pair."""
    parts = {part: [one.part == part for one in asked] for part in PARTS}
    for part, chosen in parts.items():
        rows = [row(method, one.of(chosen)) for method, one in scores.items()]
        yield f"{TITLES[part]} ({sum(chosen)})", [HEAD, *rows]
    yield "By how a fresh question is put", list(_kinds(scores, asked, parts["fresh"]))
    yield "By how another question is put", list(_kinds(scores, asked, [not one for one in parts["fresh"]]))
    for what in ("passage", "document"):
        rows = [row for part, chosen in parts.items() for row in _pairs(scores, part, chosen, what)]
        yield f"Pair by pair: a right {what} among the first five", [PAIRS, *rows]


def blind(scores: Mapping[str, Score], asked: Sequence[Question]) -> dict[str, object]:
    """How many questions there are, and recall@5 by passage on the fresh ones, for the words of the page."""
    chosen = [one.fresh for one in asked]
    shares = {name.partition(" ")[0]: recall(one.of(chosen).passages) for name, one in scores.items()}
    margin = 1.96 * sqrt(max(share * (1 - share) for share in shares.values()) / sum(chosen))
    counts = {"questions": len(asked), "fresh": sum(chosen), "margin": f"{margin:.2f}"}
    return counts | {name: f"{share:.3f}" for name, share in shares.items()}


def _kinds(scores: Mapping[str, Score], asked: Sequence[Question], among: Sequence[bool]) -> Iterator[Row]:
    counts = {kind: [chosen and one.kind == kind for one, chosen in zip(asked, among, strict=True)] for kind in KINDS}
    yield ("recall@5 by passage", *(f"{kind} ({sum(chosen)})" for kind, chosen in counts.items()))
    for method, one in scores.items():
        yield (method, *(f"{recall(one.of(chosen).passages):.2f}" for chosen in counts.values()))


def row(name: str, score: Score) -> Row:
    """A method with its shares and means, as HEAD names them."""
    values = (recall(score.documents), reciprocal(score.documents), recall(score.passages), reciprocal(score.passages))
    return (name, *(f"{value:.3f}" for value in values))


def _pairs(scores: Mapping[str, Score], part: str, chosen: Sequence[bool], what: str) -> Iterator[Row]:
    ranks = {name: one.of(chosen).ranks(what) for name, one in scores.items()}
    first, *others = list(ranks)[::-1]
    for other in others:
        pair = Paired.of(ranks[first], ranks[other])
        counts = (pair.both, pair.one, pair.other, pair.neither)
        yield (part, f"{first} : {other}", *map(str, counts), f"{pair.chance:.2g}")


def shown(rows: Sequence[Row]) -> str:
    """Columns of plain text."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(f"  {line.rstrip()}" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
