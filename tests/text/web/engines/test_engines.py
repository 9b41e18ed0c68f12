"""Each engine: how it is asked, and how its answer is read."""

from __future__ import annotations

import json
from typing import Any, get_args
from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.text.web.engines import bodies
from toolroll.text.web.engines.engine import load_engines
from toolroll.text.web.engines.engines import EngineName, Hit
from toolroll.text.web.engines.hits import BlockedError, UnreadableError
from toolroll.text.web.engines.query import prepare

PLAIN = prepare("a & b")
FULL = prepare(
    "async", limit=5, safe="strict", language="pt-BR", within="week", site="a.com/b", exclude=["java", "two words"]
)
ALL = 'async site:a.com/b -java -"two words"'
NEEDS = {"key": "K/1", "id": "cx:1"}


def asked(engine: str, query: Any) -> tuple[str, str, dict[str, str], dict[str, str], Any]:
    ask = load_engines()[engine].build(load_engines()[engine].url or "https://searx.example.com", query, NEEDS)
    url = urlsplit(ask.url)
    return ask.method, f"{url.netloc}{url.path}", dict(parse_qsl(url.query)), dict(ask.headers), ask.body


def test_the_names_are_all_there() -> None:
    assert set(get_args(EngineName)) == {"auto", "all", *load_engines()}
    assert [engine.name for engine in load_engines().values()] == list(load_engines())


JSON = {"accept": "application/json"}
BEARER = {"authorization": "Bearer K/1"}
FORM = {"content-type": "application/x-www-form-urlencoded", "accept": "text/html"}


@pytest.mark.parametrize(
    ("engine", "plain", "full"),
    [
        (
            "tavily",
            ("POST", "api.tavily.com/search", {}, BEARER, {"query": "a & b", "topic": "general", "search_depth": "basic", "max_results": 10}),
            ("POST", "api.tavily.com/search", {}, BEARER, {"query": "async", "topic": "general", "search_depth": "basic", "max_results": 5, "time_range": "week", "include_domains": ["a.com"]}),
        ),
        (
            "serpapi",
            ("GET", "serpapi.com/search.json", {"engine": "google", "q": "a & b", "num": "10", "safe": "active", "api_key": "K/1"}, JSON, None),
            ("GET", "serpapi.com/search.json", {"engine": "google", "q": ALL, "num": "5", "safe": "active", "hl": "pt", "lr": "lang_pt", "tbs": "qdr:w", "api_key": "K/1"}, JSON, None),
        ),
        (
            "google",
            ("GET", "customsearch.googleapis.com/customsearch/v1", {"key": "K/1", "cx": "cx:1", "q": "a & b", "num": "10", "safe": "active"}, JSON, None),
            ("GET", "customsearch.googleapis.com/customsearch/v1", {"key": "K/1", "cx": "cx:1", "q": 'async -java -"two words"', "num": "5", "safe": "active", "hl": "pt", "lr": "lang_pt", "dateRestrict": "w1", "siteSearch": "a.com/b", "siteSearchFilter": "i"}, JSON, None),
        ),
        (
            "bing",
            ("GET", "api.bing.microsoft.com/v7.0/search", {"q": "a & b", "count": "10", "safeSearch": "Moderate", "responseFilter": "Webpages", "textFormat": "Raw"}, {**JSON, "ocp-apim-subscription-key": "K/1"}, None),
            ("GET", "api.bing.microsoft.com/v7.0/search", {"q": f"{ALL} language:pt", "count": "5", "safeSearch": "Strict", "freshness": "Week", "responseFilter": "Webpages", "textFormat": "Raw", "mkt": "pt-BR", "setLang": "pt"}, {**JSON, "ocp-apim-subscription-key": "K/1"}, None),
        ),
        (
            "perplexity",
            ("POST", "api.perplexity.ai/search", {}, BEARER, {"query": "a & b", "max_results": 10, "max_tokens_per_page": 256}),
            ("POST", "api.perplexity.ai/search", {}, BEARER, {"query": "async", "max_results": 5, "max_tokens_per_page": 256, "search_recency_filter": "week", "search_domain_filter": ["a.com"], "search_language_filter": ["pt"]}),
        ),
        (
            "searxng",
            ("GET", "searx.example.com/search", {"q": "a & b", "format": "json", "categories": "general", "safesearch": "1", "language": "all"}, JSON, None),
            ("GET", "searx.example.com/search", {"q": ALL, "format": "json", "categories": "general", "safesearch": "2", "language": "pt-BR", "time_range": "week"}, JSON, None),
        ),
        (
            "duckduckgo",
            ("POST", "html.duckduckgo.com/html/", {}, FORM, {"q": "a & b", "kl": "wt-wt", "kp": "-1"}),
            ("POST", "html.duckduckgo.com/html/", {}, FORM, {"q": ALL, "kl": "br-pt", "kp": "1", "df": "w"}),
        ),
    ],
)  # fmt: skip
def test_how_it_is_asked(engine: str, plain: object, full: object) -> None:
    assert asked(engine, PLAIN) == plain
    assert asked(engine, FULL) == full


