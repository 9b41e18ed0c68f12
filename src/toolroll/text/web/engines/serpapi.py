"""SerpApi: Google's results, with a key."""

from __future__ import annotations

from collections.abc import Mapping

from toolroll.text.web.engines.engine import EngineRequest, WebEngine, address
from toolroll.text.web.engines.engines import Hit
from toolroll.text.web.engines.google import SAFE, language
from toolroll.text.web.engines.hits import UnreadableError, parse_object, parse_rows
from toolroll.text.web.engines.query import WebQuery

_NOTHING = "hasn't returned any results"


def _build(url: str, query: WebQuery, needs: Mapping[str, str]) -> EngineRequest:
    parameters: dict[str, str | int] = {
        "engine": "google",
        "q": query.text(),
        "num": query.limit,
        "safe": SAFE[query.safe],
        "hl": query.language,
        "lr": language(query),
        "tbs": f"qdr:{query.within[0]}" if query.within else "",
        "api_key": needs["key"],
    }
    return EngineRequest("GET", address(url, parameters), {"accept": "application/json"})


def _read(body: str) -> list[Hit]:
    found = parse_object(body)
    if "organic_results" in found:
        return parse_rows(found, "organic_results", url="link", snippet="snippet", date="date")
    error = found.get("error")
    if isinstance(error, str) and _NOTHING not in error:
        raise UnreadableError("it tells of an error")
    if error is None and "search_metadata" not in found:
        raise UnreadableError("it has neither 'organic_results' nor 'search_metadata'")
    return []


ENGINE = WebEngine(
    "serpapi",
    "https://serpapi.com/search.json",
    _build,
    _read,
    most=100,
    needs={"key": ("SERPAPI_API_KEY", "SERPAPI_KEY")},
)
