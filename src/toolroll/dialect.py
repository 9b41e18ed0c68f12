"""The machinery of dialects: the same tools under other names, units and shapes. It names no dialect.

A view, a profile and a dialect check themselves when they are made: ValueError says what is wrong with which one.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal, get_args

from toolroll.policy.effects import Effect
from toolroll.policy.limits import Limits
from toolroll.result import ErrorCode, Result, Suggestion, ToolError
from toolroll.schema import Checker, Parameter, object_schema
from toolroll.schema.param import OWN, Param, find_fault, from_zero, is_required, milliseconds, shown_schema
from toolroll.spellings import STANDS_FOR, read_arguments
from toolroll.text.truncate import Keep
from toolroll.tool import Metadata, Tool

__all__ = [
    "Bundle",
    "Dialect",
    "Entry",
    "Freshness",
    "Param",
    "Profile",
    "Relay",
    "View",
    "characters_from_zero",
    "fields",
    "from_zero",
    "milliseconds",
    "plain",
]

_OWN_TOOLS = "toolroll.tools."


def fields(**names: str) -> Callable[[Any], dict[str, Any]]:
    """A result's data under a dialect's names: `fields(totalLines="total_lines")`."""

    def shaped(output: Any) -> dict[str, Any]:
        return {shown: plain(getattr(output, own)) for shown, own in names.items()}

    return shaped


def characters_from_zero(shape: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The data of a `shape` with characters that the dialect counts from 0."""

    def count(value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {key: count(one, key) for key, one in value.items()}
        if isinstance(value, list):
            return [count(one) for one in value]
        return value - 1 if name in ("character", "end_character") else value

    return lambda output: count(shape(output))


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    import msgspec

    return msgspec.to_builtins(value)


CommandReader = Callable[[Mapping[str, Any], str], Suggestion | None]
"""The call of another tool that bound arguments stand for, given the folder that the shell is in."""


class View:
    """A tool as a dialect shows it: required parameters and those in `params`; others keep their default."""

    pinned = False
    """Whether a model is shown it whatever else is hidden."""

    def __init__(
        self,
        name: str,
        tool: Tool,
        params: Mapping[str, str | Param] | None = None,
        *,
        fixed: Mapping[str, Any] | None = None,
        description: str | None = None,
        text: Callable[[Any], str] | None = None,
        data: Callable[[Any], Any] | None = None,
        message: str = "",
        errors: Mapping[str, str] | None = None,
        category: str = "",
        also: Effect = Effect.NONE,
        aliases: Mapping[str, str] | None = None,
        unused: Mapping[str, Param] | None = None,
        stands_for: tuple[str, CommandReader] | None = None,
    ) -> None:
        """`stands_for`: a word in commands that may be a call of another tool, and what reads them as that.

        `also`: effects that the dialect's document counts it to besides its own, for the modes.

        `aliases` are second names of shown parameters. `unused` parameters are shown and checked, then dropped.

        `message` is a format of the output, for `Result.message`. `errors` maps the first line of an error to a
        format of the tool's arguments that replaces it.
        """
        self.name = name
        self.tool = tool
        self.message = message
        self.errors = dict(errors or {})
        self.category = category or tool.category
        self.description = description or tool.description
        self.fixed = dict(fixed or {})
        self.text = text
        self.data = data
        self.effects = tool.effects | also
        self.command_reader = stands_for
        self._shown = self._choose(params or {})
        self._aliases = dict(aliases or {})
        self._unused = {name: (Parameter(name, {}, False), look) for name, look in (unused or {}).items()}
        if twice := self._shown.keys() & {*self._aliases, *self._unused} or self._aliases.keys() & self._unused.keys():
            raise ValueError(f"{name}: two parameters are called {min(twice)!r}.")
        if unknown := set(self._aliases.values()) - self._shown.keys():
            raise ValueError(f"{name}: there is an alias of {min(unknown)!r}, which is not shown.")
        self._foreign = not self._shown and not tool.module  # its schema is not ours: everything is passed on
        self._bindable = frozenset(self._shown)
        self._read: partial[Any] | None = None

    @classmethod
    def native(cls, tool: Tool) -> View:
        """The tool under its own name, with every parameter that it shows by itself; it takes other spellings."""
        view = cls(tool.name, tool, {one.name: one.name for one in tool.parameters if one.shown})
        view.schema = tool.schema or view.schema
        if tool.module.startswith(_OWN_TOOLS):
            view._read = partial(read_arguments, tool.name)
            view.command_reader = STANDS_FOR.get(tool.name)
            view._bindable = frozenset(one.name for one in tool.parameters)
        return view

    def _choose(self, params: Mapping[str, str | Param]) -> dict[str, tuple[Parameter, Param]]:
        known = {one.name: one for one in self.tool.parameters}
        if unknown := (set(params) | set(self.fixed)) - set(known):
            raise ValueError(f"{self.name}: tool {self.tool.name!r} has no parameter {', '.join(sorted(unknown))}.")
        wanted = [*params, *(one.name for one in known.values() if one.required and one.name not in params)]
        order = [name for name in known if name in wanted and name not in self.fixed]
        chosen = {name: params.get(name, name) for name in order}
        looks = {name: look if isinstance(look, Param) else Param(look) for name, look in chosen.items()}
        shown: dict[str, tuple[Parameter, Param]] = {}
        for own, look in looks.items():
            name = look.name or own
            if name in shown:
                raise ValueError(f"{self.name}: two parameters are called {name!r}.")
            if fault := find_fault(name, known[own], look):
                raise ValueError(f"{self.name}: the parameter {name!r} {fault}.")
            shown[name] = known[own], look
        return shown

    @cached_property
    def _plain(self) -> bool:
        """Whether arguments are passed to the tool as they are."""
        shown = self._shown.items()
        same = all(name == one.name and look.default is OWN and look.decode is None for name, (one, look) in shown)
        return same and not self._aliases and not self._unused

    @cached_property
    def schema(self) -> dict[str, Any]:
        """What the model sees, and what its arguments are checked against."""
        return self._object_schema({name for name, (_, look) in self._shown.items() if look.listed})

    def _object_schema(self, names: Container[str]) -> dict[str, Any]:
        if not self.tool.parameters:
            return self.tool.schema or object_schema({}, ())
        chosen = {name: shown for name, shown in self._shown.items() if name in names} | self._unused
        required = [name for name, (one, look) in chosen.items() if is_required(one, look)]
        properties = {name: shown_schema(one, look) for name, (one, look) in chosen.items()}
        for alias, name in self._aliases.items():
            properties[alias] = {**properties[name], "description": f"The same as {name}."}
        return object_schema(properties, required)

    @cached_property
    def checker(self) -> Checker:
        whole = all(look.listed for _, look in self._shown.values())
        return Checker(self.schema if whole else self._object_schema(self._shown), read=self._read)

    @property
    def safe(self) -> bool:
        return self.tool.safe

    @property
    def metadata(self) -> Metadata:
        return Metadata(self.name, self.category, self.description, self.safe)

    def changed(self, values: Mapping[str, Any]) -> View:
        """The same view with other fixed values and defaults, by the tool's own parameter names and units."""
        looks = {one.name: replace(look, name=name) for name, (one, look) in self._shown.items()}
        for name, value in values.items():
            if look := looks.get(name):
                looks[name] = replace(look, default=look.encode(value) if look.encode else value)
        return self._showing(looks, self.fixed | {name: value for name, value in values.items() if name not in looks})

    def _showing(self, looks: Mapping[str, Param], fixed: dict[str, Any]) -> View:
        made = copy.copy(self)
        for name in ("schema", "checker", "_plain", "_reading"):
            vars(made).pop(name, None)
        made.fixed, made._shown = fixed, made._choose(looks)
        return made

    def pick(self, _arguments: Mapping[str, Any]) -> View:
        return self

    def find_missing(self, arguments: Mapping[str, Any]) -> list[str]:
        """The required parameters that are given by none of their names."""
        given = {self._aliases.get(name, name) for name in arguments}
        return [name for name in self.schema.get("required", ()) if name not in given]

    def within(self, effects: Effect) -> View | None:
        """The view, if what its tool does is among these effects, at least for some arguments."""
        if self.effects in effects:
            return self
        return self._reading if Effect.READ in effects else None

    @cached_property
    def _reading(self) -> View | None:
        """The view with the choices that only read, whatever the others are; None when there are none."""
        if (reads := self.tool.looks) is None:
            return None
        looks = {one.name: replace(look, name=name) for name, (one, look) in self._shown.items()}
        known = [self.fixed]  # calls that only read
        for one, look in sorted(self._shown.values(), key=lambda shown: not shown[0].required):
            schema = shown_schema(one, look)
            if "enum" not in schema or look.decode is not None:
                continue
            calls = {value: [{**call, one.name: value} for call in known] for value in schema["enum"]}
            kept = [value for value, made in calls.items() if all(map(reads, made))]
            known = [call for value in kept for call in calls[value]]
            chosen = one.required or len(kept) > 1
            looks[one.name] = replace(looks[one.name], schema={**look.schema, "enum": kept}, listed=chosen)
        if not known:
            return None
        made = self._showing(looks, self.fixed)
        made.effects = Effect.READ  # other calls are refused
        return made

    def views(self) -> tuple[View, ...]:
        return (self,)

    @property
    def rare(self) -> bool:
        """Whether a model is not shown it at first."""
        return self.tool.rare

    def bind(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Checked arguments as the tool's own."""
        if self._foreign or (self._plain and arguments.keys() <= self._bindable):
            return {**arguments, **self.fixed}
        bound = dict(self.fixed)
        arguments = {self._aliases.get(name, name): value for name, value in arguments.items()}
        for name, (one, look) in self._shown.items():
            value = arguments.get(name, look.default)
            if value is not OWN:
                bound[one.name] = look.decode(value) if look.decode else value
        return bound

    def present(self, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
        """The tool's own arguments as this view shows them; None when it hides one of them."""
        names = {one.name: (name, look) for name, (one, look) in self._shown.items()}
        arguments = {
            own: value for own, value in arguments.items() if own not in self.fixed or self.fixed[own] != value
        }
        if not arguments.keys() <= names.keys():
            return None
        pairs = ((names[own], value) for own, value in arguments.items())
        return {name: look.encode(value) if look.encode else value for (name, look), value in pairs}

    def may_stand_for_another(self, arguments: Mapping[str, Any]) -> bool:
        """Whether these arguments of the tool may be a command that is a call of another tool."""
        return self.command_reader is not None and self.command_reader[0] in str(arguments.get("command", ""))

    def names(self) -> dict[str, str]:
        """The tool's own parameter names, and what they are called here."""
        return {one.name: name for name, (one, _) in self._shown.items()}


class Bundle:
    """Several views under one name; an `action` picks one."""

    pinned = False

    def __init__(self, name: str, description: str, actions: Mapping[str, View], selector: str = "action") -> None:
        self.name = name
        self.description = description
        self.actions = dict(actions)
        self.selector = selector

    @property
    def safe(self) -> bool:
        """Whether all its actions only look at the workspace."""
        return all(view.safe for view in self.actions.values())

    @property
    def metadata(self) -> Metadata:
        """What a registry shows of it; the category is that of the first action."""
        category = next((view.category for view in self.actions.values()), "custom")
        return Metadata(self.name, category, self.description, self.safe)

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The selector, then every parameter of every action; required is what all actions require."""
        properties: dict[str, Any] = {self.selector: {"type": "string", "enum": list(self.actions)}}
        for action, view in self.actions.items():
            for name, schema in view.schema["properties"].items():
                known = properties.setdefault(name, schema)
                if known.get("type") != schema.get("type"):
                    raise ValueError(f"{self.name}: {name!r} has another type in action {action!r}.")
        needed = [set(view.schema.get("required", ())) for view in self.actions.values()]
        common = set.intersection(*needed) if needed else set()
        return object_schema(properties, [self.selector, *(name for name in properties if name in common)])

    @property
    def effects(self) -> Effect:
        found = Effect.NONE
        for view in self.actions.values():
            found |= view.effects
        return found

    @cached_property
    def checker(self) -> Checker:
        return Checker(self.schema, self._unused)

    def _unused(self, arguments: Mapping[str, Any]) -> list[str]:
        """Parameters of other actions than the chosen one, which models fill in with zeros."""
        chosen = arguments.get(self.selector)
        if chosen not in tuple(self.actions):
            return []
        used = {self.selector, *self.actions[chosen].schema["properties"]}
        return [name for name in arguments if name in self.schema["properties"] and name not in used]

    def pick(self, arguments: Mapping[str, Any]) -> View:
        """The view of the chosen action; raises ToolError when that action needs more than it got."""
        view = self.actions[arguments[self.selector]]
        missing = view.find_missing(arguments)
        if missing:
            needs = ", ".join(f"`{name}`" for name in missing)
            raise ToolError(ErrorCode.VALIDATION, f"Action {arguments[self.selector]!r} also needs {needs}.")
        return view

    def changed(self, values: Mapping[str, Any]) -> Bundle:
        """The same bundle; each value goes to the actions whose tool has such a parameter."""
        actions, unused = {}, set(values)
        for action, view in self.actions.items():
            own = values.keys() & {one.name for one in view.tool.parameters}
            actions[action] = view.changed({name: values[name] for name in own})
            unused -= own
        if unused:
            raise ValueError(f"{self.name}: no action has a parameter {', '.join(sorted(unused))}.")
        return Bundle(self.name, self.description, actions, self.selector)

    def within(self, effects: Effect) -> Bundle | None:
        """The bundle of those actions that keep to these effects."""
        actions = {name: view for name, view in self.actions.items() if view.effects in effects}
        return Bundle(self.name, self.description, actions, self.selector) if actions else None

    def views(self) -> tuple[View, ...]:
        return tuple(self.actions.values())

    @property
    def rare(self) -> bool:
        return all(view.rare for view in self.actions.values())


class Relay:
    """Takes the name and the arguments of another entry and is that call: checked, authorised and answered as it."""

    rare = pinned = False

    def __init__(self, name: str, description: str, effects: Effect, *, only: Effect | None = None) -> None:
        """`effects`: what the calls that it may stand for do; `only`: others are refused."""
        self.name = name
        self.description = description
        self.effects = effects
        self._only = only

    @cached_property
    def schema(self) -> dict[str, Any]:
        properties: dict[str, dict[str, Any]] = {
            "name": {"type": "string", "minLength": 1, "description": "Of the tool."},
            "arguments": {"type": "object", "description": "By its schema."},
        }
        return object_schema(properties, ["name"])

    @cached_property
    def checker(self) -> Checker:
        return Checker(self.schema)

    def pick(self, _arguments: Mapping[str, Any]) -> Relay:
        return self

    def within(self, _effects: Effect) -> Relay:
        return self

    def views(self) -> tuple[View, ...]:
        return ()

    def check(self, entry: Entry) -> None:
        """Raise ToolError if it may not stand for calls of this entry."""
        if self._only is not None and entry.effects not in self._only:
            raise ToolError(ErrorCode.VALIDATION, f"{self.name!r} calls only tools that read, not {entry.name!r}.")

    def read_call(self, arguments: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        """The name and the arguments of the call that is meant; raises ToolError."""
        given, _ = self.checker.check(arguments)
        return given["name"], given.get("arguments", {})


Entry = View | Bundle | Relay
Freshness = Literal["none", "fresh", "seen"]
Faults = Literal["raise", "answer own", "answer"]


@dataclass(frozen=True, slots=True)
class Profile:
    """What differs between dialects besides names: limits, guards and the shape of the result."""

    limits: Limits = field(default_factory=Limits)
    guard: Freshness = "fresh"
    """Before a change: nothing, unchanged since it was last read, or also read before."""
    new_file_mode: int | None = None
    """Permissions of new files; None leaves it to the umask."""
    new_folder_mode: int = 0o777
    """The same of folders that are made for them, less the umask."""
    verdicts: bool = False
    """Say after a change of files what it has caused, where the settings want that."""
    notes_repeats: bool = False
    """Say when the same call has failed in the same way several times."""
    guess_encoding: bool = False
    """Read text of another encoding than UTF-8 in the likeliest one: for dialects without an encoding parameter."""
    keep: Keep = "head"
    """Which part of a result that is too long is shown."""
    faults: Faults = "answer own"
    """What is done with an exception that the model cannot mend: raise it, make it an error result, or that only where
    somebody's own tool has raised it."""
    extensions: frozenset[str] | None = None
    """When set, only files of these types (and files without one) are opened."""
    commands: str = "native"
    """The built-in table that commands are judged by."""
    wire: Callable[[Result], Any] = lambda result: result.text
    mcp: Callable[[Result], dict[str, Any]] | None = None
    """How `tools/call` of MCP answers, where the dialect has a shape of its own."""
    outputs: Mapping[str, Any] = field(default_factory=dict)
    """The output schemas that MCP's `tools/list` tells, by the names of entries."""
    started: str = ""
    """What an MCP server on folders of the command line says on stderr when it has started."""
    api_types: Mapping[str, str] = field(default_factory=dict)
    """The types under which Anthropic's API knows entries by itself."""

    def __post_init__(self) -> None:
        """Refuse values that no code knows: a misspelled guard would switch it off."""
        choices = ("guard", self.guard, Freshness), ("keep", self.keep, Keep), ("faults", self.faults, Faults)
        for name, value, known in ((name, value, get_args(kinds)) for name, value, kinds in choices):
            if value not in known:
                raise ValueError(f"A profile's {name} is {value!r}. There are: {', '.join(map(repr, known))}.")


@dataclass(frozen=True)
class Dialect:
    """A tool language: its entries and its profile. Without entries it speaks every tool by its own name."""

    name: str
    about: str
    entries: tuple[Entry, ...] | None = None
    profile: Profile = field(default_factory=Profile)

    def changed(self, **values: Mapping[str, Any]) -> Dialect:
        """The same dialect with other fixed values and defaults of its tools: `changed(file={"limit": 50})`.

        Parameters have the tool's own names and units. A name that is not there is a ValueError.
        """
        entries = {entry.name: entry for entry in self.entries or ()}
        for name, own in values.items():
            entry = entries.get(name)
            if entry is None or isinstance(entry, Relay):
                raise ValueError(f"The dialect {self.name!r} has no tool {name!r}. It has: {', '.join(entries)}.")
            entries[name] = entry.changed(own)
        return replace(self, entries=tuple(entries.values()))

    def __post_init__(self) -> None:
        """Refuse two entries of one name, and a bundle whose actions do not go together."""
        names: set[str] = set()
        for entry in self.entries or ():
            if entry.name in names:
                raise ValueError(f"The dialect {self.name!r} has two entries {entry.name!r}.")
            names.add(entry.name)
            if isinstance(entry, Bundle):
                _ = entry.schema
