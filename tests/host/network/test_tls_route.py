"""Requests over plain http to a host with a credential: what the host gets, and what the command gets back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.host.http.web import AUTHORITY, Answer, Asked, Internet, redirect, reply
from tests.host.network.conftest import Serve, World
from tests.host.network.test_proxy import ask, status
from toolroll.host.approval.guard import Guard
from toolroll.host.network.credentials import Credential
from toolroll.host.network.gate import HostGate
from toolroll.policy.rules import Policy

Route = Callable[..., tuple[bytes, list[Asked]]]

SECRET = "Bearer s3cret-of-the-user"


@pytest.fixture
def route(world: World, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> Route:
    """Send bytes to a proxy in front of a TLS server with this answer: what came back, and what the server was asked."""
    monkeypatch.setenv("SSL_CERT_FILE", AUTHORITY)

    def send(answer: Answer | bytes, *sent: bytes, credential: Credential | None = None) -> tuple[bytes, list[Asked]]:
        server = serve(answer, tls=True)
        internet = Internet(secure=server)
        guard = Guard(Policy(network="secure.example.com"), "code")
        gate = HostGate(
            ("secure.example.com",),
            guard,
            resolve=internet.resolve,
            route=internet.route,
            credentials={"secure.example.com": credential or Credential(SECRET)},
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
    own = Credential("Basic eDp5", reads=True)
    _, asked = route(reply("x"), GET, credential=own)
    assert asked[0].headers["authorization"] == "Basic eDp5"
    _, asked = route(reply("x"), GET.replace(b"GET", b"DELETE"), credential=own)
    assert "authorization" not in asked[0].headers


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
