"""The registry of a kit: its tools by name, ready to be called, and the way to add, remove and check them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from toolroll.catalogue import Choice
from toolroll.dialect import Bundle, Entry, Relay, View
from toolroll.executor import Arguments, Checked
from toolroll.formats import Format
from toolroll.policy.effects import Effect
from toolroll.registry import Registry
from toolroll.result import Result
from toolroll.tool import Metadata, Tool

_Call = Callable[[str, Arguments], Result]


class _Kit(Protocol):
    """What the registry needs of its kit."""

    def register(self, tool: Tool | View | Bundle, /) -> None: ...

    def unregister(self, name: str, /) -> bool: ...

    def call(self, name: str, arguments: Arguments, /) -> Result: ...

    def check(self, name: str, arguments: Arguments, /) -> Checked: ...

    def definitions(self, format: Format, *, strict: bool, tools: Choice | None) -> list[dict[str, Any]]: ...


@dataclass(frozen=True)
class KitTool:
    """A tool of a kit, ready to be called by the name and the parameters that its dialect has."""

    entry: View | Bundle
    metadata: Metadata
    _call: _Call = field(repr=False)

    def __call__(self, arguments: Arguments = None, /, **named: Any) -> Result:
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

    def __init__(self, kit: _Kit, entries: Callable[[], Mapping[str, Entry]]) -> None:
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

    def validate(self, name: str, arguments: Arguments = None) -> list[str]:
        """What is wrong with these arguments of a tool; nothing runs."""
        return list(self._kit.check(name, arguments).faults)

    def execute(self, name: str, arguments: Arguments = None) -> Result:
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
