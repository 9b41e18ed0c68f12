from __future__ import annotations

from typing import Any

import pytest

from toolroll import ErrorCode, ToolError
from toolroll.text.web.engines.query import WebQuery, is_within, prepare


@pytest.mark.parametrize(
    ("words", "options", "query"),
    [
        ("python", {}, WebQuery("python")),
        ("  a\tb\r\nc\u2028\x00d\u202e ", {}, WebQuery("a b c d")),
        ("x", {"language": "EN"}, WebQuery("x", language="en")),
        ("x", {"language": "pt_br"}, WebQuery("x", language="pt", region="BR")),
        ("x", {"language": " "}, WebQuery("x")),
        ("x", {"site": "https://Docs.Python.org/3/"}, WebQuery("x", site="docs.python.org/3")),
        ("x", {"site": "*.example.com"}, WebQuery("x", site="example.com")),
        ("x", {"site": "bücher.example"}, WebQuery("x", site="bücher.example")),
        ("x", {"exclude": ["-java", "java", ' "two  words" ', "", "--"]}, WebQuery("x", exclude=("java", "two words"))),
        ("x", {"limit": 3, "safe": "off", "within": "week"}, WebQuery("x", 3, "off", within="week")),
    ],
)
def test_what_is_searched_for(words: str, options: dict[str, Any], query: WebQuery) -> None:
    assert prepare(words, **options) == query


@pytest.mark.parametrize(
    ("words", "options", "message"),
    [
        ("", {}, "`query` is empty"),
        (" \n\x00", {}, "`query` is empty"),
        ("x" * 401, {}, "401 characters, engines take 400"),
        ("x", {"language": "english please"}, "not a code of a language"),
        ("x", {"site": "not a site"}, "not a site"),
        ("x", {"site": "localhost"}, "not a site"),
        ("x", {"site": "a.com/?q=1"}, "not a site"),
        ("x", {"site": 'a.com" OR "b'}, "not a site"),
        ("x", {"exclude": [f"t{number}" for number in range(21)]}, "21 terms"),
    ],
)
def test_what_is_refused(words: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ToolError, match=message) as caught:
        prepare(words, **options)
    assert caught.value.code is ErrorCode.VALIDATION


@pytest.mark.parametrize(
    ("url", "domains", "not_domains", "wanted"),
    [
        ("https://docs.a.com/x", ["a.com"], [], True),
        ("https://A.com:80/x", ["b.org", "a.com"], [], True),
        ("https://nota.com/", ["a.com"], [], False),
        ("https://a.com.evil.org/", ["a.com"], [], False),
        ("https://docs.a.com/", [], ["a.com"], False),
        ("https://b.org/", [], ["a.com"], True),
        ("https://docs.a.com/", ["a.com"], ["docs.a.com"], False),
    ],
)
def test_domains_hold_those_below_them(url: str, domains: list[str], not_domains: list[str], wanted: bool) -> None:
    assert is_within(url, domains, not_domains) is wanted


def test_filters_among_the_words() -> None:
    query = prepare("async", site="a.com/b", exclude=["java", "two words"])
    assert query.text() == 'async site:a.com/b -java -"two words"'
    assert query.text(site=False) == 'async -java -"two words"'
    assert query.host == "a.com"
