"""What was measured while vectors are being made, as a part of the page on retrieval, with its picture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bench import curve
from bench.questions.page import Rows, markdown, replace_part

TEXT = """\
## While vectors are being made

Vectors take minutes, words do not: a library is asked while only a part of its pieces has a vector. Measured with
{questions} questions (`bench/questions/django.toml`) over the whole documentation of Django {django}: {documents} pages
in {pieces} pieces. Most questions were written from sections that a random choice gave, in other words than theirs, all
of them before the first was asked; most of their pages are in no list that anything was chosen by. Which pieces have a
vector a random choice says; 10 and 50 % are the mean of {seeds} choices. `PYTHONPATH=. python -m bench.shares` fails if
both are below words alone at any share.

- A piece without a vector keeps the full weight of its words. With no vector at all, both is words alone with the
  reorder by pairs of words.
- A plain set-up of qdrant-client and fastembed with this model ranks by its vectors alone: expect the row of meaning at
  100 %. It was not run beside ours: its weights come from a model hub, and the bench fetches from package registries
  only. None of those that were looked through (PyPI, npm, Debian) has a Qdrant server either: tests of one speak to a
  stand-in over the wire, those of the embedded engine to Qdrant's own code.

![Recall and MRR over the share of pieces that have a vector](retrieval-shares.svg)
"""
COST = """\
A search of this library, with the vector of the question made by the model, in one thread. The goal is at most 100 ms
at 10,000 pieces. More than half of the CPU time goes to the model.
"""


def write(
    folder: Path, facts: Mapping[str, object], quality: Rows, costs: Rows, lines: Mapping[str, curve.Lines]
) -> None:
    """Put it into the page, in place of what it said before."""
    text = "\n".join([TEXT.format_map(facts), markdown(quality), COST, markdown(costs)])
    replace_part(folder / "retrieval.md", text)
    title = "Recall and MRR over the share of pieces that have a vector"
    (folder / "retrieval-shares.svg").write_text(curve.over_shares(title, lines), encoding="utf-8")
