from __future__ import annotations

import pytest

from toolroll.text.web.engines.engines import Hit
from toolroll.text.web.engines.hits import filter_hits, make_hit, merge_hits, parse_rows
from toolroll.text.web.engines.query import prepare


@pytest.mark.parametrize(
    ("title", "url", "snippet", "date", "hit"),
    [
        ("T", "https://a.com/", "S", "2025-01-02T03:04:05Z", Hit("T", "https://a.com/", "S", "2025-01-02")),
        ("T", "https://a.com/", "S", "2025-01-02 03:04", Hit("T", "https://a.com/", "S", "2025-01-02")),
        ("T", "https://a.com/", "S", "3 days ago", Hit("T", "https://a.com/", "S", "3 days ago")),
        (" a\n\tb ", "https://a.com/", "x\r\ny\x1b[31m\u202e\x07", None, Hit("a b", "https://a.com/", "x y")),
        (None, " https://a.com/a b ", 7, 7, Hit("https://a.com/a%20b", "https://a.com/a%20b")),
        ("\ud83d", "https://a.com/", "", "", Hit("?", "https://a.com/")),
        ("x" * 301, "https://a.com/", "y" * 701, "", Hit("x" * 297 + "...", "https://a.com/", "y" * 697 + "...")),
        ("T", "ftp://a.com/", "", None, None),
        ("T", "javascript:alert(1)", "", None, None),
        ("T", "https://a.com/\n1. Title", "", None, None),
        ("T", "https://a.com/" + "x" * 2000, "", None, None),
        ("T", None, "", None, None),
    ],
)
def test_a_result_is_tidy(title: object, url: object, snippet: object, date: object, hit: Hit | None) -> None:
    assert make_hit(title, url, snippet, date) == hit


@pytest.mark.parametrize(
    ("sent", "snippet"),
    [
        ("learn <b>Python</b> &amp; <em class=x>C&#39;s</em>&nbsp;&lt;br&gt;", "learn Python & C's <br>"),
        ("the <b> tag, x<b && b>y, a=1&copy=2 &unknown;", "the <b> tag, x<b && b>y, a=1&copy=2 &unknown;"),
    ],
)
def test_a_text_that_is_sent_as_html(sent: str, snippet: str) -> None:
    found = parse_rows({"r": [{"title": "T", "url": "https://a.com/", "s": sent}]}, "r", snippet="s")
    assert found == [Hit("T", "https://a.com/", snippet)]


def urls(hits: list[Hit]) -> list[str]:
    return [hit.url for hit in hits]


@pytest.mark.parametrize(
    ("site", "kept"),
    [
        ("a.com", ["https://a.com/x", "http://b.A.com:80/", "https://a.com/x/y?z", "https://a.com?q"]),
        ("a.com/x", ["https://a.com/x", "https://a.com/x/y?z"]),
        ("b.a.com", ["http://b.A.com:80/"]),
    ],
)
def test_only_the_site(site: str, kept: list[str]) -> None:
    given = [
        "https://a.com/x", "http://b.A.com:80/", "https://a.com/x/y?z", "https://a.com?q", "https://evila.com/x",
        "https://a.com.evil.com/x", "https://a.com:x@evil.com/x", "https://evil.com/?a.com/x", "https://evil.com?@a.com",
        "https://evil.com#@a.com/x", "https://a.com@evil.com/x",
    ]  # fmt: skip
    assert urls(filter_hits([Hit("t", url) for url in given], prepare("q", site=site))) == kept


def test_no_excluded_terms() -> None:
    hits = [
        Hit("Java", "https://1.com"),
        Hit("x", "https://2.com", "about JAVA."),
        Hit("JavaScript", "https://java.com"),
    ]
    assert urls(filter_hits(hits, prepare("q", exclude=["java"]))) == ["https://java.com"]
    assert urls(filter_hits([Hit("C++ now", "https://1.com")], prepare("q", exclude=["c++"]))) == []


def test_each_page_once() -> None:
    given = ["https://www.A.com/x/", "http://a.com/x", "https://a.com/x#y", "https://a.com/X"]
    assert urls(filter_hits([Hit("t", url) for url in given], prepare("q"))) == [
        "https://www.A.com/x/",
        "https://a.com/X",
    ]


def test_results_are_merged_by_rank() -> None:
    first = [Hit("1", "https://a.com", "", None, "x"), Hit("2", "https://b.com", "s", None, "x")]
    second = [Hit("3", "https://b.com/", "t", "2025-01-02", "y"), Hit("4", "https://c.com", "", None, "y")]
    assert merge_hits([first, second]) == [
        Hit("2", "https://b.com", "s", "2025-01-02", "x, y"),
        Hit("1", "https://a.com", "", None, "x"),
        Hit("4", "https://c.com", "", None, "y"),
    ]
    assert merge_hits([]) == []
