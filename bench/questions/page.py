"""What was measured of retrieval, as a page of the manual and its picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bench import curve
from bench.measure import Outcome, ratio
from bench.report import number, seconds

Rows = Sequence[tuple[str, ...]]

PART = "<!-- Below: written by `python -m bench.shares --write`. -->"

INTRO = """\
# Retrieval

<!-- Written by `python -m bench.retrieval --write`; do not edit. -->

Does `rag` find the passage that answers a question? Measured with {questions} questions over {documents} pages of
documentation (Django {django} and Flask {flask}, from their source distributions), which the library holds in
{pieces} pieces.

- The questions were written for this, as a user would ask: some with words of the text, most in other words, some by
  what somebody sees when it goes wrong. Each names the places that answer it: a document, and a phrase of at most six
  words that is in it once. They are in `bench/questions`; the documents do not ship, only their names and hashes. That
  every phrase is where it should be is checked on each run.
- **By document**: a right document is among those of the first passages, each counted once. **By passage**: a passage
  holds the lines of an answer. Recall@5 is the share of questions with a right one among the first five; MRR is the
  mean of 1 / rank, over the first {most}.
- All three are the product's own search (`Library.search`), on one library, filled by the `rag` tool: by words alone
  (BM25), by meaning alone (all-MiniLM-L6-v2 in numpy, the nearest vectors from Qdrant's embedded engine), and by both,
  which is what the tool does: 0.45 · (score by words / best such score) + 0.55 · (cosine - last) / (first - last).
  First and last are the cosines of the nearest and of the 200th nearest piece, taken as 0.15 apart at least; what is
  further away gets nothing for its meaning. In a library of fewer pieces, last is 0.25, or the smallest cosine if that
  is lower. The best twenty then get up to 0.3 for pairs of the question's words that follow each other in the text,
  too; pairs of two plain words do not count. What is unlike the question (cosine below 0.25) and shares no word with it
  is no answer to any of the three.
- **The fresh questions ({fresh}, `fresh.toml`) are the nearest to blind.** They were written after the formula and the
  cut into pieces (by sections, where headings are underlined) were settled, all of them before the first was asked. The
  pairs of words came later: about 80 ways were compared on the other questions, while the results on the fresh ones
  from before were known; the fresh ones were asked again when that was done. On them recall@5 by passage is {both} by
  both, {meaning} by meaning alone and {words} by words alone; with so few questions each is known to about ± {margin}.
- The others (`questions.toml`) are in a tuning and a held-out half by a hash of their texts, but neither is blind: ways
  to put both orders together were compared on both halves, 51 of them in a first sweep, with an earlier cut into 1,003
  pieces. On the held-out half recall@5 by passage went from 0.756 to 0.837 among them, where the better order alone had
  0.756. So take the halves for the best case and the fresh questions for what to expect. The parts differ in how hard
  they are, too: compare their rows for words alone.
- With that earlier cut the fresh questions were asked once as well: recall@5 by passage was 0.750 by both, 0.691 by
  meaning and 0.618 by words, MRR 0.558, 0.473 and 0.571. Its pieces were longer, so that five of them held more.
- Chance, in the pairs, is that of a sign test on both sides: how likely such a difference is between equals. It takes
  no account of the sweep.

```console
$ toolroll models fetch
$ PYTHONPATH=. python -m bench.retrieval --write
```
"""
COST = """\
## What a search costs

CPU time at three sizes, everybody in turns, medians. Ours opens the database, ranks by words, asks for the nearest
vectors, fuses both, reads the best twenty passages and orders them once more; numpy only looks at all vectors, which it
holds in memory; BM25 is a plain one in Python, in memory too. The model's time for the question is left out of all of
them. The goal is at most 2 in the last column at 100,000 pieces. `make bench` measures the same races as ratios to
peers and floor, case `rag`.

![CPU time of a search over the number of pieces](retrieval.svg)
"""


def text(facts: Mapping[str, object], tables: Mapping[str, Rows], outcomes: Mapping[int, Outcome]) -> str:
    """The page, in Markdown."""
    parts = [INTRO.format_map(facts)]
    for title, rows in tables.items():
        parts += [f"## {title}\n", markdown(rows)]
    return "\n".join([*parts, COST, markdown(_costs(outcomes))])


def picture(outcomes: Mapping[int, Outcome]) -> str:
    """How cost grows."""
    names = [one.name for one in next(iter(outcomes.values())).measured]
    lines = {
        name: [(size, one.cpu) for size, outcome in outcomes.items() for one in outcome.measured if one.name == name]
        for name in names
    }
    return curve.svg("CPU time of a search", "pieces", lines)


def write(
    folder: Path, facts: Mapping[str, object], tables: Mapping[str, Rows], outcomes: Mapping[int, Outcome]
) -> None:
    """Put both into the folder of the manual."""
    page = folder / "retrieval.md"
    part = page.read_text(encoding="utf-8").partition(PART)[2]
    page.write_text(f"{text(facts, tables, outcomes)}\n{PART}{part}", encoding="utf-8")
    (folder / "retrieval.svg").write_text(picture(outcomes), encoding="utf-8")


def replace_part(page: Path, text: str) -> None:
    """Put a text behind the part of the page that this module writes."""
    before = page.read_text(encoding="utf-8").partition(PART)[0].rstrip()
    page.write_text(f"{before}\n\n{PART}\n\n{text}", encoding="utf-8")


def _costs(outcomes: Mapping[int, Outcome]) -> Rows:
    names = [one.name for one in next(iter(outcomes.values())).measured]
    rows: list[tuple[str, ...]] = [("pieces", *names, f"{names[0]} : {names[1]}")]
    for size, outcome in outcomes.items():
        ours, peer = outcome.ours, outcome.by_role("peer")[0]
        times = (seconds(one.cpu) for one in outcome.measured)
        rows.append((f"{size:,}", *times, number(ratio(ours.cpu, peer.cpu))))
    return rows


def markdown(rows: Rows) -> str:
    """A table."""
    head, *body = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, f"|{' --- |' * len(rows[0])}", *body, ""])
