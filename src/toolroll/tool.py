"""A tool is a decorated, typed function: the signature is the schema, the docstring speaks to the model."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, overload

from toolroll.host.context import Context
from toolroll.policy.effects import CHANGES, EVERYTHING, Effect
from toolroll.result import MAX_WHOLE_CHARS, ErrorCode, Looked, ToolError
from toolroll.schema import Parameter, object_schema, parameters_of

__all__ = ["Effect", "Metadata", "Tool", "tool"]
_MAX_FAULT_CHARS = 1_000

WHOLE = {"limit": 1 << 40, "max_tokens": 1 << 40, "most": MAX_WHOLE_CHARS}
"""Parameters that bound what a model is shown, and what a program gets: the limit of a result is above them."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a registry shows of a tool."""

    name: str
    category: str
    description: str
    safe: bool


@dataclass(frozen=True)
class Tool:
    """A function with a name, a schema and declared effects. Calling it calls the function.

    What the function returns may carry, besides `__str__` for the model: `note` (what is not shown and why),
    `more` (the Suggestion that shows it), `whole` (a function that gives the complete text), `shorter` (one that
    gives the same with so many characters less), `images`, `looked` (what the answer stands on, `Looked`), `status`,
    `control`, `meta` and `form` (how it writes itself). Everything else it holds becomes `result.data`.
    """

    name: str
    description: str
    effects: Effect
    parameters: tuple[Parameter, ...]
    function: Callable[..., Any]
    category: str = "custom"
    takes_context: bool = True
    module: str = ""
    schema: dict[str, Any] = field(default_factory=dict)
    """Given for remote tools, whose schema is theirs; else it follows from the parameters."""
    rare: bool = False
    """Not shown to a model at first: it finds the tool when it needs it."""
    holds: bool = False
    """It looks at what its commands change by itself, where the policy wants that. Else a whole call is held."""
    looks: Callable[[Mapping[str, Any]], bool] | None = None
    """Tells of a call's arguments whether it only reads, where the effects are those of other calls."""
    asks: tuple[str, str] | None = None
    """Whom it asks and where, such as git in the repository, for answers that do not say so themselves."""
    is_async: bool = False
    """Whether the function is a coroutine function: it runs on the kit's event loop."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def effects_of(self, arguments: Mapping[str, Any], effects: Effect) -> Effect:
        """What a call does with these arguments, if the tool may have these effects."""
        return Effect.READ if self.looks is not None and self.looks(arguments) else effects

    def run(self, ctx: Context, arguments: dict[str, Any]) -> Any:
        """Call the function with checked arguments, converted to the types that it declares."""
        kinds = self._conversions
        for name, value in arguments.items():
            if name in kinds and type(value) is not kinds[name]:
                arguments[name] = _convert(name, value, kinds[name])
        output = self.function(ctx, **arguments) if self.takes_context else self.function(**arguments)
        return ctx.call.loop.run(output, ctx.call.token) if self.is_async else output

    def looked(self, arguments: Mapping[str, Any]) -> Looked | None:
        """What an answer of a call with these arguments stands on that does not say so itself."""
        if self.asks is None:
            return None
        named = [one for one in self.paths_in(arguments) if one != "."]
        return Looked(", ".join(named) or self.asks[1], self.asks[:1])

    def unbounded(self) -> dict[str, Any]:
        """The arguments with which the data is whole, for a program that does not bound it itself."""
        free = (one.name for one in self.parameters if one.name in WHOLE and "maximum" not in one.schema)
        return {name: WHOLE[name] for name in free}

    @property
    def is_ours(self) -> bool:
        """Whether it comes with toolroll."""
        return self.module.startswith("toolroll.")

    @cached_property
    def _conversions(self) -> dict[str, Any]:
        return {one.name: one.convert for one in self.parameters if one.convert is not None}

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """The parameters that name files or folders of the workspace."""
        return tuple(one.name for one in self.parameters if one.path)

    @cached_property
    def changes_files(self) -> bool:
        """Whether it changes files of the workspace by itself, not by a command."""
        return bool(self.effects & CHANGES)

    def paths_in(self, arguments: Mapping[str, Any]) -> list[str]:
        """The paths that a call names."""
        found: list[str] = []
        for name in self.paths:
            if isinstance(given := arguments.get(name), str):
                found.append(given)
            elif given:
                found += given
        return found

    @cached_property
    def safe(self) -> bool:
        """Whether it only looks at the workspace: no change, no program, no network."""
        return self.effects in Effect.READ

    @property
    def metadata(self) -> Metadata:
        return Metadata(self.name, self.category, self.description, self.safe)


def describe_fault(name: str, error: Exception) -> ToolError:
    """The error for an exception that somebody's own tool has raised: its type, its words and its place."""
    from traceback import extract_tb

    last = extract_tb(error.__traceback__)[-1]
    place, kind = f"{last.filename.rpartition('/')[2]}:{last.lineno}", type(error).__name__
    words = f": {str(error)[:_MAX_FAULT_CHARS]}" if str(error) else ""
    details = {"type": kind, "message": str(error), "place": f"{last.filename}:{last.lineno}"}
    text = f"The tool {name!r} failed with {kind}{words} ({place}). Its author has to repair it."
    return ToolError(ErrorCode.EXECUTION, text, details=details)


