"""`toolroll models`: the models that rank by meaning; fetch them, look at them, remove them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from toolroll.cli import screen
from toolroll.cli.command import Command, Option, UsageError
from toolroll.cli.options import JSON

if TYPE_CHECKING:
    from argparse import Namespace

    from toolroll.host.models.embedding.model_files import Model, Models

_FETCH = "fetch"


def run(args: Namespace) -> int:
    """List the models, fetch those that are missing or broken, or remove them."""
    from toolroll.host.models.embedding.model_files import MODELS, Models
    from toolroll.result import ToolError

    if args.action and args.remove:
        raise UsageError("Either fetch models or --remove them.")
    models = Models(os.environ)
    try:
        for model in MODELS.values():
            if args.action == _FETCH:
                _fetch(models, model, getattr(args, "from"))
            elif args.remove:
                models.remove(model)
    except ToolError as error:
        screen.complain(error.message)
        return 1
    rows = [_row(models, model) for model in MODELS.values()]
    if args.json:
        screen.show_json(rows)
    else:
        for row in rows:
            print(
                f"{row['name']}  {row['about']}\n  {row['state']}", *([row["path"]] if row["bytes"] else []), sep="\n  "
            )
    return 0


def _fetch(models: Models, model: Model, wheel: str | None) -> None:
    if _state(models, model) == "here":
        return
    if wheel is not None and not os.path.isfile(wheel):
        raise UsageError(f"There is no file {wheel!r}.")
    models.fetch(model, wheel)


def _row(models: Models, model: Model) -> dict[str, str | int]:
    return {
        "name": model.name,
        "about": model.about,
        "state": _state(models, model),
        "path": models.path(model),
        "bytes": models.size(model),
        "wheel": model.requirement,
    }


def _state(models: Models, model: Model) -> str:
    from toolroll.result import ToolError

    if not models.has(model):
        return "not here; to get it: toolroll models fetch"
    try:
        models.check(model)
    except ToolError:
        return "broken; to get it anew: toolroll models fetch"
    return "here"


COMMAND = Command(
    "models",
    "List, fetch or remove the models that rank by meaning.",
    run,
    (
        Option(("action",), "fetch: get what is missing or broken.", "ACTION", choices=lambda: (_FETCH,)),
        Option(("--from",), "The wheel to take it from, in place of the package index.", "FILE"),
        Option(("--remove",), "Remove them."),
        JSON,
    ),
)
