"""What recording the changes of a command costs: a command that writes nothing, and `compileall`, which writes much.

Both ways run the same command by the same kit; the floor does not compare the tree before and after.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

from bench import corpora
from bench.cases import Settings
from bench.measure import Contestant, Race, timed
from toolroll import Kit
from toolroll.kit import preset

_COMMANDS = {
    "a command that writes nothing": ("true",),
    "compileall": (sys.executable, "-m", "compileall", "-q", "-f", "."),
}
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
        shutil.rmtree(tree)
