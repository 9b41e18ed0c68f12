"""The names of the web search engines and the types of the tool's signature. This module is read on every start.

An engine is one module of this package, with an `ENGINE`, and its name in `EngineName`, in the order of use: those
made for programs first, the one without a key last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
