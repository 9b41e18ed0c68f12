"""Requests over plain http to a host with a credential: what the host gets, and what the command gets back."""

from __future__ import annotations

import base64
import gzip
import os
import zlib
from collections.abc import Callable

import pytest

from tests.host.http.web import AUTHORITY, Answer, Asked, Internet, redirect, reply
from tests.host.network.conftest import Serve, World
from tests.host.network.test_proxy import ask, status
from toolroll.host.approval.guard import Guard
from toolroll.host.network.credentials import Credential, basic
from toolroll.host.network.gate import HostGate
from toolroll.policy.rules import Policy

Route = Callable[..., tuple[bytes, list[Asked]]]

SECRET = "Bearer s3cret-of-the-user"


@pytest.fixture
def route(world: World, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> Route:
    """Send bytes to a proxy in front of a TLS server with this answer: what came back, and what the server was asked."""
    monkeypatch.setenv("SSL_CERT_FILE", AUTHORITY)

    def send(
        answer: Answer | bytes, *sent: bytes, credential: Credential | None = None, scope: str = "secure.example.com"
    ) -> tuple[bytes, list[Asked]]:
        server = serve(answer, tls=True)
        internet = Internet(secure=server)
        guard = Guard(Policy(network="secure.example.com"), "code")
        gate = HostGate(
            ("secure.example.com",),
            guard,
            resolve=internet.resolve,
            route=internet.route,
            credentials={scope: credential or Credential(SECRET)},
        )
        return ask(world.proxy(gate), *sent), server.asked

    return send


GET = b"GET http://secure.example.com/a?b HTTP/1.1\r\nHost: x\r\nX-Own: 1\r\nAuthorization: Basic eA==\r\n\r\n"


def test_the_host_gets_the_credential_over_tls_and_the_client_does_not(route: Route) -> None:
    told, asked = route(
        lambda one: reply(f"you sent {one.headers['authorization']}", content_type="text/html", x_echo=SECRET), GET
    )
    assert (asked[0].path, asked[0].headers["authorization"], asked[0].headers["x-own"]) == ("/a?b", SECRET, "1")
    assert (asked[0].headers["host"], asked[0].headers["accept-encoding"]) == ("secure.example.com", "identity")
    assert (status(told), b"you sent Bearer ***" in told, b"s3cret" in told) == ("HTTP/1.1 200 OK", True, False)


def test_addresses_in_an_index_lead_to_the_plain_route_and_files_stay_as_they_are(route: Route) -> None:
    page = "https://secure.example.com/x https://other.example.com/y"
    told, _ = route(reply(page, content_type="application/json"), GET)
    assert told.endswith(b"\r\n\r\nhttp://secure.example.com/x https://other.example.com/y")
    told, _ = route(reply(page, content_type="application/octet-stream"), GET)
    assert told.endswith(page.encode())
    config = '{"dl": "https://secure.example.com/dl", "auth-required": true}'
    told, _ = route(reply(config), GET.replace(b"/a?b", b"/index/config.json"))
    assert told.endswith(b'{"dl": "http://secure.example.com/dl", "auth-required": false}')


def test_a_redirect_is_the_clients_to_follow(route: Route) -> None:
    for location, seen in (
        ("https://secure.example.com/c", b"Location: http://secure.example.com/c\r\n"),
        ("https://other.example.com/c", b"Location: https://other.example.com/c\r\n"),
    ):
        told, asked = route(redirect(location), GET)
        assert (status(told), seen in told, len(asked)) == ("HTTP/1.1 302 Found", True, 1)


def test_bodies(route: Route) -> None:
    post = GET.replace(b"GET", b"POST").removesuffix(b"\r\n")
    _, asked = route(reply("x"), post + b"Content-Length: 10\r\nExpect: 100-continue\r\n\r\n", b"0123456789")
    assert (asked[0].body, "expect" in asked[0].headers) == (b"0123456789", False)

    def answer(one: Asked) -> bytes:
        return reply(one.headers["transfer-encoding"], content_length="")  # it reads no such bodies

    told, _ = route(answer, post + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
    assert told.endswith(b"chunked")


def test_what_a_package_manager_has_is_for_reading_only(route: Route) -> None:
    own = Credential("Basic eDp5")
    _, asked = route(reply("x"), GET, credential=own, scope="GET,HEAD secure.example.com")
    assert asked[0].headers["authorization"] == "Basic eDp5"
    _, asked = route(reply("x"), GET.replace(b"GET", b"DELETE"), credential=own, scope="GET,HEAD secure.example.com")
    assert "authorization" not in asked[0].headers


def test_a_credential_is_for_its_path_and_methods(route: Route) -> None:
    for request, covered in (
        (GET, False),
        (GET.replace(b"/a?b", b"/team/x"), True),
        (GET.replace(b"/a?b", b"/team/%2e%2e/x"), False),
        (GET.replace(b"GET", b"PUT").replace(b"/a?b", b"/team/x"), False),
    ):
        _, asked = route(reply("x"), request, scope="secure.example.com/team/")
        assert ("authorization" in asked[0].headers) is covered, request


def test_no_request_asks_for_a_part_or_for_another_method(route: Route) -> None:
    told, asked = route(reply("x"), GET.replace(b"GET", b"TRACE"))
    assert (status(told), asked) == ("HTTP/1.1 405 Method Not Allowed", [])
    own = (
        b"X-Own: 1\r\nRange : bytes=0-3\r\nIf-Range: x\r\nRequest-Range: bytes=0-3\r\nX-HTTP-Method-Override: TRACE\r\n"
    )
    _, asked = route(reply("x"), GET.replace(b"X-Own: 1\r\n", own))
    assert set(asked[0].headers) == {"host", "accept-encoding", "connection", "authorization", "x-own"}
    both = b"X-Own: 1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n"
    told, asked = route(reply("x"), GET.replace(b"GET", b"POST").replace(b"X-Own: 1\r\n", both), b"0\r\n\r\nGET /x")
    assert (told, asked) == (b"", [])


LOGIN = b"the-user:a/pass+word of 42 marks"
TOKEN = base64.b64encode(LOGIN)


def chunked(*pieces: bytes, **headers: str) -> bytes:
    body = b"".join(b"%x\r\n%s\r\n" % (len(one), one) for one in (*pieces, b""))
    return reply("", content_length="", transfer_encoding="chunked", **headers) + body


ECHOES = {
    "raw": reply(b"you sent " + TOKEN),
    "raw, late": reply(b"x" * 3_000_000 + TOKEN + b"x" * 3_000_000, content_type="application/octet-stream"),
    "in pieces": chunked(*(bytes([one]) for one in TOKEN)),
    "upper case": reply(TOKEN.upper()),
    "over lines": reply(b"\r\n".join(TOKEN[at : at + 7] for at in range(0, len(TOKEN), 7))),
    "UTF-16": reply(TOKEN.decode().encode("utf-16")),
    "percent": reply("".join(f"%{one:02x}" for one in TOKEN)),
    "percent, twice": reply("".join(f"%25{one:02X}" for one in TOKEN)),
    "HTML, decimal": reply("".join(f"&#{one};" for one in TOKEN), content_type="text/html"),
    "HTML, hexadecimal": reply("".join(f"&#x00{one:x};" for one in TOKEN), content_type="text/html"),
    "HTML, named": reply(LOGIN.replace(b":", b"&colon;").replace(b"/", b"&sol;").replace(b"+", b"&plus;")),
    "JSON": reply("".join(f"\\u00{one:02x}" for one in TOKEN), content_type="application/json"),
    "JSON, slashes": reply(LOGIN.replace(b"/", b"\\/"), content_type="application/json"),
    "unicode escapes": reply("".join(f"\\u{{{one:x}}}" for one in TOKEN)),
    "hexadecimal escapes": reply("".join(f"\\x{one:02X}" for one in TOKEN)),
    "octal escapes": reply("".join(f"\\{one:03o}" for one in TOKEN)),
    "hexadecimal": reply(LOGIN.hex(" ")),
    **{f"base64 behind {n}": reply(base64.b64encode(b"x" * n + b"Basic " + TOKEN + b" y")) for n in range(3)},
    **{f"base64 of the login behind {n}": reply(base64.b64encode(b"x" * n + LOGIN + b" y")) for n in range(3)},
    "base64 for URLs": reply(base64.urlsafe_b64encode(b"?>" + LOGIN + b"?>")),
    "decoded": reply(b"hello, " + LOGIN),
    "the password": reply(LOGIN.partition(b":")[2]),
    "gzip": reply(gzip.compress(b"you sent " + TOKEN), content_encoding="gzip"),
    "gzip, late": reply(
        gzip.compress(os.urandom(400_000)) + gzip.compress(b"x" * 999 + TOKEN), content_encoding="gzip"
    ),
    "deflate": reply(zlib.compress(TOKEN), content_encoding="deflate"),
    "deflate without a header": reply(zlib.compress(TOKEN, wbits=-15), content_encoding="deflate"),
    "a file of gzip": reply(gzip.compress(LOGIN), content_type="application/octet-stream"),
    "brotli": reply(b"\x0b\x02\x80abc\x03", content_encoding="br"),
    "gzip that is none": reply(TOKEN[::-1], content_encoding="gzip"),
    "an encoded transfer": reply(gzip.compress(TOKEN), content_length="", transfer_encoding="gzip, chunked"),
    "a header": reply("x", x_percent="".join(f"%{one:02x}" for one in TOKEN)),
    "an address": redirect("https://other.example.com/?" + LOGIN.decode().replace(" ", "%20")),
    "the reason": reply("x", f"200 {LOGIN.decode()}"),
    "an error": reply(b"wrong login " + LOGIN, "401 Unauthorized"),
}


@pytest.mark.parametrize("echo", ECHOES)
def test_an_answer_with_the_credential_is_ended(route: Route, echo: str) -> None:
    """Whatever came before it may be passed on; nothing of the credential is."""
    told, asked = route(ECHOES[echo], GET, credential=basic(LOGIN.decode()))
    assert asked[0].headers["authorization"] == f"Basic {TOKEN.decode()}"
    body = told.partition(b"\r\n\r\n")[2]
    if "late" in echo.split():
        assert (status(told), body in ECHOES[echo], TOKEN[:9] in told) == ("HTTP/1.1 200 OK", True, False)
    else:
        assert status(told) == "HTTP/1.1 502 Bad Gateway"
        assert body.startswith(b"The answer of 'secure.example.com' was not passed on, because it"), body


def test_answers_without_the_credential_are_passed_on_as_they_are(route: Route) -> None:
    page = os.urandom(700_000) + b"%41\\u0041&amp;" * 99
    for answer in (
        reply(page, content_type="application/octet-stream"),
        reply(gzip.compress(page) + b"tail", content_type="application/octet-stream"),
        reply(gzip.compress(page), content_encoding="gzip"),
        reply(page, content_length=""),
    ):
        told, _ = route(answer, GET, credential=basic(LOGIN.decode()))
        assert told.partition(b"\r\n\r\n")[2] == answer.partition(b"\r\n\r\n")[2]


def test_a_request_that_no_rule_covers_says_so(world: World, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", AUTHORITY)
    internet = Internet(secure=serve(reply("log in", "401 Unauthorized"), tls=True))
    guard = Guard(Policy(network="secure.example.com"), "code")
    own = {"credentials": {"secure.example.com": Credential(SECRET)}}
    gate = HostGate(("secure.example.com",), guard, resolve=internet.resolve, route=internet.route, **own)
    ask(world.proxy(gate), GET.replace(b"GET", b"DELETE"))
    sent = "A DELETE request for '/a?b' of 'secure.example.com' was sent without a credential"
    assert gate.lines(0.0) == [f"{sent}: no rule of [credentials] covers it."]


def test_a_credential_that_is_missing_and_a_certificate_that_is_not_good_are_told(
    route: Route,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told, asked = route(reply("x"), GET, credential=Credential("", "the variable X with its credential is not set"))
    assert (status(told), b"the variable X" in told, asked) == ("HTTP/1.1 502 Bad Gateway", True, [])
    monkeypatch.delenv("SSL_CERT_FILE")
    told, asked = route(reply("x"), GET)
    assert (status(told), b"certificate verify failed" in told, asked) == ("HTTP/1.1 502 Bad Gateway", True, [])


def test_a_server_that_speaks_no_http_ends_the_connection(route: Route) -> None:
    told, _ = route(b"what?\r\n\r\n", GET)
    assert told == b""


def test_a_tunnel_to_the_host_has_no_credential(route: Route) -> None:
    told, asked = route(reply("x"), b"CONNECT secure.example.com:443 HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n")
    assert (status(told), asked) == ("HTTP/1.1 200 Connection established", [])
