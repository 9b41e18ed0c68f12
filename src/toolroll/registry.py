"""A thread-safe collection of tools: put in, look up, filter."""

from __future__ import annotations

import importlib
import pkgutil
import threading
from collections.abc import Iterable, Iterator
from functools import cache
from types import ModuleType

from toolroll.tool import Metadata, Tool


class Registry:
    """Tools by name, in the order of registering. Reading needs no lock: the table is never changed."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._lock = threading.Lock()
        self._tools: dict[str, Tool] = {}
        for one in tools:
            self.register(one)

    def register(self, tool: Tool) -> None:
        """Add a tool; a name that is taken is refused."""
        with self._lock:
            if tool.name in self._tools:
                raise ValueError(f"Tool with name {tool.name!r} is already registered.")
            self._tools = {**self._tools, tool.name: tool}

    def unregister(self, name: str) -> bool:
        """Remove a tool; False when there was none."""
        with self._lock:
            found = name in self._tools
            self._tools = {known: tool for known, tool in self._tools.items() if known != name}
        return found

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def all(self) -> list[Tool]:
        return list(self._tools.values())

    def filter(self, names: Iterable[str]) -> list[Tool]:
        """The tools of these names, in the order of the names; unknown names are left out."""
        tools = self._tools
        return [tools[name] for name in names if name in tools]

    def safe(self) -> list[Tool]:
        """The tools that only look at the workspace."""
        return [tool for tool in self._tools.values() if tool.safe]

    def metadata(self, name: str) -> Metadata | None:
        tool = self._tools.get(name)
        return tool.metadata if tool else None

    def names(self) -> list[str]:
        return list(self._tools)


@cache
def names_in(package: str) -> frozenset[str]:
    """The names of the tools below a package, which are those of their modules; none of these is imported."""
    folders = importlib.import_module(package).__path__
    modules = (found.name for found in pkgutil.walk_packages(folders, package + ".") if not found.ispkg)
    return frozenset(name.rpartition(".")[2] for name in modules)


def discover(package: ModuleType) -> Iterator[Tool]:
    """Every tool that a module below this package defines: a new file is a new tool."""
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        module = importlib.import_module(found.name)
        for value in vars(module).values():
            if isinstance(value, Tool) and value.module == module.__name__:
                yield value
