"""SearXNG: an instance of the operator's own, or one that answers in JSON; without a key."""

from __future__ import annotations

from collections.abc import Mapping

from toolroll.text.web.engines.engine import EngineRequest, WebEngine, address
from toolroll.text.web.engines.engines import Hit
from toolroll.text.web.engines.hits import UnreadableError, parse_object, parse_rows
from toolroll.text.web.engines.query import WebQuery

_SAFE = {"off": 0, "moderate": 1, "strict": 2}


def _build(url: str, query: WebQuery, _needs: Mapping[str, str]) -> EngineRequest:
    region = f"-{query.region}" if query.region else ""
    parameters: dict[str, str | int] = {
        "q": query.text(),
        "format": "json",
        "categories": "general",
        "safesearch": _SAFE[query.safe],
        "language": f"{query.language}{region}" or "all",
        "time_range": query.within or "",
    }
    root = url.rstrip("/")
    where = root if root.endswith("/search") or "?" in root else f"{root}/search"
    return EngineRequest("GET", address(where, parameters), {"accept": "application/json"})


def _read(body: str) -> list[Hit]:
    found = parse_object(body)
    hits = parse_rows(found, "results", snippet="content", date="publishedDate")
    if not hits and found.get("unresponsive_engines"):
        raise UnreadableError("none of the engines that it asks gave it an answer")
    return hits


ENGINE = WebEngine(
    "searxng",
    "",
    _build,
    _read,
    most=50,
    places=("SEARXNG_URL", "SEARX_HOST"),
    hints={403: "the instance does not answer in JSON: its settings.yml must list json in search.formats"},
)
