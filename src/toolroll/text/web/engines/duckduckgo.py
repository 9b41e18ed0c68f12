"""DuckDuckGo's page for browsers without scripts: needs no key, but soon asks for proof of a person."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from toolroll.text.web.engines.engine import FORM, EngineRequest, WebEngine
from toolroll.text.web.engines.engines import Hit
from toolroll.text.web.engines.hits import BlockedError, UnreadableError, make_hit
from toolroll.text.web.engines.query import WebQuery

if TYPE_CHECKING:
    from turbohtml import Element

_SAFE = {"strict": "1", "moderate": "-1", "off": "-2"}
_DAY = re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}(?=T)")
# It knows regions, not languages: where a language is mostly read, when the search names no region.
_REGIONS = {
    "ar": "xa-ar", "bg": "bg-bg", "cs": "cz-cs", "da": "dk-da", "de": "de-de", "el": "gr-el", "en": "us-en",
    "es": "es-es", "et": "ee-et", "fi": "fi-fi", "fr": "fr-fr", "he": "il-he", "hr": "hr-hr", "hu": "hu-hu",
    "id": "id-id", "it": "it-it", "ja": "jp-jp", "ko": "kr-kr", "lt": "lt-lt", "lv": "lv-lv", "nb": "no-no",
    "nl": "nl-nl", "no": "no-no", "pl": "pl-pl", "pt": "pt-pt", "ro": "ro-ro", "ru": "ru-ru", "sk": "sk-sk",
    "sl": "sl-sl", "sv": "se-sv", "th": "th-th", "tr": "tr-tr", "uk": "ua-uk", "vi": "vn-vi", "zh": "cn-zh",
}  # fmt: skip


def _build(url: str, query: WebQuery, _needs: Mapping[str, str]) -> EngineRequest:
    form = {"q": query.text(), "kl": _region(query), "kp": _SAFE[query.safe]}
    if query.within:
        form["df"] = query.within[0]
    return EngineRequest("POST", url, {"content-type": FORM, "accept": "text/html"}, dict(form))


def _region(query: WebQuery) -> str:
    if query.region:
        return f"{'uk' if query.region == 'GB' else query.region.lower()}-{query.language}"
    return _REGIONS.get(query.language, "wt-wt")


def _read(body: str) -> list[Hit]:
    import turbohtml

    page = turbohtml.parse(body, positions=False)
    cards = [card for card in page.select(".result") if card.select_one("a.result__a")]
    hits = [hit for card in cards if (hit := _hit(card)) is not None]
    if hits:
        return hits
    # Only now: a page of results may well be about the very words that mark the others.
    if page.select_one("[class*=anomaly-modal], [action*='anomaly.js'], #challenge-form"):
        raise BlockedError("It asks for proof of a person, as it does after many searches from one address")
    if not cards and not page.select_one("[class*=no-results], [class*=result--no-result]"):
        raise UnreadableError("it holds no results, and does not say that there are none")
    return []


def _hit(card: Element) -> Hit | None:
    """One result; None for an advert."""
    link, snippet = card.select_one("a.result__a"), card.select_one(".result__snippet")
    where = _target(link.attr("href") or "") if link else None
    if link is None or where is None or card.has_class("result--ad"):
        return None
    day = _DAY.search(card.text)
    return make_hit(link.text, where, snippet.text if snippet else "", day[0] if day else None)


def _target(href: str) -> str | None:
    """Where a link leads: most go by way of a page that counts them, adverts by way of another."""
    from urllib.parse import parse_qs

    path, _, query = href.partition("?")
    if path.endswith("/y.js"):
        return None
    if path.endswith("duckduckgo.com/l/"):
        return next(iter(parse_qs(query).get("uddg", ())), None)
    return f"https:{href}" if href.startswith("//") else href


ENGINE = WebEngine("duckduckgo", "https://html.duckduckgo.com/html/", _build, _read, most=30)
