"""Tools, bundles and dialects of other people: from packages, and from files in the user's `tools` folder.

A plugin that cannot be loaded is a problem that `toolroll doctor` shows, and stops nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType
from typing import Any

from toolroll.dialect import Bundle, Dialect, View
from toolroll.host.plugin_sources import PluginSource, find_plugins
from toolroll.host.settings import PluginSettings
from toolroll.tool import Tool

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_WANTED = "a tool (a function under @tool), a view, a bundle, a dialect, a list of these, or a module that has them"


@dataclass(frozen=True, slots=True)
class Plugin:
    """What one plugin adds, or why it adds nothing."""

    origin: str
    entries: tuple[View | Bundle, ...] = ()
    dialects: tuple[Dialect, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Plugins:
    """What all plugins add to one set of names."""

    entries: tuple[View | Bundle, ...]
    dialects: dict[str, Dialect]
    problems: tuple[str, ...]
    """One sentence for each plugin, tool or dialect that is left out."""


def load_plugins(workspace: str | os.PathLike[str], chosen: PluginSettings) -> tuple[Plugin, ...]:
    """Every plugin, loaded once for a process, or again when its file has changed."""
    return tuple(_load(one) for one in find_plugins(workspace, chosen))


def combine(plugins: Iterable[Plugin], tools: Iterable[str], dialects: Iterable[str], taken_by: str) -> Plugins:
    """The plugins together. A name that is among `tools` or `dialects`, or taken by another plugin, is refused."""
    owners = {**{("tool", name): taken_by for name in tools}, **{("dialect", name): "toolroll" for name in dialects}}
    entries, named, problems = [], {}, []
    for plugin in plugins:
        problems += [plugin.problem] if plugin.problem else []
        for one in (*plugin.entries, *plugin.dialects):
            kind = "dialect" if isinstance(one, Dialect) else "tool"
            owner = owners.setdefault((kind, one.name), plugin.origin)
            if owner is not plugin.origin:
                problems.append(f"The {kind} {one.name!r} of {plugin.origin} is left out: {owner} has that name.")
            elif isinstance(one, Dialect):
                named[one.name] = one
            else:
                entries.append(one)
    return Plugins(tuple(entries), named, tuple(problems))


@lru_cache(maxsize=256)
def _load(source: PluginSource) -> Plugin:
    try:
        found = list(_collect(source.load(), source.target or source.path))
        for one in found:
            _check(one)
    except (Exception, SystemExit) as error:  # a plugin may raise anything
        why = " ".join(f"{type(error).__name__}: {error}".split())
        return Plugin(source.origin, problem=f"{source.origin} cannot be loaded: {why}")
    entries = tuple(one for one in found if not isinstance(one, Dialect))
    return Plugin(source.origin, entries, tuple(one for one in found if isinstance(one, Dialect)))


def _collect(value: Any, what: str) -> Iterator[View | Bundle | Dialect]:
    match value:
        case Tool():
            yield View.native(value)
        case View() | Bundle() | Dialect():
            yield value
        case list() | tuple():
            for one in value:
                yield from _collect(one, what)
        case ModuleType():
            yield from _members(value, what)
        case _:
            raise TypeError(f"{what} is {type(value).__name__}. Give {_WANTED}.")


def _members(module: ModuleType, what: str) -> Iterator[View | Bundle | Dialect]:
    """What a module defines under public names; a tool that is an action of its bundle is not added by itself too."""
    values = [value for name, value in vars(module).items() if not name.startswith("_")]
    found = [one for one in values if isinstance(one, View | Bundle | Dialect)]
    used = {id(view.tool) for one in found if not isinstance(one, Dialect) for view in one.views()}
    tools = [one for one in values if isinstance(one, Tool) and one.module == module.__name__ and id(one) not in used]
    if not found and not tools:
        raise TypeError(f"{what} defines nothing for toolroll. Give {_WANTED}.")
    yield from (View.native(one) for one in tools)
    yield from found


def _check(one: View | Bundle | Dialect) -> None:
    if not _NAME.fullmatch(one.name):
        raise ValueError(f"{one.name!r} is no name for a tool: letters, digits, '_' and '-', at most 64")
    if not isinstance(one, Dialect):
        _ = one.schema  # of a bundle: ValueError when its actions do not go together
