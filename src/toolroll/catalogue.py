"""Which tools a model is shown first, and the two meta tools that find and call the others."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import msgspec

from toolroll.dialect import Entry, Relay, View
from toolroll.executor import ASIDE
from toolroll.policy.effects import Effect
from toolroll.registry import modules_in
from toolroll.result import MAX_WHOLE_CHARS, ErrorCode, Fault, Result
from toolroll.schema import Field
from toolroll.tool import Tool, tool

if TYPE_CHECKING:
    from toolroll.host.context import Context
    from toolroll.host.mcp.server import RemoteTool
    from toolroll.host.shell.code_calls import CallRequest

Choice = Literal["all", "core", "lazy"]
"""Every tool; those that are not rare; none but the two that find and call the others."""
CHOICES: tuple[Choice, ...] = get_args(Choice)
FIND, CALL, CALL_READ = "find_tools", "call_tool", "call_read_tool"
META_TOOLS = (FIND, CALL, CALL_READ)
_CALLS = f"Call a tool not shown here, as {FIND} describes it."
_READS = f"{CALL} for tools that only read."
_NAME_COUNTS = 3.0  # times as much as a word of the description
_TASK_COUNTS = 8.0  # the same for the words of the one task that fits best


@dataclass(frozen=True, slots=True)
class ToolDefinitions:
    """Definitions of tools, the best first."""

    tools: list[dict[str, Any]]
    names: list[str] = field(default_factory=list)
    """Of the others."""

    def __str__(self) -> str:
        lines = [_written(one) for one in self.tools]
        if self.names:
            lines.append(f"{'Others' if self.tools else 'No such tool. There are'}: {', '.join(self.names)}.")
        return "\n\n".join(lines)


def _written(definition: dict[str, Any]) -> str:
    schema = msgspec.json.encode(definition["parameters"]).decode()
    return f"{definition['name']}: {definition['description']}\n{schema}"


def resolve_choice(tools: str | Iterable[str] | None, by_default: Choice) -> Choice:
    """The choice that a kit's `tools` option stands for; a list of names shows all of them. ValueError if unknown."""
    if tools is None:
        return by_default
    if not isinstance(tools, str):
        return "all"
    for choice in CHOICES:
        if tools == choice:
            return choice
    raise ValueError(f"There is no choice of tools {tools!r}. There are: {', '.join(CHOICES)}, or a list of names.")


class OwnTools(Mapping[str, Entry]):
    """Our own tools under their own names. Each is imported when it is first used; all kits share them."""

    def __init__(self, package: str) -> None:
        self._modules = modules_in(package)
        self._loaded: dict[str, Entry] = {}

    def __getitem__(self, name: str) -> Entry:
        found = self._loaded.get(name)
        if found is None:
            module = importlib.import_module(self._modules[name])
            tools = (one for one in vars(module).values() if isinstance(one, Tool) and one.name == name)
            found = self._loaded.setdefault(name, View.native(next(tools)))
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._modules

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


