"""A thread-safe collection of tools: put in, look up, filter."""

from __future__ import annotations

import importlib
import pkgutil
import threading
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import ModuleType
from typing import Generic, Protocol, TypeVar

from toolroll.tool import Metadata, Tool


class Registered(Protocol):
    """A tool, or an entry of a dialect."""

    @property
    def name(self) -> str:
        """What it is called by."""

    @property
    def safe(self) -> bool:
        """Whether it only looks at the workspace."""

    @property
    def metadata(self) -> Metadata:
        """Its name, category, description and safety."""


T = TypeVar("T", bound=Registered)


class Registry(Generic[T]):
    """Tools by name, in the order of registering. Reading needs no lock: the table is never changed."""

    def __init__(self, tools: Iterable[T] = ()) -> None:
        self._lock = threading.Lock()
        self._tools: dict[str, T] = {}
        for tool in tools:
            self.register(tool)

    def register(self, tool: T) -> None:
        """Add a tool; a name that is taken is refused."""
        with self._lock:
            if tool.name in self._tools:
                raise ValueError(f"Tool with name {tool.name!r} is already registered.")
            self._tools = {**self._tools, tool.name: tool}

    def unregister(self, name: str) -> bool:
        """Remove a tool; False when there was none."""
        with self._lock:
            known = name in self._tools
            self._tools = {other: tool for other, tool in self._tools.items() if other != name}
        return known

    def _table(self) -> Mapping[str, T]:
        return self._tools

    def get(self, name: str) -> T | None:
        """The tool of this name, or None."""
        return self._table().get(name)

    def all(self) -> list[T]:
        """The tools in the order in which they were registered."""
        return list(self._table().values())

    def filter(self, names: Iterable[str]) -> list[T]:
        """The tools of these names, in the order of the names; unknown names are left out."""
        tools = self._table()
        return [tools[name] for name in names if name in tools]

    def safe(self) -> list[T]:
        """The tools that only look at the workspace."""
        return [tool for tool in self.all() if tool.safe]

    def of_category(self, category: str) -> list[T]:
        """The tools of this category."""
        return [tool for tool in self.all() if tool.metadata.category == category]

    def metadata(self, name: str) -> Metadata | None:
        """Name, category, description and safety of a tool; None when there is no such tool."""
        tool = self.get(name)
        return tool.metadata if tool else None

    def names(self) -> list[str]:
        """The names of all tools, in the order in which they were registered."""
        return list(self._table())


@cache
def modules_in(package: str) -> dict[str, str]:
    """The modules of the tools below a package, by the tools' names, which are theirs; none of them is imported."""
    folders = importlib.import_module(package).__path__
    modules = (found.name for found in pkgutil.walk_packages(folders, package + ".") if not found.ispkg)
    return {name.rpartition(".")[2]: name for name in modules}


def discover(package: ModuleType) -> Iterator[Tool]:
    """Every tool that a module below this package defines: a new file is a new tool.

    Tools of other packages are found by `toolroll.plugins`.
    """
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        module = importlib.import_module(found.name)
        for value in vars(module).values():
            if isinstance(value, Tool) and value.module == module.__name__:
                yield value
