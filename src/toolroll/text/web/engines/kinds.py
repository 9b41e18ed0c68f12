"""The words and shapes of a search that a tool's signature needs, and nothing else: they are read on every start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Name = Literal["auto", "all", "tavily", "serpapi", "google", "bing", "perplexity", "searxng", "duckduckgo"]
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
