"""A copy of a repository to try something in, made and removed.

`git worktree add` checks out the last commit only: what is changed, untracked or ignored is not in it. Where overlays
do not work, toolroll forks by reflinks or a copy.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from bench import corpora
from bench.cases import Settings
from bench.measure import Contestant, Race, timed
from toolroll import Kit


def races(settings: Settings) -> Iterator[Race]:
    tree, other = settings.scratch / "tree", settings.scratch / "other"

    def worktree() -> None:
        _git(tree, "worktree", "add", "-q", "--detach", str(other))
        _git(tree, "worktree", "remove", "--force", str(other))

    def copy() -> None:
        shutil.copytree(tree, other, symlinks=True)
        shutil.rmtree(other)

    for name, source in corpora.trees(settings.trees, settings.files).items():
        shutil.copytree(source, tree, symlinks=True)
        if not (tree / ".git").is_dir():
            _git(tree, "init", "-q")
            _git(tree, "add", "-A")
            _git(tree, "-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "-qm", "all")
        with Kit(tree, state_dir=settings.state) as kit:
            contestants = [
                Contestant("toolroll fork", "ours", timed(lambda kit=kit: kit.fork().drop())),
                Contestant("git worktree add", "peer", timed(worktree)),
                Contestant("copytree", "floor", timed(copy)),
            ]
            yield Race(name, contestants)
            by_copy = Contestant("toolroll fork by copy", "ours", timed(lambda kit=kit: kit.fork("copy").drop()))
            yield Race(f"{name}, by copy", [by_copy, Contestant("copytree", "floor", timed(copy))])
        shutil.rmtree(tree)


def _git(tree: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=tree, check=True)
