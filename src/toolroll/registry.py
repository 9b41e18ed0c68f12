"""Tools by name: a thread-safe collection of one's own, and that of a kit, whose tools can be called."""

from __future__ import annotations

import importlib
import pkgutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from toolroll.dialect import Bundle, Entry, Relay, View
from toolroll.policy.effects import Effect
from toolroll.result import Result
from toolroll.tool import Metadata, Tool

if TYPE_CHECKING:
    from toolroll.formats import Format
    from toolroll.kit import Kit


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
_Call = Callable[[str, Mapping[str, Any] | str | None], Result]


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


@dataclass(frozen=True)
class KitTool:
    """A tool of a kit, ready to be called by the name and the parameters that its dialect has."""

    entry: View | Bundle
    metadata: Metadata
    _call: _Call = field(repr=False)

    def __call__(self, arguments: Mapping[str, Any] | str | None = None, /, **named: Any) -> Result:
        """Call it as `kit.call` does, with an object, its JSON text, or arguments by name."""
        if named and arguments is not None:
            raise TypeError(f"{self.name}: give the arguments as one object or by name, not both.")
        return self._call(self.name, named if arguments is None else arguments)

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def description(self) -> str:
        return self.entry.description

    @property
    def schema(self) -> dict[str, Any]:
        return self.entry.schema

    @property
    def parameters(self) -> list[dict[str, Any]]:
        """Its parameters in order: the name, whether it is required, and what the schema has of it."""
        required = self.schema.get("required", ())
        properties = self.schema.get("properties", {})
        return [{"name": name, "required": name in required, **schema} for name, schema in properties.items()]

    @property
    def effects(self) -> Effect:
        return self.entry.effects

    @property
    def safe(self) -> bool:
        return self.metadata.safe


class KitRegistry(Registry[KitTool]):
    """The tools of a kit. What is registered or unregistered here can be called, or no longer, at once."""

    def __init__(self, kit: Kit, entries: Callable[[], Mapping[str, Entry]]) -> None:
        """`entries`: those of the kit now."""
        super().__init__()
        self._kit = kit
        self._entries = entries
        self._given: dict[str, Metadata] = {}

    def _table(self) -> Mapping[str, KitTool]:
        return _KitTools(self._entries(), self._given, self._kit.call)

    def register(self, tool: Tool | View | Bundle | KitTool, metadata: Metadata | None = None) -> None:
        """Add a tool to the kit; `metadata` replaces what follows from it. ValueError for a name that is taken."""
        added = tool.entry if isinstance(tool, KitTool) else tool
        if metadata is not None and (metadata.name, metadata.safe) != (added.name, added.safe):
            kind = "safe" if added.safe else "not safe: @tool(Effect.READ) declares a tool that only reads"
            raise ValueError(f"Metadata of {metadata.name!r} is given for {added.name!r}, which is {kind}.")
        self._kit.register(added)
        if metadata is not None:
            self._given[added.name] = metadata

    def unregister(self, name: str) -> bool:
        """Remove a tool from the kit; False when there was none."""
        self._given.pop(name, None)
        return self._kit.unregister(name)

    def definitions(self, format: Format = "openai", *, strict: bool = False) -> list[dict[str, Any]]:
        """The definitions of the tools that may be called, in a provider's shape."""
        return self._kit.definitions(format, strict=strict, tools="all")

    def validate(self, name: str, arguments: Mapping[str, Any] | str | None = None) -> list[str]:
        """What is wrong with these arguments of a tool; nothing runs."""
        return list(self._kit.check(name, arguments).faults)

    def execute(self, name: str, arguments: Mapping[str, Any] | str | None = None) -> Result:
        """Check the arguments and call the tool: the same as `kit.call`."""
        return self._kit.call(name, arguments)


class _KitTools(Mapping[str, KitTool]):
    """Entries as tools that can be called; each is imported when it is looked up."""

    def __init__(self, entries: Mapping[str, Entry], given: Mapping[str, Metadata], call: _Call) -> None:
        self._entries, self._given, self._call = entries, given, call

    def __getitem__(self, name: str) -> KitTool:
        entry = self._entries[name]
        if isinstance(entry, Relay):
            raise KeyError(name)
        return KitTool(entry, self._given.get(name, entry.metadata), self._call)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


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
