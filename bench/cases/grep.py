"""Lines that match, newest file first, at most 100 of them shown.

ripgrep searches the same files and writes rows of the same form; its output is taken into Python but not
parsed, not sorted and not cut. The floor is the same run with its output thrown away.
"""

from __future__ import annotations

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
    for name, tree in corpora.trees(settings.trees, settings.files).items():
        with Kit(tree, state_dir=settings.state) as kit:
            for query, (arguments, options) in QUERIES.items():
                rg = raw([program, *OPTIONS, *options, "./"], tree, subprocess.PIPE)
                _expect_same(kit.call("grep", arguments), rg().count(b"\n"))
                discarded = raw([program, *OPTIONS, *options, "./"], tree, subprocess.DEVNULL)
                yield Race(
                    f"{query}, {name}",
                    [
                        Contestant(
                            "toolroll grep",
                            "ours",
                            timed(partial(kit.call, "grep", arguments)),
                        ),
                        Contestant("rg, output taken", "peer", timed(rg)),
                        Contestant("rg, output discarded", "floor", timed(discarded)),
                    ],
                )


def raw(command: list[str], tree: Path, output: int) -> Callable[[], bytes]:
    return lambda: subprocess.run(command, cwd=tree, stdout=output, check=False).stdout or b""


def _expect_same(result: Any, rows: int) -> None:
    if not result.ok:
        raise RuntimeError(result.text)
    if result.status == "success" and result.data["total"] != rows:
        raise RuntimeError(f"grep found {result.data['total']} lines, rg {rows}")
