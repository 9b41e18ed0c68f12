"""`toolroll map`: the files that matter, as text or as a picture."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from toolroll.cli.command import Command, Option, UsageError
from toolroll.cli.options import WORKSPACE, open_kit
from toolroll.cli.screen import write

if TYPE_CHECKING:
    from argparse import Namespace

    from toolroll.host.code.map_builder import BuiltMap

_MAX_FILES = 300
_MAX_EDGES = 400


def run(args: Namespace) -> int:
    """Print the map of a folder, or write it as SVG."""
    path = args.path or "."
    with open_kit(args) as kit:
        if args.svg is None:
            result = kit.call("repo_map", {"path": path, "query": args.query or ""})
            write(result.text)
            return 0 if result.ok else 1
        ctx = kit.context()
        if ctx.structure.is_file(path):
            raise UsageError(f"{path!r} is a file. Name a folder.")
        name = os.path.basename(kit.workspace) if path == "." else path
        left = -1
        while left:  # a large tree is read in parts
            with ctx.repo_maps.build(path, ctx.token, ctx.progress) as built:
                left, picture = built.left, "" if built.left else draw_map(built, name)
    if args.svg == "-":
        write(picture, end="")
    else:
        with open(args.svg, "w", encoding="utf-8") as file:
            file.write(picture)
        write(f"Wrote {args.svg}.")
    return 0


def draw_map(built: BuiltMap, name: str) -> str:
    """The picture of the project's own code, or of all files where there is none."""
    from toolroll.text.code.map.picture import PictureFile, draw
    from toolroll.text.code.syntax import languages

    ranker = built.ranker
    code = [
        PictureFile(path, 3.0 + len(ranker.marks(path)), score, known.title)
        for path, score in ranker.by_graph().files
        if (known := languages.by_name(path)) is not None and known.code
    ]
    files = ([one for one in code if ranker.is_own(one.path)] or code)[:_MAX_FILES]
    about = f"{len(files)} of {built.files} files; the darker, the more is built on it; lines are uses"
    return draw(name, about, files, ranker.uses([one.path for one in files], _MAX_EDGES))


COMMAND = Command(
    "map",
    "Show which files matter, as text or as a picture.",
    run,
    (
        Option(("path",), "Folder; all of the workspace by default.", "PATH"),
        Option(("--query", "-q"), "What it is about: a task, an error, names.", "TEXT"),
        Option(("--svg",), "Write a picture of folders, files and uses to this file; - prints it.", "FILE"),
        WORKSPACE,
    ),
)
