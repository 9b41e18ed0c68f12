"""Tavily: made for models, with a key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolroll.text.web.engines.engine import EngineRequest, WebEngine
from toolroll.text.web.engines.engines import Hit
from toolroll.text.web.engines.hits import parse_object, parse_rows
from toolroll.text.web.engines.query import WebQuery


def _build(url: str, query: WebQuery, needs: Mapping[str, str]) -> EngineRequest:
    body: dict[str, Any] = {
        "query": query.words,
        "topic": "general",
        "search_depth": "basic",
        "max_results": query.limit,
    }
    if query.within:
        body["time_range"] = query.within
    if query.site:
        body["include_domains"] = [query.host]
    return EngineRequest("POST", url, {"authorization": f"Bearer {needs['key']}"}, body)


def _read(body: str) -> list[Hit]:
    return parse_rows(parse_object(body), "results", snippet="content", date="published_date")


ENGINE = WebEngine(
    "tavily",
    "https://api.tavily.com/search",
    _build,
    _read,
    most=20,
    needs={"key": ("TAVILY_API_KEY",)},
    lacks=frozenset({"safe", "language", "exclude"}),
    hints={432: "the limit of the plan is reached", 433: "the limit of pay-as-you-go is reached"},
)
