"""Who uses a method of flask, and what there is in it: asked first, again, and after an edit of one file.

Beside it serena, with the same language server (ty), in a process of its own whose start and imports are not counted;
the server works in yet another one, which only the wall time shows. serena has no map: it is asked for the overview of
every source instead, which is what one reads without a map. The floors are a search for the name, and a look at the
times of all files.
"""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from bench import corpora, peers
from bench.cases import Settings
from bench.cases.repo_map import copied, edited, look
from bench.measure import Contestant, Race, Sample, timed
from bench.serena_tools import Serena
from toolroll import Kit

NAME, CLASS, FILE = "make_response", "Flask", "src/flask/app.py"
ASKED = {"symbol": f"{CLASS}.{NAME}", "path": FILE}
USES = {"tool": "FindReferencingSymbolsTool", "arguments": {"name_path": f"{CLASS}/{NAME}", "relative_path": FILE}}
MOST_ROUNDS = 3  # of what starts a server

Peer = Callable[[dict[str, Any], str], list[Contestant]]
"""From what serena is asked, and when (fresh, again, edited), to who takes part besides."""


def races(settings: Settings) -> Iterator[Race]:
    ty = shutil.which("ty", path=sysconfig.get_path("scripts"))
    if ty is None:
        print("  left out: ty is not installed")
        return
    tree = copied("flask", settings.scratch / "flask")
    if not (tree / FILE).exists():
        return
    state = settings.state / "symbols"
    with serena(copied("flask", settings.scratch / "flask-serena"), ty) as other:
        yield from on(tree, state, other)


def on(tree: Path, state: Path, other: Peer) -> Iterator[Race]:
    sources = sorted(str(path.relative_to(tree)) for path in (tree / "src").rglob("*.py"))
    search = timed(lambda: subprocess.run([peers.ripgrep(), "-nw", NAME], cwd=tree, capture_output=True, check=True))
    floor = Contestant("rg", "floor", search)
    stats = Contestant("stat of all files", "floor", timed(partial(look, tree)))
    overview = {"overview": sources}

    def ours(run: Callable[[], object]) -> Contestant:
        return Contestant("toolroll", "ours", timed(run))

    yield Race(
        "references, first",
        [ours(partial(ask_new_kit, tree, state, "references", ASKED)), *other(USES, "fresh"), floor],
        MOST_ROUNDS,
    )
    yield Race(
        "map, first",
        [ours(partial(ask_new_kit, tree, state, "repo_map", {})), *other(overview, "fresh"), stats],
        MOST_ROUNDS,
    )
    with Kit(tree, state_dir=state) as kit:
        for what, arguments, least, asked in (
            ("references", ASKED, floor, USES),
            ("repo_map", {}, stats, overview),
            ("outline", {"path": FILE}, stats, {"overview": [FILE]}),
        ):
            run = partial(call, kit, what, arguments)
            name = {"repo_map": "map", "outline": "outline of a file"}.get(what, what)
            yield Race(f"{name}, again", [ours(run), *other(asked, "again"), least])
            yield Race(f"{name}, after an edit", [ours(edited(tree / FILE, run)), *other(asked, "edited"), least])


def ask_new_kit(tree: Path, state: Path, tool: str, arguments: dict[str, Any]) -> None:
    shutil.rmtree(state, ignore_errors=True)
    with Kit(tree, state_dir=state) as kit:
        call(kit, tool, arguments)


def call(kit: Kit, tool: str, arguments: dict[str, Any]) -> None:
    result = kit.call(tool, arguments)
    if not result.ok or (tool == "references" and "resolved by ty" not in result.text):
        raise RuntimeError(result.text)


@contextmanager
def serena(tree: Path, ty: str) -> Iterator[Peer]:
    """serena's contestants on a copy of the tree, into which it puts its caches; none where it cannot be had."""
    try:
        python = peers.own("serena")
    except (corpora.UnavailableError, OSError) as error:
        print(f"No serena ({error}).")
        yield lambda *_: []
        return
    change = edited(tree / FILE, lambda: None)
    with Serena(python, tree, ty) as running:

        def taken(asked: dict[str, Any], when: str) -> Sample:
            if when == "edited":
                change()
            took = running.ask(**asked, fresh=when == "fresh")
            if not all(took["found"]):
                raise RuntimeError("serena found nothing")
            return Sample(took["cpu"], took["wall"])

        yield lambda asked, when: [Contestant("serena", "peer", partial(taken, asked, when))]