def _convert(name: str, value: Any, kind: Any) -> Any:
    if kind is int and isinstance(value, float):
        return int(value)  # JSON Schema takes 5.0 for an integer
    import msgspec

    try:
        return msgspec.convert(value, kind, strict=True)
    except msgspec.ValidationError as error:
        raise ToolError(ErrorCode.VALIDATION, f"`{name}`: {error}.") from error


@overload
def tool(effects: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    effects: Effect = EVERYTHING,
    /,
    *,
    name: str | None = None,
    category: str | None = None,
    rare: bool = False,
    holds: bool = False,
    looks: Callable[[Mapping[str, Any]], bool] | None = None,
    asks: tuple[str, str] | None = None,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    effects: Effect | Callable[..., Any] = EVERYTHING,
    /,
    *,
    name: str | None = None,
    category: str | None = None,
    rare: bool = False,
    holds: bool = False,
    looks: Callable[[Mapping[str, Any]], bool] | None = None,
    asks: tuple[str, str] | None = None,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a typed function a tool: `@tool(Effect.READ)`. The folder it lies in is its category.

    Without effects it has all of them: it is asked about, refused in thinking mode, and shown as destructive. One that
    touches nothing says so: `@tool(Effect.NONE)`.
    A `rare` tool can be called like any other, but its definition is not sent to the model before it is looked for.
    """

    def made(function: Callable[..., Any]) -> Tool:
        given = effects if isinstance(effects, Effect) else EVERYTHING
        found = _tool(function, given, name or function.__name__, category)
        return replace(found, rare=rare, holds=holds, looks=looks, asks=asks)

    return made if isinstance(effects, Effect) else made(effects)


def _tool(function: Callable[..., Any], effects: Effect, name: str, category: str | None) -> Tool:
    if not function.__doc__:
        raise TypeError(f"{name}: a tool needs a docstring; it is what the model reads.")
    takes_context = next(iter(inspect.signature(function).parameters), "") == "ctx"
    parameters = parameters_of(function, skip=1 if takes_context else 0)
    folders = function.__module__.split(".")
    return Tool(
        name=name,
        description=inspect.cleandoc(function.__doc__),
        effects=effects,
        parameters=parameters,
        function=function,
        category=category or (folders[-2] if function.__module__.startswith("toolroll.tools.") else "custom"),
        takes_context=takes_context,
        module=function.__module__,
        is_async=inspect.iscoroutinefunction(function),
        schema=object_schema(
            {one.name: one.schema for one in parameters if one.shown},
            [one.name for one in parameters if one.shown and one.required],
        ),
    )
