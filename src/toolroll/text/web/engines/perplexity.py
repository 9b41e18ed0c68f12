"""Perplexity's Search API, with a key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolroll.text.web.engines.engine import EngineRequest, WebEngine
from toolroll.text.web.engines.engines import Hit
from toolroll.text.web.engines.hits import parse_object, parse_rows
from toolroll.text.web.engines.query import WebQuery

_TOKENS = 256  # of each page; more is not shown anyway


def _build(url: str, query: WebQuery, needs: Mapping[str, str]) -> EngineRequest:
    body: dict[str, Any] = {"query": query.words, "max_results": query.limit, "max_tokens_per_page": _TOKENS}
    if query.within:
        body["search_recency_filter"] = query.within
    if query.site:
        body["search_domain_filter"] = [query.host]
    if query.language:
        body["search_language_filter"] = [query.language]
    return EngineRequest("POST", url, {"authorization": f"Bearer {needs['key']}"}, body)


def _read(body: str) -> list[Hit]:
    return parse_rows(parse_object(body), "results", snippet="snippet", date="date")


ENGINE = WebEngine(
    "perplexity",
    "https://api.perplexity.ai/search",
    _build,
    _read,
    most=20,
    needs={"key": ("PERPLEXITY_API_KEY", "PPLX_API_KEY")},
    lacks=frozenset({"safe", "exclude"}),
)
