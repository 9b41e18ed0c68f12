"""Lines that match, newest file first, at most 100 shown: in a tree that is unknown, and in one that is watched.

ripgrep searches the same files and writes rows of the same form; its output is taken into Python but not
parsed, not sorted and not cut. Ours also searches binary files to their end: an empty answer tells of matches in them.
Where more than 100 lines match, ours may stop as soon as the newest 100 are known, so that it looks at fewer files than
ripgrep does, gives no total, and the totals are not compared. Of a tree with few files no program is started, with or
without an index. The floor is the same run with its output thrown away.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bench import corpora
from bench.cases import Settings
from bench.measure import Contestant, Race, timed
from bench.peers import ripgrep
from toolroll import Kit

# What is looked for: the arguments of the tool and those of ripgrep.
QUERIES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "literal": (
        {"pattern": "raise NotImplementedError", "literal": True},
        ["--fixed-strings", "raise NotImplementedError"],
    ),
    "regex": ({"pattern": r"def (get|set)_\w+\(self"}, [r"def (get|set)_\w+\(self"]),
    "ignore case": (
        {"pattern": "raise valueerror", "ignore_case": True},
        ["--ignore-case", "raise valueerror"],
    ),
    "no match": ({"pattern": "zqxj_not_there", "literal": True}, ["--fixed-strings", "zqxj_not_there"]),
    "very common word": ({"pattern": "self", "literal": True}, ["--fixed-strings", "self"]),
}
LARGE, LARGER = 30_000, 100_000  # files of the made trees, so that flask, django and they show how the cost grows
SECONDS = 600.0  # until the index must be there
OPTIONS = [
    *(
        "--no-config",
        "--color=never",
        "--line-number",
        "--column",
        "--with-filename",
        "--no-heading",
        "--null",
    ),
    *("--no-ignore-parent", "--no-ignore-global", "--no-require-git"),
]


def races(settings: Settings) -> Iterator[Race]:
    program = ripgrep()
    trees = corpora.trees(settings.trees, settings.files if settings.quick else max(settings.files, LARGE))
    if not settings.quick:
        trees[f"synthetic, {LARGER:,} files"] = corpora.synthetic(LARGER)
    for name, tree in trees.items():
        size = sum(len(inner) for _, _, inner in os.walk(tree))
        for known in ("cold", "watched"):
            with Kit(tree, state_dir=settings.state) as kit:
                _prepare(kit, known)
                for query, (arguments, options) in QUERIES.items():
                    rg = raw([program, *OPTIONS, *options, "./"], tree, subprocess.PIPE)
                    _expect_same(kit.call("grep", arguments), rg().count(b"\n"))
                    discarded = raw([program, *OPTIONS, *options, "./"], tree, subprocess.DEVNULL)
                    yield Race(
                        f"{query}, {name}, {known}",
                        [
                            Contestant("toolroll grep", "ours", timed(partial(kit.call, "grep", arguments))),
                            Contestant("rg, output taken", "peer", timed(rg)),
                            Contestant("rg, output discarded", "floor", timed(discarded)),
                        ],
                        row=f"{query}, {known}",
                        size=size,
                    )


def _prepare(kit: Kit, known: str) -> None:
    """Have the kit know nothing but what it finds, or everything."""
    search = kit.context().search
    if known == "cold":
        search.close()
        return
    kit.call("find", {"pattern": "*"})
    if search.files is None or not search.files.wait_until_ready(SECONDS):
        raise RuntimeError("the tree is not known")


def raw(command: list[str], tree: Path, output: int) -> Callable[[], bytes]:
    return lambda: subprocess.run(command, cwd=tree, stdout=output, check=False).stdout or b""


def _expect_same(result: Any, rows: int) -> None:
    if not result.ok:
        raise RuntimeError(result.text)
    whole = result.status == "success" and "more than" not in result.text
    if whole and result.data["total"] != rows:
        raise RuntimeError(f"grep found {result.data['total']} lines, rg {rows}")
