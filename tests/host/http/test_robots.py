from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests.host.http.web import Asked, Internet, Server, get, redirect, reply, trusting
from toolroll.host.http.rate_limit import RateLimit
from toolroll.host.http.robots import parse
from toolroll.result import ErrorCode, ToolError

Serve = Callable[..., Server]

RULES = """\ufeff# a comment
User-agent: other
Disallow: /

user-agent : *
Disallow: /private  # trailing
Allow: /private/open
Disallow: /*.pdf$
Disallow: /search?q=
Disallow: /caf%C3%A9
Disallow: /%7Euser
Disallow: /a*b*c
Disallow:
Sitemap: https://example.com/sitemap.xml
"""


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/", True),
        ("/private", False),
        ("/privately", False),
        ("/private/x", False),
        ("/private/open/x", True),
        ("/x/y.pdf", False),
        ("/x/y.pdf?download", True),
        ("/search?q=1", False),
        ("/search?p=1", True),
        ("/caf%c3%a9/menu", False),
        ("/café", False),
        ("/~user", False),
        ("/a/b/c", False),
        ("/a/c/b", True),
        ("/sitemap.xml", True),
    ],
)
def test_rules(path: str, allowed: bool) -> None:
    assert parse(RULES, "toolroll").allow(path) is allowed


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("", True),
        ("nonsense\n\0\n: :\n", True),
        ("Disallow: /", True),  # for nobody
        ("User-agent: *\nDisallow: /", False),
        ("User-agent: *\nDisallow: /\nUser-agent: ToolRoll\nAllow: /", True),
        ("User-agent: *\nDisallow: /\nUser-agent: toolroll\nDisallow:", True),
        ("User-agent: *\nAllow: /\nUser-agent: toolroll\nDisallow: /", False),
        ("User-agent: a\nUser-agent: toolroll\nUser-agent: b\nDisallow: /", False),
        ("User-agent: toolroll\nDisallow: /a\nUser-agent: toolroll\nDisallow: /x", False),
        ("User-agent: *\nDisallow: /x\nAllow: /x", True),  # of two that fit alike, the kinder
        ("<html>User-agent: *\nDisallow: /</html>", True),
        ("User-agent: *\nDisallow: /" + "*a" * 50_000 + "$", True),
    ],
)
def test_whom_rules_are_for(text: str, allowed: bool) -> None:
    assert parse(text, "toolroll").allow("/x") is allowed


def test_a_hostile_file_takes_no_time() -> None:
    rules = parse("User-agent: *\n" + "Disallow: /*a*a*a*a*a*a*a*a*b\n" * 20_000, "toolroll")
    started = time.monotonic()
    assert rules.allow("/" + "a" * 8000)
    assert time.monotonic() - started < 30


def test_pages_that_a_site_wants_left_alone(serve: Serve) -> None:
    site = serve(lambda asked: reply("User-agent: *\nDisallow: /no") if asked.path == "/robots.txt" else reply("page"))
    internet = Internet(a=site)
    client = internet.client()
    assert get(client, "http://a.example.com/yes").body == b"page"
    with pytest.raises(ToolError, match=r"asks programs in its robots.txt not to fetch '/no/x'") as caught:
        get(client, "http://a.example.com/no/x")
    assert caught.value.code is ErrorCode.PERMISSION
    with pytest.raises(ToolError, match="not to fetch '/no/x'"):
        get(client, "http://a.example.com/no/x", method="HEAD")
    assert get(client, "http://a.example.com/no/x", robots=False).body == b"page"
    assert get(client, "http://a.example.com/no/x", method="POST").body == b"page"
    assert site.paths == ["/robots.txt", "/yes", "/no/x", "/no/x"]  # asked for its rules once
    assert site.asked[0].headers["user-agent"] == "toolroll/0.1"


def test_a_redirect_is_no_way_around(serve: Serve) -> None:
    def answer(asked: Asked) -> bytes:
        if asked.path == "/robots.txt":
            return reply("User-agent: *\nDisallow: /no")
        return redirect("/no") if asked.path == "/yes" else reply("page")

    site = serve(answer)
    with pytest.raises(ToolError, match="not to fetch '/no'"):
        get(Internet(a=site).client(), "http://a.example.com/yes")
    assert site.paths == ["/robots.txt", "/yes"]


@pytest.mark.parametrize(
    ("robots", "allowed"),
    [
        (reply("", "404 Not Found"), True),
        (reply("", "403 Forbidden"), True),
        (reply("", "503 Unavailable"), False),
        (redirect("http://127.0.0.1/robots.txt"), True),
        (redirect("/robots.txt"), True),
        (reply("x" * 100, content_length="100000000000"), True),
        (reply(b"\xff\xfe\x00"), True),
    ],
)
def test_sites_without_rules(serve: Serve, robots: bytes, allowed: bool) -> None:
    site = serve(lambda asked: robots if asked.path == "/robots.txt" else reply("page"))
    client = Internet(a=site).client()
    if allowed:
        assert get(client, "http://a.example.com/").body == b"page"
    else:
        with pytest.raises(ToolError, match=r"robots\.txt"):
            get(client, "http://a.example.com/")


def test_what_the_operator_has_opened_is_not_asked_for_rules(serve: Serve) -> None:
    site = serve(reply("User-agent: *\nDisallow: /"))
    client = trusting(site, rate_limit=RateLimit(burst=1, per_minute=1))
    for _ in range(3):
        assert get(client, site.url("/x")).status == 200
    assert site.paths == ["/x"] * 3
