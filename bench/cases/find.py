"""`**/*.py`, newest first: the first 100 of them, in exact order; of a tree never seen, and of one that is known.

toolroll also keeps the paths of all others, to be read on from there; of a tree that is known, the same question was
asked before, and the answer has been kept up since. ripgrep lists the names, which are then looked
at one by one and sorted in Python. The floor lists and looks at everything by path, as nobody should who must not
leave the folder, with no rules and in no order.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from bench import corpora
from bench.cases import Settings
from bench.measure import Contestant, Race, timed
from bench.peers import ripgrep
from toolroll import Kit

FIRST = 100
LARGER = (30_000, 100_000)  # files of the other made trees
SECONDS = 60.0  # until the tree must be known
OPTIONS = ["--no-config", "--no-ignore-parent", "--no-ignore-global", "--no-require-git"]
ARGUMENTS = {"pattern": "**/*.py", "limit": FIRST}


def races(settings: Settings) -> Iterator[Race]:
    program = ripgrep()
    trees = corpora.trees(settings.trees, settings.files)
    if not settings.quick:
        trees |= {f"synthetic, {count:,} files": corpora.synthetic(count) for count in LARGER}
    for name, tree in trees.items():
        size = sum(len(files) for _, _, files in os.walk(tree))
        for known in ("cold", "warm"):
            with Kit(tree, state_dir=settings.state) as kit:
                _prepare(kit, known)
                found = [one["path"] for one in kit.call("find", ARGUMENTS).data["entries"]]
                if found != (wanted := listed(program, tree)):
                    raise RuntimeError(f"find shows {len(found)} files in {name}, rg {len(wanted)} others")
                yield Race(
                    f"{name}, {known}",
                    [
                        Contestant("toolroll find", "ours", timed(partial(kit.call, "find", ARGUMENTS))),
                        Contestant("rg --files + stat + sort", "peer", timed(partial(listed, program, tree))),
                        Contestant("scandir + stat", "floor", timed(partial(walked, str(tree)))),
                    ],
                    row=f"find, {known}",
                    size=size,
                )


def _prepare(kit: Kit, known: str) -> None:
    """Have the kit know nothing but what it finds, or the whole tree."""
    search = kit.context().search
    if known == "cold":
        search.close()
        return
    kit.call("find", ARGUMENTS)
    if search.files is None or not search.files.wait_until_ready(SECONDS):
        raise RuntimeError("the tree is not known")


def listed(program: str, tree: Path) -> list[str]:
    """The newest files as ripgrep lists them."""
    command = [program, *OPTIONS, "--files", "--null", "--glob=*.py"]
    names = subprocess.check_output(command, cwd=tree).decode().split("\0")[:-1]
    aged = sorted((-os.stat(f"{tree}/{name}").st_mtime_ns, name) for name in names)
    return [name for _, name in aged[:FIRST]]


def walked(folder: str) -> list[int]:
    """The age of each file, with no ignore rules and no order."""
    ages, folders = [], [folder]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif entry.name.endswith(".py"):
                    ages.append(entry.stat(follow_symlinks=False).st_mtime_ns)
    return ages
