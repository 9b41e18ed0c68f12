"""The web search engines and the types that the tool's signature needs. This module is read on every start.

An engine is one module of this package, with an `ENGINE`, and its name in `EngineName`, in the order of use: those
made for programs first, the one without a key last.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from toolroll.text.web.engines.engine import WebEngine

EngineName = Literal["auto", "all", "tavily", "serpapi", "google", "bing", "perplexity", "searxng", "duckduckgo"]
Safe = Literal["strict", "moderate", "off"]
Within = Literal["day", "week", "month", "year"]


@dataclass(frozen=True, slots=True)
class Hit:
    """One result."""

    title: str
    url: str
    snippet: str = ""
    date: str | None = None
    """As 2025-01-31 where the engine gives a date, else in its own words."""
    engine: str = ""
    """Which found it; several, separated by commas, when results were merged."""


@cache
def load_engines() -> dict[str, WebEngine]:
    """All engines by their names, in the order of use."""
    names = [name for name in get_args(EngineName) if name not in ("auto", "all")]
    return {name: import_module(f"toolroll.text.web.engines.{name}").ENGINE for name in names}
