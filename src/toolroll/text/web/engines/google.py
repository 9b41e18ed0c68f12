"""Google's Custom Search JSON API, with a key and the id of a search engine that was set up there."""

from __future__ import annotations

from collections.abc import Mapping

from toolroll.text.web.engines.engine import EngineRequest, WebEngine, address
from toolroll.text.web.engines.engines import Hit
from toolroll.text.web.engines.hits import UnreadableError, parse_object, parse_rows
from toolroll.text.web.engines.query import WebQuery

SAFE = {"strict": "active", "moderate": "active", "off": "off"}


def language(query: WebQuery) -> str:
    """How Google names the language that results must have."""
    if query.language == "zh":
        return f"lang_zh-{'TW' if query.region in ('TW', 'HK') else 'CN'}"
    return f"lang_{query.language}" if query.language else ""


def _build(url: str, query: WebQuery, needs: Mapping[str, str]) -> EngineRequest:
    parameters: dict[str, str | int] = {
        "key": needs["key"],
        "cx": needs["id"],
        "q": query.text(site=False),
        "num": query.limit,
        "safe": SAFE[query.safe],
        "hl": query.language,
        "lr": language(query),
        "dateRestrict": f"{query.within[0]}1" if query.within else "",
        "siteSearch": query.site,
        "siteSearchFilter": "i" if query.site else "",
    }
    return EngineRequest("GET", address(url, parameters), {"accept": "application/json"})


def _read(body: str) -> list[Hit]:
    found = parse_object(body)
    if "items" in found:
        return parse_rows(found, "items", url="link", snippet="snippet")
    if "searchInformation" not in found and "queries" not in found:
        raise UnreadableError("it has neither 'items' nor 'searchInformation'")
    return []


ENGINE = WebEngine(
    "google",
    "https://customsearch.googleapis.com/customsearch/v1",
    _build,
    _read,
    most=10,
    needs={"key": ("GOOGLE_API_KEY",), "id": ("GOOGLE_CSE_ID", "GOOGLE_CX")},
    hints={403: "the key is wrong, its quota is used up, or the Custom Search API is not enabled for it"},
)
