"""`python -m bench.localise REPOSITORY`: which files did a commit change? Each method gets the message only.

For each of the newest commits the tree is put into the state before it, in a copy, and every method ranks the files
there. A rank is that of the best-placed file among those that the commit changed. Only source files take part, no
tests, texts or data, and only commits that change at most ten of them. History is what came before the commit.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from bench import peers
from bench.aider_map import Aider
from toolroll import Kit
from toolroll.text.code.syntax import languages
from toolroll.text.ranking.weights import ASIDE, WEIGHTS, Weights, find_aside

MOST_FILES = 10
NOWHERE = 10**9
CONTENTS = Weights(
    names=0, path=0, glued=0, history=0, alike=0, popularity=0, graph=0, mention=0, title=1, form=0, aside=False
)
DATA = re.compile(r"\.(cfg|conf|in|ini|lock|mo|svg|txt|xml|xsl)$|(^|/)[^./]+$", re.IGNORECASE)
WORD = re.compile(r"\w+")

Method = Callable[[str], Sequence[str]]
"""From a message to files, the best first."""


class Question(NamedTuple):
    """A commit: its message, and the source files that it changed and that were there before it."""

    commit: str
    message: str
    files: frozenset[str]


@dataclass(slots=True)
class Score:
    """The ranks that a method reached, from 1, and the CPU seconds that it took."""

    ranks: list[int] = field(default_factory=list)
    seconds: float = 0.0

    def hit(self, most: int) -> float:
        """The share of questions with a right file among the first so many."""
        return sum(rank <= most for rank in self.ranks) / len(self.ranks)

    def reciprocal(self) -> float:
        """The mean of 1 / rank."""
        return sum(1 / rank for rank in self.ranks) / len(self.ranks)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.localise", description=__doc__.partition("\n")[0])
    parser.add_argument("repository", type=Path, help="a git repository with history")
    parser.add_argument("--commits", type=int, default=100, metavar="N", help="how many, the newest (default 100)")
    parser.add_argument("--aider", action="store_true", help="ask aider's map too, which is installed for that")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="localise-") as scratch:
        scores, files = run(options.repository, options.commits, Path(scratch), aider=options.aider)
    if not scores:
        print("No commit there changes source files that were there before.", file=sys.stderr)
        return 1
    print(table(scores, files))
    return 0


def run(repository: Path, commits: int, scratch: Path, *, aider: bool = False) -> tuple[dict[str, Score], int]:
    """Ask every method about the newest commits; their scores, and the number of files at the end."""
    tree = scratch / "tree"
    # A copy of its own: the repository is not touched, and everything that git needs is beneath the workspace.
    git(scratch, "clone", "--quiet", "--no-checkout", str(repository.resolve()), str(tree))
    scores: dict[str, Score] = {}
    files = 0
    # One of each for all, so that each commit costs what it changes.
    with (
        Kit(tree, state_dir=scratch / "state") as kit,
        Aider(peers.own("aider"), tree) if aider else nullcontext() as other,
    ):
        for question in list(questions(tree, commits)):
            git(tree, "checkout", "--quiet", "--force", "--detach", f"{question.commit}^")
            with methods(kit, other) as (known, files):
                for name, method in known.items():
                    began = time.process_time() + (other.cpu if other is not None else 0.0)
                    ranked = [path for path in method(question.message) if is_source(path)]
                    score = scores.setdefault(name, Score())
                    score.seconds += time.process_time() + (other.cpu if other is not None else 0.0) - began
                    score.ranks.append(rank(ranked, question.files))
    return scores, files


def questions(tree: Path, commits: int) -> Iterator[Question]:
    """The newest commits that can be asked about, the oldest of them first."""
    found: list[Question] = []
    for one in git(tree, "rev-list", "--no-merges", "--min-parents=1", "HEAD").split():
        changed = git(tree, "diff", "--no-renames", "--name-only", "-z", "--diff-filter=DMT", f"{one}^", one)
        sources = frozenset(path for path in changed.split("\0") if is_source(path))
        if 0 < len(sources) <= MOST_FILES:
            found.append(Question(one, git(tree, "show", "--no-patch", "--format=%B", one).strip(), sources))
        if len(found) == commits:
            break
    return reversed(found)


@contextmanager
def methods(kit: Kit, other: Aider | None) -> Iterator[tuple[dict[str, Method], int]]:
    """The methods on the tree as it is now, and the number of source files in it."""
    ctx = kit.context()
    past = ctx.repo_maps.commit_history(ctx.repository)
    with ctx.repo_maps.build() as built:
        ranker = built.ranker
        sources = [path for path, _ in ranker.by_graph().files if is_source(path)]

        def asked(weights: Weights) -> Method:
            return lambda message: [path for path, _ in ranker.by_question(message, past, weights=weights).files]

        known = {
            "toolroll repo_map": asked(WEIGHTS),
            "without history": asked(replace(WEIGHTS, history=0)),
            "BM25 over contents": asked(CONTENTS),
            "BM25 over contents and messages": asked(replace(CONTENTS, history=1)),
            "PageRank": lambda _: [path for path, _ in ranker.by_graph().files],
        }
        if other is not None:
            known["aider's repo map"] = by_aider(other, sources)
        yield known, len(sources)


def by_aider(running: Aider, sources: Sequence[str]) -> Method:
    """The method that gets the words of the message as names, and as files, that are mentioned."""

    def ranked(message: str) -> Sequence[str]:
        words = set(WORD.findall(message))
        named = [path for path in sources if Path(path).name in message or Path(path).stem in words]
        found: list[str] = running.ask(rank=sorted(words), named=named, files=list(sources))["found"]
        return found

    return ranked


def is_source(path: str) -> bool:
    """Whether a file is code that a program is made of: no test, text or data."""
    language, row = languages.by_name(path), find_aside(path)
    if not path or (row is not None and not ASIDE[row].code):
        return False
    return language.code if language is not None else not DATA.search(path)


def rank(ranked: Sequence[str], wanted: frozenset[str]) -> int:
    """The place of the first file that is wanted, from 1."""
    return next((place for place, path in enumerate(ranked, 1) if path in wanted), NOWHERE)


def table(scores: dict[str, Score], files: int) -> str:
    """The scores as text."""
    asked = max(len(score.ranks) for score in scores.values())
    rows = [("method", "hit@1", "hit@5", "hit@10", "MRR", "CPU ms")]
    for name, score in scores.items():
        hits = (f"{value:.2f}" for value in (*map(score.hit, (1, 5, 10)), score.reciprocal()))
        rows.append((name, *hits, f"{1000 * score.seconds / len(score.ranks):.1f}"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([f"{asked} commits, {files} source files", *lines])


def git(folder: Path, *words: str) -> str:
    """What git prints in a folder."""
    command = ["git", "-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"git {words[0]} failed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout.decode(errors="surrogateescape")


if __name__ == "__main__":
    sys.exit(main())
