"""Bing's Web Search API, version 7, with a key."""

from __future__ import annotations

import datetime
from collections.abc import Mapping

from toolroll.text.web.engines.engine import EngineRequest, WebEngine, address
from toolroll.text.web.engines.engines import Hit
from toolroll.text.web.engines.hits import UnreadableError, parse_object, parse_rows
from toolroll.text.web.engines.query import WebQuery


def _build(url: str, query: WebQuery, needs: Mapping[str, str]) -> EngineRequest:
    words = query.text()
    parameters: dict[str, str | int] = {
        "q": f"{words} language:{query.language}" if query.language else words,
        "count": query.limit,
        "safeSearch": query.safe.title(),
        "freshness": _freshness(query),
        "responseFilter": "Webpages",
        "textFormat": "Raw",
        "mkt": f"{query.language}-{query.region}" if query.region else "",
        "setLang": query.language,
    }
    headers = {"accept": "application/json", "ocp-apim-subscription-key": needs["key"]}
    return EngineRequest("GET", address(url, parameters), headers)


def _freshness(query: WebQuery) -> str:
    """It knows days, weeks and months by name, and a year only by its dates."""
    if query.within != "year":
        return (query.within or "").title()
    if not query.today:
        return ""
    today = datetime.date.fromisoformat(query.today)
    return f"{today - datetime.timedelta(days=365)}..{today}"


def _read(body: str) -> list[Hit]:
    found = parse_object(body)
    pages = found.get("webPages")
    if pages is None and ("queryContext" in found or found.get("_type") == "SearchResponse"):
        return []
    if not isinstance(pages, dict):
        raise UnreadableError("it has no 'webPages'")
    return parse_rows(pages, "value", title="name", snippet="snippet", date="datePublished")


ENGINE = WebEngine(
    "bing",
    "https://api.bing.microsoft.com/v7.0/search",
    _build,
    _read,
    most=50,
    needs={"key": ("BING_SEARCH_API_KEY", "BING_SUBSCRIPTION_KEY")},
)
