"""The definition of an engine: data, a function that builds a request, and one that parses the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any, Literal, get_args

from toolroll.text.web.engines.engines import EngineName, Hit
from toolroll.text.web.engines.query import WebQuery

Filter = Literal["safe", "language", "exclude"]
FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class EngineRequest:
    """A request to an engine."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: dict[str, Any] | None = None


Build = Callable[[str, WebQuery, Mapping[str, str]], EngineRequest]
"""From the endpoint, the search and the values of what the engine needs."""


@dataclass(frozen=True, slots=True)
class WebEngine:
    """A search engine."""

    name: str
    url: str
    """Its endpoint; empty if the operator must name one."""
    build: Build
    read: Callable[[str], list[Hit]]
    """From the body of an answer. UnreadableError or BlockedError when it is not one."""
    most: int
    """Results that one request can ask for."""
    needs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Required values such as keys, each with the variables that may hold it, the usual one first."""
    places: tuple[str, ...] = ()
    """Variables that may name its endpoint, besides the one that every engine has."""
    lacks: frozenset[Filter] = frozenset()
    hints: Mapping[int, str] = field(default_factory=dict)
    """What a status of this engine means, where that is not what it means elsewhere."""

    @property
    def variables(self) -> tuple[str, ...]:
        usual = tuple(names[0] for names in self.needs.values())
        return usual if self.url else (self.place, *usual)

    @property
    def place(self) -> str:
        """The variable that names another endpoint."""
        return f"TOOLROLL_{self.name.upper()}_URL"


def address(url: str, parameters: Mapping[str, str | int]) -> str:
    """A URL with these parameters behind those that it has; empty ones are left out."""
    from urllib.parse import urlencode

    text = urlencode({name: value for name, value in parameters.items() if value != ""})
    return f"{url}{'&' if '?' in url else '?'}{text}"


@cache
def load_engines() -> dict[str, WebEngine]:
    """All engines by their names, in the order of use."""
    names = [name for name in get_args(EngineName) if name not in ("auto", "all")]
    return {name: import_module(f"toolroll.text.web.engines.{name}").ENGINE for name in names}
