"""`python -m bench.shares`: how good and how fast a search is while vectors are still being made.

Asked are questions that nothing was chosen by (bench/questions/django.toml), over the whole documentation of Django. It
is imported and embedded once; for each share, a copy of that library forgets the vectors of the other pieces.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sqlite3
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles

from bench import corpora, peers, retrieval
from bench.cases import rag
from bench.questions import Question, shares_page, whole
from bench.retrieval import Row, Score
from toolroll import Kit
from toolroll.host.knowledge.library import Library
from toolroll.host.knowledge.vectors.background import BackgroundFill, Fill

FOLDER = peers.HOME / "shares"
SHARES = (0, 10, 50, 100)  # per cent of the pieces that have a vector
SEEDS = (1, 2, 3)  # which pieces these are; with 0 and 100 there is one choice
LIMIT = 5
HEAD: Row = ("vectors", *retrieval.HEAD)
COSTS: Row = ("vectors", "CPU time, median", "CPU time, 95 %", "wall time, median", "wall time, 95 %")


@dataclass(slots=True)
class Measured:
    """What was measured at one share: ranks by method, and the CPU and wall seconds of each search."""

    scores: dict[str, Score] = field(default_factory=dict)
    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)


class Idle(BackgroundFill):
    """Makes no vector, so that a share stays what it is."""

    def start(self, fill: Fill, wanted: Sequence[int] = ()) -> None:
        pass


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.shares", description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="also put the figures into docs/retrieval.md")
    options = parser.parse_args(arguments)
    rag.one_thread()
    try:
        texts, asked = whole()
    except (peers.UnavailableError, OSError) as error:
        print(f"The documents cannot be had here: {error}", file=sys.stderr)
        return 1
    with peers.alone():
        with retrieval.library(texts, FOLDER) as (kept, why):
            held = kept.stats()
        if why:
            print(f"There are no vectors: {why}", file=sys.stderr)
            return 1
        measured = {share: measure(FOLDER, share, asked) for share in SHARES}
    quality, costs = [HEAD, *rows(measured)], [COSTS, *cost_rows(measured)]
    print(f"{len(asked)} questions over {held.documents} documents in {held.pieces} pieces")
    print(f"{retrieval.shown(quality)}\n\n{retrieval.shown(costs)}")
    if options.write:
        facts = {"questions": len(asked), "documents": held.documents, "pieces": f"{held.pieces:,}"}
        facts |= {"django": corpora.SOURCES["django"][0], "seeds": len(SEEDS)}
        shares_page.write(peers.ROOT / "docs", facts, quality, costs, lines(measured))
    return 0 if not (low := below(measured)) else _told(low)


def _told(low: Sequence[str]) -> int:
    print(f"Below words alone: {', '.join(low)}", file=sys.stderr)
    return 1


def measure(folder: Path, share: int, asked: Sequence[Question]) -> Measured:
    """Ask everything at one share, by all methods, then once more as the tool does, for the time."""
    made = Measured()
    for seed in SEEDS if 0 < share < 100 else SEEDS[:1]:
        with opened(folder, share, seed) as kept:
            for name, one in retrieval.measured(retrieval.methods(kept, by_meaning=True), asked).items():
                score = made.scores.setdefault(name, Score())
                score.documents += one.documents
                score.passages += one.passages
            for question in asked:
                cpu, wall = time.process_time(), time.perf_counter()
                kept.search(question.text, LIMIT)
                made.cpu.append(time.process_time() - cpu)
                made.wall.append(time.perf_counter() - wall)
    return made


@contextmanager
def opened(folder: Path, share: int, seed: int) -> Iterator[Library]:
    """A copy of the library in which so many per cent of the pieces, chosen by the seed, have a vector."""
    state = folder / "share"
    shutil.rmtree(state, ignore_errors=True)
    shutil.copytree(folder / "state", state)
    with Kit(folder / "documents", state_dir=state) as kit:
        ctx = kit.context()
        ctx.meaning.background = Idle(ctx.files.state)
        kept = Library(ctx.files.state, ctx.token, ctx.meaning)
        with closing(sqlite3.connect(Path(ctx.files.state.path) / "library" / "library.sqlite")) as base, base:
            numbers = [number for (number,) in base.execute("select number from pieces order by number")]
            random.Random(seed).shuffle(numbers)
            without = numbers[len(numbers) * share // 100 :]
            ctx.meaning.vectors.drop(without, ctx.token)
            base.executemany("insert into missing select ?, name from ways", [(number,) for number in without])
        yield kept


def rows(measured: Mapping[int, Measured]) -> Iterator[Row]:
    """Words alone, which no vector changes; then meaning and both at each share."""
    words, meaning, both = next(iter(measured.values())).scores
    yield ("any", *retrieval.row(words, next(iter(measured.values())).scores[words]))
    for name in (meaning, both):
        for share, one in measured.items():
            if share or name == both:
                yield (f"{share} %", *retrieval.row(name, one.scores[name]))


def cost_rows(measured: Mapping[int, Measured]) -> Iterator[Row]:
    for share, one in measured.items():
        times = [value for taken in (one.cpu, one.wall) for value in (median(taken), quantiles(taken, n=20)[-1])]
        yield (f"{share} %", *(f"{1000 * value:.0f} ms" for value in times))


def lines(measured: Mapping[int, Measured]) -> dict[str, dict[str, list[tuple[int, float]]]]:
    """For each measure and method the shares with their values, to be drawn."""
    kinds = {"recall@5 by passage": retrieval.recall, "MRR by passage": retrieval.reciprocal}
    names = next(iter(measured.values())).scores
    return {
        title: {name: [(share, of(one.scores[name].passages)) for share, one in measured.items()] for name in names}
        for title, of in kinds.items()
    }


def below(measured: Mapping[int, Measured]) -> list[str]:
    """The shares at which both are worse than words alone, by passage."""
    return [
        f"{title} at {share} %"
        for title, drawn in lines(measured).items()
        for (share, value), (_, words) in zip(drawn["both"], drawn["words (BM25)"], strict=True)
        if value < words
    ]


if __name__ == "__main__":
    sys.exit(main())
