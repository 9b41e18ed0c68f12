"""Outlines and symbols of all files of a tree: cold, again, and after an edit of one file.

Cold rows open a kit, ask and close it, so that the processes which parse are started, used and counted. The floor
reads the same files and parses them with tree-sitter, in one process and one thread, and looks at nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bench import corpora
from bench.cases import Settings
from bench.cases.repo_map import copied, edited
from bench.measure import Contestant, Race, timed
from toolroll import Kit

ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "outline of the tree": ("outline", {"path": "."}),
    "all classes": ("symbols", {"kind": "classes", "limit": 100_000}),
    "references of one name": ("references", {"symbol": "register"}),
}
_FEW = 3  # a round of a whole tree takes seconds


def races(settings: Settings) -> Iterator[Race]:
    name = "flask" if settings.quick else "django"
    tree = corpora.trees((name,), settings.files).get(name) or corpora.synthetic(2_000)
    parse = _parse(tree)
    for about, (tool, arguments) in ASKED.items():
        cold = partial(_cold, tree, settings.state, tool, arguments)
        yield Race(f"{about}, cold, {name}", [_ours(cold), _floor(parse)], most_rounds=_FEW)
    with Kit(tree, state_dir=settings.state) as kit:
        for about, (tool, arguments) in ASKED.items():
            ask = partial(kit.call, tool, arguments)
            if not ask().ok:
                raise RuntimeError(ask().text)
            yield Race(f"{about}, warm, {name}", [_ours(ask), _floor(parse)], most_rounds=_FEW)
    own = copied(name, settings.scratch / f"structure-{name}")
    file = next(iter(sorted(own.rglob("*.py"))))
    with Kit(own, state_dir=settings.state / "structure") as kit:
        for about, (tool, arguments) in ASKED.items():
            ask = partial(kit.call, tool, arguments)
            ask()
            yield Race(f"{about}, after an edit, {name}", [_ours(edited(file, ask)), _floor(parse)], most_rounds=_FEW)


def _cold(tree: Path, state: Path, tool: str, arguments: dict[str, Any]) -> None:
    with Kit(tree, state_dir=state) as kit:
        kit.call(tool, arguments)


def _parse(tree: Path) -> Callable[[], None]:
    import tree_sitter_python
    from tree_sitter import Language, Parser

    files = sorted(tree.rglob("*.py"))
    parser = Parser(Language(tree_sitter_python.language()))

    def run() -> None:
        for file in files:
            parser.parse(file.read_bytes())

    return run


def _ours(function: Callable[[], object]) -> Contestant:
    return Contestant("toolroll", "ours", timed(function))


def _floor(function: Callable[[], object]) -> Contestant:
    return Contestant("tree-sitter, parse alone", "floor", timed(function))
