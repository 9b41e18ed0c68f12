"""Answers of search engines in the form that each of them really sends; all tell of the same three pages."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from toolroll.text.web.engines.engines import Hit

PAGES = [
    ("asyncio: Asynchronous I/O", "https://docs.python.org/3/library/asyncio.html", "asyncio is a library to write concurrent code."),
    ("Async IO in Python & more", "https://realpython.com/async-io-python/?a=1&b=2", "A hands-on <walkthrough>."),
    ("Trio", "https://trio.readthedocs.io/", "A friendly library."),
]  # fmt: skip
DAY = "2025-03-04"


def expected(engine: str = "", date: str | None = DAY) -> list[Hit]:
    """What all of them say; the date is that of the first page."""
    return [Hit(*page, date if place == 0 else None, engine) for place, page in enumerate(PAGES)]


def _rows(title: str, url: str, snippet: str, date: str, day: str, **more: Any) -> list[dict[str, Any]]:
    made = [{title: one[0], url: one[1], snippet: one[2], **more} for one in PAGES]
    if date:
        made[0][date] = day
    return made


TAVILY = {
    "query": "asyncio",
    "follow_up_questions": None,
    "answer": None,
    "images": [],
    "results": _rows("title", "url", "content", "published_date", DAY, score=0.9, raw_content=None),
    "response_time": 0.72,
    "request_id": "123e4567-e89b-12d3-a456-426614174111",
}
SERPAPI = {
    "search_metadata": {"id": "65f", "status": "Success", "google_url": "https://www.google.com/search?q=asyncio"},
    "search_parameters": {"engine": "google", "q": "asyncio"},
    "search_information": {"organic_results_state": "Results for exact spelling", "total_results": 1230000},
    "organic_results": _rows("title", "link", "snippet", "date", DAY, position=1, displayed_link="https://x"),
}
SERPAPI_NOTHING = {
    "search_metadata": {"id": "65f", "status": "Success"},
    "search_information": {"organic_results_state": "Fully empty"},
    "error": "Google hasn't returned any results for this query.",
}
GOOGLE = {
    "kind": "customsearch#search",
    "queries": {"request": [{"totalResults": "3", "searchTerms": "asyncio", "count": 10}]},
    "searchInformation": {"searchTime": 0.2, "totalResults": "3"},
    "items": _rows("title", "link", "snippet", "", "", kind="customsearch#result", htmlTitle="<b>x</b>"),
}
GOOGLE_NOTHING = {"kind": "customsearch#search", "searchInformation": {"totalResults": "0"}}
BING = {
    "_type": "SearchResponse",
    "queryContext": {"originalQuery": "asyncio"},
    "webPages": {
        "webSearchUrl": "https://www.bing.com/search?q=asyncio",
        "totalEstimatedMatches": 3,
        "value": _rows(
            "name", "url", "snippet", "datePublished", f"{DAY}T00:00:00.0000000", dateLastCrawled="2025-05-01T07:00:00Z"
        ),
    },
    "rankingResponse": {"mainline": {"items": []}},
}
BING_NOTHING = {"_type": "SearchResponse", "queryContext": {"originalQuery": "asyncio"}}
PERPLEXITY = {
    "results": _rows("title", "url", "snippet", "date", DAY, last_updated="2025-09-01"),
    "id": "e38104d5-6bd7-4d82-bc4e-0a21179d1f77",
    "server_time": None,
}
SEARXNG = {
    "query": "asyncio",
    "number_of_results": 0,
    "results": _rows(
        "title", "url", "content", "publishedDate", f"{DAY}T00:00:00", engine="brave", score=1.0, category="general"
    ),
    "answers": [],
    "corrections": [],
    "infoboxes": [],
    "suggestions": [],
    "unresponsive_engines": [],
}
SEARXNG_NOTHING = {**SEARXNG, "results": []}
SEARXNG_DOWN = {**SEARXNG, "results": [], "unresponsive_engines": [["brave", "timeout"]]}


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _card(title: str, url: str, snippet: str, day: str = "", kind: str = "") -> str:
    link = f"//duckduckgo.com/l/?uddg={quote(url, safe='')}&amp;rut=3e5c"
    when = f"<span>&nbsp; &nbsp; {day}T00:00:00.0000000</span>" if day else ""
    return f"""
    <div class="result results_links results_links_deep web-result {kind}">
      <div class="links_main links_deep result__body">
        <h2 class="result__title">
          <a rel="nofollow" class="result__a" href="{link}">{_escaped(title).replace("Async", "<b>Async</b>")}</a>
        </h2>
        <div class="result__extras"><div class="result__extras__url">
          <span class="result__icon"><a rel="nofollow" href="{link}"><img class="result__icon__img" src="//x.ico"></a></span>
          <a class="result__url" href="{link}">{_escaped(url)}</a>{when}
        </div></div>
        <a class="result__snippet" href="{link}">{_escaped(snippet).replace("library", "<b>library</b>")}</a>
        <div class="clear"></div>
      </div>
    </div>"""


def _page(cards: str) -> str:
    return f"""<!DOCTYPE html><html lang="en-US"><head><title>asyncio at DuckDuckGo</title></head><body>
    <form id="search_form" class="header__form" action="/html/" method="post">
      <input class="search__input" name="q" value="asyncio anomaly.js anomaly-modal">
    </form><div id="links" class="results">{cards}
    <div class="nav-link"><form action="/html/" method="post"><input type="submit" value="Next"></form></div>
    </div></body></html>"""


_ADVERT = _card("Buy now", "https://ads.example.com/", "Cheap library", kind="result--ad")
_COUNTED = _card("Buy", "x", "y").replace("//duckduckgo.com/l/?uddg=x", "https://duckduckgo.com/y.js?ad_domain=x")
DUCKDUCKGO = _page(_ADVERT + _COUNTED + "".join(_card(*page, DAY if page is PAGES[0] else "") for page in PAGES))
DUCKDUCKGO_NOTHING = _page("""<div class="result results_links results_links_deep web-result result--no-result">
    <div class="links_main links_deep result__body"><div class="no-results__container result__title">
    <span class="no-results__message">No results found for <b>anomaly.js</b></span></div></div></div>""")
DUCKDUCKGO_BLOCKED = """<!DOCTYPE html><html><head><title>DuckDuckGo</title></head><body>
    <form id="challenge-form" action="//duckduckgo.com/anomaly.js?sv=html&cc=sre" method="POST">
    <div class="anomaly-modal__mask"><div class="anomaly-modal__modal" data-testid="anomaly-modal">
    <div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div></div></div></form></body></html>"""

BODIES: dict[str, str] = {
    "tavily": json.dumps(TAVILY),
    "serpapi": json.dumps(SERPAPI),
    "google": json.dumps(GOOGLE),
    "bing": json.dumps(BING),
    "perplexity": json.dumps(PERPLEXITY),
    "searxng": json.dumps(SEARXNG),
    "duckduckgo": DUCKDUCKGO,
}
EMPTY: dict[str, str] = {
    "tavily": json.dumps({**TAVILY, "results": []}),
    "serpapi": json.dumps(SERPAPI_NOTHING),
    "google": json.dumps(GOOGLE_NOTHING),
    "bing": json.dumps(BING_NOTHING),
    "perplexity": json.dumps({**PERPLEXITY, "results": []}),
    "searxng": json.dumps(SEARXNG_NOTHING),
    "duckduckgo": DUCKDUCKGO_NOTHING,
}