class MetaTools(Mapping[str, Entry]):
    """The tools that find and call hidden ones, made when one is looked for: they need every tool."""

    def __init__(self, make: Callable[[], Iterable[Entry]]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> dict[str, Entry]:
        return {one.name: one for one in self._make()}

    def __getitem__(self, name: str) -> Entry:
        if name not in META_TOOLS:
            raise KeyError(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


class Catalogue:
    """Chooses which entries of a kit are shown."""

    def __init__(self, choice: Choice, entries: Callable[[], Sequence[Entry]]) -> None:
        """`entries`: those that may be called now."""
        self._choice = choice
        self._entries = entries
        self._watchers: list[Callable[[], None]] = []

    @cached_property
    def _finder(self) -> Tool:
        return _finder(self.hidden)

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` on every `notify`; returns a function that stops this."""
        self._watchers.append(changed)
        return lambda: self._watchers.remove(changed)

    def notify(self) -> None:
        """Call the watchers: entries were added or removed."""
        for changed in tuple(self._watchers):
            changed()

    def hidden(self, choice: Choice | None = None) -> list[Entry]:
        """The entries that a model is not shown at first, by this choice or by that of the kit."""
        return [entry for entry in self._entries() if self.is_hidden(entry, choice)]

    def is_hidden(self, entry: Entry, choice: Choice | None = None) -> bool:
        """Whether a model is not shown this entry at first."""
        choice = choice or self._choice
        return not entry.pinned and (choice == "lazy" or (choice == "core" and entry.rare))

    def shown(self, choice: Choice | None = None, *, hinted: bool = False) -> list[Entry]:
        """The entries that a model is shown, with those that lead to the others, if there are others."""
        hidden = {entry.name for entry in self.hidden(choice)}
        return [
            *(entry for entry in self._entries() if entry.name not in hidden),
            *self.meta_tools(choice, hinted=hinted),
        ]

    def meta_tools(self, choice: Choice | None = None, *, hinted: bool = False) -> list[Entry]:
        """The tools that find and call hidden ones; none if nothing is hidden.

        `hinted`: with one for tools that only read. MCP clients go by hints: they let it pass where they ask about the
        one for all tools.
        """
        hidden = self.hidden(choice)
        if not hidden:
            return []
        effects = reduce(lambda found, entry: found | entry.effects, hidden, Effect.NONE)
        about = f"{self._finder.description} There are: {', '.join(entry.name for entry in hidden)}."
        params = {one.name: one.name for one in self._finder.parameters}
        relays = [Relay(CALL, _CALLS, effects)]
        if hinted and any(entry.effects in Effect.READ for entry in hidden):
            relays.append(Relay(CALL_READ, _READS, Effect.READ, only=Effect.READ))
        return [View(FIND, self._finder, params, description=about), *relays]


_CODE_MODE = """
In the code, `tools.NAME(...)` calls another tool. One program can loop, filter and combine, and print only what you \
need. A call returns the data of its result, as text when printed, or raises ToolError (`code`, `message`). Threads \
and `await asyncio.gather(...)` make calls side by side. The value of the last line is shown, and names stay for the \
next program."""
_MORE_TOOLS = "More tools, which print(tools.find_tools(query)) describes: "


class CodeView(View):
    """A tool whose programs call the others, in code mode: always shown, with the others as functions."""

    pinned = True

    def __init__(self, tool: Tool, entries: Callable[[], Iterable[Entry]]) -> None:
        """`entries`: those that may be called now."""
        self._entries = entries
        shown = (one.name for one in tool.parameters if one.shown or one.name == "fresh")
        super().__init__(tool.name, tool, {name: name for name in shown})

    @property
    def description(self) -> str:
        known = [one for one in self._entries() if not one.pinned and not isinstance(one, Relay)]
        lines = [write_entry(one) for one in known if not one.rare and not _speaks_to_loop(one)]
        rare = ", ".join(one.name for one in known if one.rare)
        return "\n".join([self.tool.description + _CODE_MODE, *lines, *([f"{_MORE_TOOLS}{rare}."] if rare else [])])

    @description.setter
    def description(self, _text: str) -> None:
        pass


def write_entry(entry: Entry) -> str:
    """A tool as a line of Python, with the type of what a call returns in a program."""
    from toolroll.schema.stubs import write_stub

    views = entry.views()
    is_plain = len(views) == 1 and views[0].data is None and bool(views[0].tool.module)
    return write_stub(entry.name, entry.schema, entry.description, views[0].tool.function if is_plain else None, ASIDE)


def _speaks_to_loop(entry: Entry) -> bool:
    """Whether a tool controls the loop that runs the model: a program cannot."""
    from toolroll.schema.stubs import return_hint

    return any("control" in getattr(return_hint(one.tool.function), "__annotations__", ()) for one in entry.views())


def call_from_program(
    call: Callable[[str, Mapping[str, Any], Context], Result], entry: Entry | None, request: CallRequest, ctx: Context
) -> Result:
    """Carry out a call that a program makes of this entry; positional arguments are in the order of its schema.

    The data that it gets is whole, or the call is an error; so is the text.
    """
    try:
        given = request.named if entry is None else request.arguments(entry.schema["properties"])
    except ValueError as error:
        return Result("error", str(error), error=Fault(ErrorCode.VALIDATION, str(error)))
    ctx.call.limits, ctx.call.is_whole = ctx.call.limits.for_whole_data(MAX_WHOLE_CHARS), True
    result = call(request.name, given, ctx)
    result.meta["only_reads"] = entry is not None and entry.effects in Effect.READ
    return result


def _finder(hidden: Callable[[], Sequence[Entry]]) -> Tool:
    @tool(Effect.NONE, name=FIND, category="session")
    def find_tools(
        query: Annotated[str, "Names, or what you want to do."],
        limit: Annotated[int, Field(ge=1, le=20), "Most definitions."] = 3,
    ) -> ToolDefinitions:
        """Get the definitions of tools not shown here."""
        entries = hidden()
        best = _ranked(query, entries)[:limit]
        rest = [entry.name for entry in entries if entry not in best]
        return ToolDefinitions([_definition(entry) for entry in best], rest)

    return find_tools


def _definition(entry: Entry) -> dict[str, Any]:
    return {"name": entry.name, "description": entry.description, "parameters": entry.schema}


def _ranked(query: str, entries: Iterable[Entry]) -> list[Entry]:
    """The entries that share words with the query, the best first; those that it names come before all."""
    from toolroll.text.ranking.terms import count_terms, weigh_question
    from toolroll.text.tool_tasks import TASKS

    asked = {**dict.fromkeys(count_terms(query), 1.0), **weigh_question(query)}  # also such words as "remove"
    named = set(query.replace(",", " ").split())
    texts = {entry: (count_terms(entry.name.replace("_", " ")), count_terms(_text(entry))) for entry in entries}
    tasks = {entry: list(map(count_terms, TASKS.get(entry.name, "").split(";"))) for entry in texts}
    words = {entry: set().union(name, text, *tasks[entry]) for entry, (name, text) in texts.items()}
    holders = {term: sum(term in one for one in words.values()) for term in asked}
    telling = {
        term: weight * math.log(1 + len(texts) / holders[term]) for term, weight in asked.items() if holders[term]
    }
    scores: dict[Entry, float] = {}
    for entry, (name, text) in texts.items():
        score = 1000.0 * (entry.name in named)
        score += sum(weight * (_NAME_COUNTS * (term in name) + (term in text)) for term, weight in telling.items())
        score += _TASK_COUNTS * max(_share(telling, task) for task in tasks[entry])
        if score:
            scores[entry] = score
    return sorted(scores, key=lambda entry: -scores[entry])


def _share(asked: Mapping[str, float], task: Mapping[str, int]) -> float:
    """How much of a question is about a task, and how much of the task is asked."""
    same = [weight for term, weight in asked.items() if term in task]
    return sum(same) * math.sqrt(len(same) / max(1, len(task)))


def _text(entry: Entry) -> str:
    properties = entry.schema["properties"]
    about = (f"{name} {one.get('description', '')} {one.get('enum', '')}" for name, one in properties.items())
    return " ".join([entry.description, *about])


def from_server(one: RemoteTool) -> Tool:
    """A tool of another MCP server as one of ours."""

    def call(ctx: Context, /, **arguments: Any) -> Any:
        return one.call(ctx.call, **arguments)

    return Tool(one.name, one.description, one.effects, (), call, category="mcp", schema=one.schema)
