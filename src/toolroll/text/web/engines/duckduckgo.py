"""DuckDuckGo's page for browsers without scripts: no key, but it soon wants to see a person."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from toolroll.text.web.engines.engine import FORM, Ask, Engine
from toolroll.text.web.engines.hits import BlockedError, UnreadableError, made
from toolroll.text.web.engines.kinds import Hit
from toolroll.text.web.engines.query import Query
from toolroll.text.web.html.tokens import Close, Open, Text, tokens

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


def _build(url: str, query: Query, _needs: Mapping[str, str]) -> Ask:
    form = {"q": query.text(), "kl": _region(query), "kp": _SAFE[query.safe]}
    if query.within:
        form["df"] = query.within[0]
    return Ask("POST", url, {"content-type": FORM, "accept": "text/html"}, dict(form))


def _region(query: Query) -> str:
    if query.region:
        return f"{'uk' if query.region == 'GB' else query.region.lower()}-{query.language}"
    return _REGIONS.get(query.language, "wt-wt")


@dataclass(slots=True)
class _Card:
    """One result as it is read."""

    advert: bool = False
    url: str = ""
    title: list[str] = field(default_factory=list)
    snippet: list[str] = field(default_factory=list)
    rest: list[str] = field(default_factory=list)

    def hit(self) -> Hit | None:
        where = _target(self.url)
        if self.advert or where is None:
            return None
        day = _DAY.search(" ".join(self.rest))
        return made("".join(self.title), where, "".join(self.snippet), day[0] if day else None)


def _read(body: str) -> list[Hit]:
    found = [card.hit() for card in _cards(body)]
    hits = [one for one in found if one is not None]
    if hits:
        return hits
    # Only now: a page of results may well be about the very words that mark the others.
    marks = _marks(body)
    if "blocked" in marks:
        raise BlockedError(
            "It wants to see that a person is searching, as it does after many searches from one address"
        )
    if "nothing" not in marks and not found:
        raise UnreadableError("it holds no results, and does not say that there are none")
    return []


def _cards(page: str) -> Iterator[_Card]:
    card = _Card()
    into, until = card.rest, ""
    for token in tokens(page):
        if isinstance(token, Text):
            into.append(token.text)
        elif isinstance(token, Close) and token.name == until:
            into, until = card.rest, ""
        elif isinstance(token, Open):
            classes = token.attributes.get("class", "").split()
            if "result" in classes:
                if card.url:
                    yield card
                card = _Card("result--ad" in classes)
                into, until = card.rest, ""
            elif "result__a" in classes and token.name == "a":
                card.url = token.attributes.get("href", "")
                into, until = card.title, "a"
            elif "result__snippet" in classes:
                into, until = card.snippet, token.name
    if card.url:
        yield card


def _target(href: str) -> str | None:
    """Where a link leads: most go by way of a page that counts them, adverts by way of another."""
    from urllib.parse import parse_qs

    path, _, query = href.partition("?")
    if path.endswith("/y.js"):
        return None
    if path.endswith("duckduckgo.com/l/"):
        return next(iter(parse_qs(query).get("uddg", ())), None)
    return f"https:{href}" if href.startswith("//") else href


def _marks(page: str) -> set[str]:
    """What the attributes of a page without results tell; its text may hold anything that was searched for."""
    marks = set()
    for token in tokens(page):
        if isinstance(token, Open):
            kind, action = token.attributes.get("class", ""), token.attributes.get("action", "")
            if "anomaly-modal" in kind or "anomaly.js" in action or token.attributes.get("id") == "challenge-form":
                marks.add("blocked")
            if "no-results" in kind or "result--no-result" in kind:
                marks.add("nothing")
    return marks


ENGINE = Engine("duckduckgo", "https://html.duckduckgo.com/html/", _build, _read, most=30)
