"""The tool languages: one file each, data only."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable

from toolroll.dialect import Dialect
from toolroll.plugins import Plugin, combine

_OWN = sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__))


def names() -> list[str]:
    """The names of our own dialects."""
    return list(_OWN)


def load(name: str, plugins: Iterable[Plugin] = ()) -> Dialect:
    """The dialect of this name, also of a plugin; ValueError if there is none, or if its file is wrong."""
    if name not in _OWN:
        others = combine(plugins, (), _OWN, "").dialects
        if name not in others:
            raise ValueError(f"There is no dialect {name!r}. There are: {', '.join((*_OWN, *others))}.")
        return others[name]
    try:
        found: Dialect = importlib.import_module(f"{__name__}.{name.replace('-', '_')}").DIALECT
    except ValueError as error:
        raise ValueError(f"The dialect {name!r} cannot be loaded: {error}") from error
    return found
