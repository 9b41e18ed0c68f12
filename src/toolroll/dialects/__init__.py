"""The tool languages: one file each, data only."""

from __future__ import annotations

import importlib
import pkgutil

from toolroll.dialect import Dialect


def names() -> list[str]:
    """The names of all dialects."""
    return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__))


def load(name: str) -> Dialect:
    """The dialect of this name; ValueError if there is none, or if its file is wrong."""
    if name not in names():
        raise ValueError(f"There is no dialect {name!r}. There are: {', '.join(names())}.")
    try:
        found: Dialect = importlib.import_module(f"{__name__}.{name.replace('-', '_')}").DIALECT
    except ValueError as error:
        raise ValueError(f"The dialect {name!r} cannot be loaded: {error}") from error
    return found