@pytest.mark.parametrize(
    ("engine", "options", "name", "value"),
    [
        ("duckduckgo", {"language": "en"}, "kl", "us-en"),
        ("duckduckgo", {"language": "en-GB"}, "kl", "uk-en"),
        ("duckduckgo", {"language": "xx"}, "kl", "wt-wt"),
        ("duckduckgo", {"safe": "off"}, "kp", "-2"),
        ("google", {"language": "zh-TW"}, "lr", "lang_zh-TW"),
        ("google", {"language": "zh"}, "lr", "lang_zh-CN"),
        ("google", {"safe": "off"}, "safe", "off"),
        ("searxng", {"safe": "off"}, "safesearch", "0"),
        ("searxng", {"within": "year"}, "time_range", "year"),
        ("serpapi", {"within": "year"}, "tbs", "qdr:y"),
        ("bing", {"safe": "off"}, "safeSearch", "Off"),
    ],
)
def test_single_filters(engine: str, options: dict[str, Any], name: str, value: str) -> None:
    _, _, parameters, _, body = asked(engine, prepare("x", **options))
    assert (body or parameters)[name] == value


def test_a_year_of_bing_has_dates() -> None:
    from dataclasses import replace

    query = replace(prepare("x", within="year"), today="2025-03-04")
    assert asked("bing", query)[2]["freshness"] == "2024-03-04..2025-03-04"


@pytest.mark.parametrize(
    ("place", "asks"),
    [
        ("http://s.example.com", "http://s.example.com/search?q=x"),
        ("http://s.example.com/", "http://s.example.com/search?q=x"),
        ("http://s.example.com/sx/", "http://s.example.com/sx/search?q=x"),
        ("http://s.example.com/search", "http://s.example.com/search?q=x"),
        ("http://s.example.com/search?token=1", "http://s.example.com/search?token=1&q=x"),
    ],
)
def test_where_an_instance_of_searxng_is_asked(place: str, asks: str) -> None:
    assert load_engines()["searxng"].build(place, prepare("x"), {}).url.startswith(f"{asks}&format=json")


@pytest.mark.parametrize("engine", load_engines())
def test_how_its_answer_is_read(engine: str) -> None:
    date = None if engine == "google" else bodies.DAY
    assert load_engines()[engine].read(bodies.BODIES[engine]) == bodies.expected(date=date)
    assert load_engines()[engine].read(bodies.EMPTY[engine]) == []


LISTS = {"tavily": "results", "serpapi": "organic_results", "google": "items", "perplexity": "results", "searxng": "results"}  # fmt: skip


@pytest.mark.parametrize("engine", load_engines())
@pytest.mark.parametrize(
    "body",
    ["", "null", "[]", "{}", "{", '"text"', "<html><body>502 Bad Gateway</body></html>", '{"error": "no"}', "[" * 100_000, '{"webPages": 1}'],
    ids=lambda body: body[:12],
)  # fmt: skip
def test_what_is_no_answer(engine: str, body: str) -> None:
    with pytest.raises(UnreadableError):
        load_engines()[engine].read(body)


@pytest.mark.parametrize(("engine", "name"), LISTS.items())
@pytest.mark.parametrize("value", [None, 1, "x", {}, [1, None], [{"title": "x"}], [{"url": "javascript:alert(1)"}]])
def test_a_list_that_is_none(engine: str, name: str, value: object) -> None:
    with pytest.raises(UnreadableError, match=f"its '{name}'"):
        load_engines()[engine].read(json.dumps({**json.loads(bodies.BODIES[engine]), name: value}))


def test_an_instance_whose_engines_are_down() -> None:
    with pytest.raises(UnreadableError, match="none of the engines that it asks"):
        load_engines()["searxng"].read(json.dumps(bodies.SEARXNG_DOWN))


def test_duckduckgo_wants_a_person() -> None:
    with pytest.raises(BlockedError, match="a person"):
        load_engines()["duckduckgo"].read(bodies.DUCKDUCKGO_BLOCKED)
    # The words alone are no sign: both pages repeat them from the search.
    assert "anomaly.js" in bodies.DUCKDUCKGO
    assert "anomaly.js" in bodies.DUCKDUCKGO_NOTHING


def test_links_of_duckduckgo_that_lead_straight_there() -> None:
    card = '<div class="result"><a class="result__a" href="{}">T</a><div class="result__snippet">S<b>!</b></div></div>'
    read = load_engines()["duckduckgo"].read
    assert read(card.format("https://a.com/x?y=1&amp;z=2")) == [Hit("T", "https://a.com/x?y=1&z=2", "S!")]
    assert read(card.format("//a.com/")) == [Hit("T", "https://a.com/", "S!")]
    assert read(card.format("//duckduckgo.com/l/?uddg=javascript%3Aalert(1)")) == []
