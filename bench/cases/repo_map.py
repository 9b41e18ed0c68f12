"""A map of 2,048 tokens for a question: of a tree never seen, by a new kit on a known tree, again, and after an edit.

Beside it tree-sitter parses the same sources once, in one process, and throws the trees away: the least that anybody
does who keeps nothing. The map also reads all other text, and parses in children. The floor of what is asked again
is a look at the times of all files, after an edit also a parse of that file. The child that parses it lives on, so
that its time (a few milliseconds) is missing from that row. aider's map gets the words of the question as names and
only the sources that toolroll parses, in a process of its own whose start and imports are not counted.
"""

from __future__ import annotations

import itertools
import os
import shutil
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from bench import corpora, peers
from bench.aider_map import Aider
from bench.cases import Settings
from bench.measure import Contestant, Race, Sample, timed
from bench.peers import UnavailableError
from toolroll import Kit
from toolroll.text.code.map.file_facts import wants
from toolroll.text.code.syntax import grammars, languages

ASKED = {"query": "a response is sent with the wrong status when the session has expired"}
MOST_ROUNDS = 3  # of what takes seconds

Peer = Callable[[str], list[Contestant]]
"""From when a map is asked for (fresh, again, edited) to who takes part besides."""


def races(settings: Settings) -> Iterator[Race]:
    for name in settings.trees:
        tree = copied(name, settings.scratch / name)
        with aider(copied(name, settings.scratch / f"{name}-aider")) as other:
            yield from on(tree, name, settings.state / name, other)


def on(tree: Path, name: str, state: Path, other: Peer) -> Iterator[Race]:
    """The races on one tree."""
    sources = list(parsable(tree))
    whole = Contestant("tree-sitter, all sources", "floor", timed(partial(parse, sources)))
    peer = Contestant("tree-sitter, all sources", "peer", whole.run)
    stats = Contestant("stat of all files", "floor", timed(partial(look, tree)))
    ours = Contestant("toolroll", "ours", timed(first(tree, state)))
    yield Race(f"first map, {name}", [ours, *other("fresh"), whole], MOST_ROUNDS)
    again = Contestant("toolroll", "ours", timed(partial(ask_new_kit, tree, state)))
    yield Race(f"new kit, {name}", [again, peer, stats], MOST_ROUNDS)
    with Kit(tree, state_dir=state) as kit:
        ours = Contestant("toolroll", "ours", timed(partial(ask, kit)))
        yield Race(f"asked again, {name}", [ours, *other("again"), peer, stats], MOST_ROUNDS)
        ours = Contestant("toolroll", "ours", timed(edited(sources[0], partial(ask, kit))))
        least = timed(edited(sources[1], partial(look_and_parse, tree, sources[1])))
        floor = Contestant("stat, parse of one", "floor", least)
        yield Race(f"after an edit, {name}", [ours, *other("edited"), peer, floor], MOST_ROUNDS)


@contextmanager
def aider(tree: Path) -> Iterator[Peer]:
    """aider's contestants on a copy of the tree, into which it puts its cache; none where it cannot be had."""
    try:
        python = peers.own("aider")
    except (UnavailableError, OSError) as error:
        print(f"No aider ({error}).")
        yield lambda _: []
        return
    files = [str(path.relative_to(tree)) for path in parsable(tree)]
    words, change = ASKED["query"].split(), edited(tree / files[0], lambda: None)
    with Aider(python, tree) as running:

        def taken(when: str) -> Sample:
            if when == "edited":
                change()
            took = running.ask(map=words, files=files, fresh=when == "fresh")
            return Sample(took["cpu"], took["wall"])

        yield lambda when: [Contestant("aider", "peer", partial(taken, when))]


def copied(name: str, folder: Path) -> Path:
    """The tree of a source distribution, or of the standard library without a download, to be written to."""
    try:
        tree = corpora.real(name)
    except (UnavailableError, OSError) as error:
        print(f"No {name} ({error}); the standard library is mapped instead.")
        tree = Path(sysconfig.get_path("stdlib"))
    return Path(shutil.copytree(tree, folder, ignore=shutil.ignore_patterns("site-packages", "__pycache__")))


def parsable(tree: Path) -> Iterator[Path]:
    """The files that toolroll parses for a map."""
    for path in sorted(tree.rglob("*")):
        language = languages.by_name(path.name)
        if language is not None and wants(language.name) and path.is_file() and path.stat().st_size < 2 << 20:
            yield path


def parse(sources: Sequence[Path]) -> None:
    import tree_sitter

    for path in sources:
        language = languages.by_name(path.name)
        assert language is not None
        tree_sitter.Parser(grammars.grammar(language.name)).parse(path.read_bytes())


def look(tree: Path) -> None:
    for folder, _, names in os.walk(tree):
        for name in names:
            os.stat(f"{folder}/{name}")


def look_and_parse(tree: Path, source: Path) -> None:
    look(tree)
    parse([source])


def first(tree: Path, state: Path) -> Callable[[], None]:
    def run() -> None:
        shutil.rmtree(state, ignore_errors=True)
        ask_new_kit(tree, state)

    return run


def ask_new_kit(tree: Path, state: Path) -> None:
    with Kit(tree, state_dir=state) as kit:  # closed, so that the children's time counts
        ask(kit)


def ask(kit: Kit) -> None:
    result = kit.call("repo_map", ASKED)
    if result.status != "success":
        raise RuntimeError(result.text)


def edited(path: Path, then: Callable[[], object]) -> Callable[[], None]:
    text, turns = path.read_text(), itertools.count()

    def run() -> None:
        path.write_text(f"{text}\nnumber_{next(turns)} = 1\n")
        then()

    return run
