"""Outlines and symbols of all files of a tree: cold, again, and after an edit of one file.

Made trees of three sizes show how the cost grows. Cold rows open a kit, ask and close it, so that the processes which
parse are started, used and counted. The floor reads the same files and parses them with tree-sitter, in one process
and one thread, and looks at nothing.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bench import corpora
from bench.cases import Settings
from bench.cases.repo_map import edited
from bench.measure import Contestant, Race, timed
from toolroll import Kit
from toolroll.text.code.syntax import grammars, languages
from toolroll.text.code.syntax.language import MAX_SOURCE_BYTES

ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "outline of the tree": ("outline", {"path": "."}),
    "all classes": ("symbols", {"kind": "classes", "limit": 100_000}),
    "references of one name": ("references", {"symbol": "register"}),
}
SIZES = (500, 2_000, 8_000)
_FEW = 3  # a round of a whole tree takes seconds
_READY = 60.0  # seconds until the tree is watched and indexed


def races(settings: Settings) -> Iterator[Race]:
    name = "flask" if settings.quick else "django"
    real = corpora.trees((name,), settings.files).get(name)
    if real is not None:
        yield from _on(real, name, settings)
    for files in SIZES[:1] if settings.quick else SIZES:
        yield from _on(corpora.synthetic(files), f"{files:,} files", settings, files)


def _on(tree: Path, name: str, settings: Settings, size: int = 0) -> Iterator[Race]:
    """The races on one tree; those on made trees, which have a size, are of one row each."""

    def race(about: str, when: str, run: Callable[[], object]) -> Race:
        row = f"{about}, {when}" if size else ""
        return Race(f"{about}, {when}, {name}", [_ours(run), _floor(parse)], _FEW, row, size)

    parse = _parse(tree)
    for about, (tool, arguments) in ASKED.items():
        yield race(about, "cold", partial(_cold, tree, settings.state / "cold", tool, arguments))
    own = Path(shutil.copytree(tree, settings.scratch / f"structure-{name}"))
    file = next(iter(sorted(own.rglob("*.py"))))
    with Kit(own, state_dir=settings.state / f"structure-{name}") as kit:
        for about, (tool, arguments) in ASKED.items():
            ask = partial(kit.call, tool, arguments)
            for _ in range(2):  # the second one has the tree watched
                if not ask().ok:
                    raise RuntimeError(ask().text)
            if (files := kit.context().search.files) is not None:
                files.wait_until_ready(_READY)
            yield race(about, "warm", ask)
            yield race(about, "after an edit", edited(file, ask))


def _cold(tree: Path, state: Path, tool: str, arguments: dict[str, Any]) -> None:
    shutil.rmtree(state, ignore_errors=True)
    with Kit(tree, state_dir=state) as kit:
        kit.call(tool, arguments)


def _parse(tree: Path) -> Callable[[], None]:
    from tree_sitter import Parser

    named = ((path, languages.by_name(path.name)) for path in sorted(tree.rglob("*")) if path.is_file())
    files = [(path, one.name) for path, one in named if one is not None and path.stat().st_size <= MAX_SOURCE_BYTES]
    parsers = {name: Parser(grammars.grammar(name)) for _, name in files}

    def run() -> None:
        for path, name in files:
            parsers[name].parse(path.read_bytes())

    return run


def _ours(function: Callable[[], object]) -> Contestant:
    return Contestant("toolroll", "ours", timed(function))


def _floor(function: Callable[[], object]) -> Contestant:
    return Contestant("tree-sitter, parse alone", "floor", timed(function))
