"""One file for each case. A case's docstring says what is compared, its `races` give the contestants."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.measure import Race


@dataclass(frozen=True, slots=True)
class Settings:
    """How much to measure; a folder in which a case may leave its files, and one for the state of kits."""

    scratch: Path
    state: Path
    quick: bool = False
    files: int = 10_000

    @property
    def trees(self) -> tuple[str, ...]:
        return ("flask",) if self.quick else ("flask", "django")


@dataclass(frozen=True, slots=True)
class Case:
    """A name, what is compared, and the races; each race is set up when it is its turn."""

    name: str
    about: str
    races: Callable[[Settings], Iterator[Race]]


def discover() -> dict[str, Case]:
    """Every case, by name."""
    names = sorted(found.name for found in pkgutil.iter_modules(__path__))
    modules = {name: importlib.import_module(f"{__name__}.{name}") for name in names}
    return {name: Case(name, inspect.getdoc(one) or "", one.races) for name, one in modules.items()}
