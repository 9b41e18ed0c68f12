"""What recording the changes of a command costs: one that writes nothing, `compileall`, and 20,000 new files.

Both ways run the same command by the same kit; the floor does not compare the tree before and after. Of new
files, the floor is what the command itself took. Their contents are kept beside what comes next, not measured here.
"""

from __future__ import annotations

import io
import os
import resource
import shutil
import sys
import tarfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from bench import corpora
from bench.cases import Settings
from bench.measure import Contestant, Race, Sample, timed, timed_once
from toolroll import Kit
from toolroll.host.capture.listing import TreeLister
from toolroll.host.files.root import Root
from toolroll.kit import preset

_COMMANDS = {
    "a command that writes nothing": ("true",),
    "compileall": (sys.executable, "-m", "compileall", "-q", "-f", "."),
}
_NEW, _LISTED = 20_000, 10_000
_SECONDS = 300


def races(settings: Settings) -> Iterator[Race]:
    tree = settings.scratch / "tree"
    policy = replace(preset("standard"), sandbox="none")
    for name, source in corpora.trees(settings.trees, settings.files).items():
        shutil.copytree(source, tree, symlinks=True)
        with Kit(tree, state_dir=settings.state, policy=policy) as kit:

            def run(words: Sequence[str], captured: bool, kit: Kit = kit) -> None:
                kit.context().shell.program(words, seconds=_SECONDS, captured=captured)

            for what, words in _COMMANDS.items():
                contestants = [
                    Contestant("toolroll, captured", "ours", timed(lambda words=words: run(words, True))),
                    Contestant("not captured", "floor", timed(lambda words=words: run(words, False))),
                ]
                yield Race(f"{what}, {name}", contestants)
            yield _unpacking(tree, run)
        shutil.rmtree(tree)
    yield _listing(tree)


def _unpacking(tree: Path, run: Callable[[Sequence[str], bool], None]) -> Race:
    """A race of unpacking many small files, which are removed after each run."""
    archive = tree.parent / "new.tar"
    with tarfile.open(archive, "w") as tar:
        for number in range(_NEW):
            entry = tarfile.TarInfo(f"unpacked/{number % 200}/{number}.txt")
            entry.size = len(data := f"file {number}\n".encode() * 10)
            tar.addfile(entry, io.BytesIO(data))

    def clean() -> None:
        shutil.rmtree(tree / "unpacked")
        run(("true",), True)

    own = 0.0  # what tar itself took: the state of the disk changes it by half from run to run

    def unpack() -> None:
        nonlocal own
        before = _children_seconds()
        run(("tar", "xf", str(archive)), True)
        own = _children_seconds() - before

    contestants = [
        Contestant("toolroll, captured", "ours", timed_once(unpack, clean)),
        Contestant("tar in the same run", "floor", lambda: Sample(own, own)),
    ]
    return Race(f"{_NEW:,} new files", contestants)


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _listing(tree: Path) -> Race:
    """A race of listing files without a watch."""
    tree.mkdir()
    root = Root(str(tree))
    for number in range(_LISTED):
        path = tree / str(number % 100) / f"{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    def list_all() -> None:
        TreeLister(root, "", lambda _: False).refresh()  # a new one has no watch

    def walk() -> None:
        for folder, _, names in os.walk(tree):
            for name in names:
                os.lstat(f"{folder}/{name}")

    contestants = [
        Contestant("toolroll", "ours", timed(list_all)),
        Contestant("os.walk and lstat", "floor", timed(walk)),
    ]
    return Race(f"listing {_LISTED:,} paths", contestants)
