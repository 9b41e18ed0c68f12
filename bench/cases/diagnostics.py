"""What is wrong with a file right after it was changed, asked of a server that is warm.

The server works in a process of its own, which only the wall time shows. `ty check` starts a new process each
time. The floor asks the same server again about the same file when nothing has changed.
"""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from itertools import cycle

from bench import corpora
from bench.cases import Settings
from bench.measure import Contestant, Race, timed
from toolroll import Kit

TEXTS = ("count: int = 'one'\n", "count: int = 1\n")


def races(settings: Settings) -> Iterator[Race]:
    program = shutil.which("ty", path=sysconfig.get_path("scripts"))
    if program is None:
        print("  left out: ty is not installed")
        return
    tree = settings.scratch / "tree"
    source = corpora.trees(("flask",), settings.files).get("flask") or corpora.synthetic(2_000)
    shutil.copytree(source, tree, symlinks=True)
    path = tree / "changed.py"
    texts = cycle(TEXTS)
    with Kit(tree, state_dir=settings.state) as kit:

        def ask() -> int:
            found = kit.call("diagnostics", {"files": ["changed.py"]})
            if not found.ok:
                raise RuntimeError(found.text)
            return int(found.data["total"])

        def changed() -> None:
            text = next(texts)
            path.write_text(text)
            if ask() != (text == TEXTS[0]):
                raise RuntimeError("a stale answer")

        def check() -> None:
            path.write_text(next(texts))
            subprocess.run([program, "check", "changed.py"], cwd=tree, capture_output=True, check=False)

        path.write_text(TEXTS[0])
        yield Race(
            "one file changed, in flask",
            [
                Contestant("toolroll diagnostics", "ours", timed(changed)),
                Contestant("ty check", "peer", timed(check)),
                Contestant("asked again", "floor", timed(ask)),
            ],
        )
