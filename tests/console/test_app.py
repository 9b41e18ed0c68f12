"""What the console answers to requests that a page of its own would not send."""

import json
import socket
from typing import Any

import pytest

from tests.console.processes import SECONDS, TOKEN, fake_process
from toolroll.mcp.http import connection, server

API = [("GET", "/api/processes", None), ("GET", "/api/events", None), ("POST", "/api/request", b"{}")]
RELAYED = json.dumps({"to": "control-a", "method": "answer"}).encode()


def test_the_page_needs_no_token_and_nothing_may_frame_or_load_it(console):
    answer = console.ask("GET", "/", Authorization=None)
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    for one in (answer, console.ask("GET", "/api/processes"), console.ask("GET", "/nothing")):
        policy = dict(part.strip().partition(" ")[::2] for part in one.headers["content-security-policy"].split(";"))
        assert policy.pop("img-src") == "'self' data:"
        assert {name for name, value in policy.items() if value == "'self'"} == {
            "script-src",
            "style-src",
            "connect-src",
        }
        others = {"default-src", "base-uri", "form-action", "frame-ancestors"}
        assert {name for name, value in policy.items() if value == "'none'"} == others
        assert one.headers["x-frame-options"] == "DENY"
        assert one.headers["x-content-type-options"] == "nosniff"
        assert one.headers["referrer-policy"] == "no-referrer"
        assert one.headers["cross-origin-opener-policy"] == one.headers["cross-origin-resource-policy"] == "same-origin"
        assert one.headers["cache-control"] == "no-store"
        assert not [name for name in one.headers if name.startswith("access-control") or name == "set-cookie"]
        assert TOKEN not in str(one)


@pytest.mark.parametrize(("method", "path", "body"), API)
@pytest.mark.parametrize(
    "given", [None, "", TOKEN, f"Basic {TOKEN}", "Bearer", "Bearer wrong", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}"]
)
def test_the_api_needs_the_token(console, method, path, body, given):
    assert console.ask(method, path, body, Authorization=given).status == 401


@pytest.mark.parametrize(("method", "path", "body"), API)
def test_a_token_anywhere_else_does_not_count(console, method, path, body):
    for name in ("token", "access_token", "Authorization"):
        assert console.ask(method, f"{path}?{name}={TOKEN}", body, Authorization=None).status == 401
    cookie = {"Cookie": f"token={TOKEN}; Authorization=Bearer {TOKEN}"}
    assert console.ask(method, path, body, Authorization=None, **cookie).status == 401


HOSTS = ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost", "127.0.0.2:{port}", ""]
HOSTS += ["127.0.0.1.evil.example:{port}", "localhost.:{port}", "0.0.0.0:{port}", "[::1]:{port}", "127.1:{port}"]
HOSTS += ["evil@127.0.0.1:{port}", "127.0.0.1:{port}, evil.example", "127.0.0.1:0{port}"]


@pytest.mark.parametrize("host", HOSTS)
def test_dns_rebinding_is_refused(console, host):
    """The page too: it would run with the origin of the other site."""
    for path in ("/", "/api/processes"):
        assert console.ask("GET", path, Host=host.format(port=console.port)).status in (400, 421)


ORIGINS = ["null", "https://evil.example", "http://127.0.0.1", "http://127.0.0.1:3000", "http://localhost:8000", ""]
ORIGINS += ["https://127.0.0.1:{port}", "http://127.0.0.1:{port}.evil.example", "http://127.0.0.1:{port}/", "file://"]


@pytest.mark.parametrize("origin", ORIGINS)
def test_other_origins_are_refused(console, origin):
    """Also those of development servers on this machine, which an agent may run."""
    given = origin.format(port=console.port)
    assert console.ask("GET", "/api/processes", Origin=given).status == 403
    assert console.ask("POST", "/api/request", RELAYED, Origin=given).status == 403
    assert console.ask("OPTIONS", "/api/request", Origin=given, Authorization=None).status == 403


def test_the_own_origin_is_accepted_under_the_name_that_was_asked(console):
    for own in (f"127.0.0.1:{console.port}", f"localhost:{console.port}", f"LocalHost:{console.port}"):
        origin = f"http://{own}"
        assert console.ask("GET", "/api/processes", Host=own, Origin=origin, Sec_Fetch_Site="same-origin").status == 200
    other = f"http://localhost:{console.port}"
    assert console.ask("GET", "/api/processes", Origin=other).status == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none", ""])
def test_a_request_that_the_browser_says_is_of_another_site_is_refused(console, site):
    assert console.ask("GET", "/api/processes", Sec_Fetch_Site=site).status == 403


TYPES = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", None]
TYPES += ["application/jsonp", "text/plain; application/json", "application/json, text/plain", "application/csp-report"]


@pytest.mark.parametrize("kind", TYPES)
def test_a_form_or_a_simple_post_reaches_no_process(console, kind):
    """What another site can send without being asked for permission first; here even with the token."""
    asked: list[Any] = []
    with fake_process("control-a", answer=asked.append):
        assert console.ask("POST", "/api/request", RELAYED, Content_Type=kind).status == 415
        assert console.ask("POST", "/api/request", RELAYED, Authorization=None, Content_Type=kind).status == 401
        assert asked == []
        assert console.ask("POST", "/api/request", RELAYED).json == {"result": None}
    assert asked == [{}]


PATHS = [
    "/../console/app.py",
    "/%2e%2e/app.py",
    "/..%2fapp.py",
    "//etc/passwd",
    "/page/index.html",
    "/./",
    "/index.html/",
]
PATHS += [
    "/console.json",
    "/%00",
    "/console.js%00.svg",
    "/\\..\\app.py",
    "/__init__.py",
    "/api",
    "/api/",
    "/API/processes",
]
PATHS += ["/api/processes/", "/api//processes", "/api/processes/../request", "/api/%70rocesses/x", "/;/api/processes"]


@pytest.mark.parametrize("path", PATHS)
def test_only_the_known_paths_exist(console, path):
    assert console.ask("GET", path).status == 404
    assert console.ask("GET", path, Authorization=None).status == 401


def test_only_the_known_methods_are_answered(console):
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "get", "FOO"):
        assert console.ask(method, "/").status == 405
        assert console.ask(method, "/api/processes").status == 405
    for method in ("GET", "PUT", "OPTIONS", "HEAD"):
        answer = console.ask(method, "/api/request")
        assert (answer.status, answer.headers["allow"]) == (405, "POST")
    assert console.ask("HEAD", "/").body == b""


BODIES = [
    b"",
    b"[]",
    b"{",
    b"null",
    b"\xff",
    b"[" * 5000,
    b'{"to": 1, "method": "m"}',
    b'{"method": "m"}',
    b'{"to": "a"}',
]
BODIES += [b'{"to": "a", "method": "m", "params": []}', b'{"to": "a", "method": "m", "extra": 1}']


@pytest.mark.parametrize("body", BODIES)
def test_a_body_that_is_no_request_is_refused(console, body):
    assert console.ask("POST", "/api/request", body).status == 400


def exchange(port: int, data: bytes) -> bytes:
    """What comes back for these bytes until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as wire:
        wire.sendall(data)
        return b"".join(iter(lambda: wire.recv(65536), b""))


def head(port: int, *lines: str, start: str = "GET /api/processes") -> bytes:
    usual = [f"{start} HTTP/1.1", f"Host: 127.0.0.1:{port}", *lines, "Connection: close"]
    return "\r\n".join((*usual, "", "")).encode("latin-1")


KEY = f"Authorization: Bearer {TOKEN}"


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ((KEY,), 200),
        ((KEY, KEY), 401),
        ((KEY, "Authorization: Bearer wrong"), 401),
        ((KEY, "Host: evil.example"), 421),
        ((KEY, "Origin: http://evil.example"), 403),
        ((KEY, "X: a\rOrigin: b"), 400),
        (("X: a\n" + KEY,), 400),
        (("X: a\r\n " + KEY,), 400),
        (("X : a", KEY), 400),
        ((KEY, "Content-Length: 0", "Content-Length: 5"), 400),
        ((KEY, "Transfer-Encoding: gzip"), 400),
    ],
)
def test_headers_mean_one_thing_only(console, lines, status):
    assert int(exchange(console.port, head(console.port, *lines)).split()[1]) == status


@pytest.mark.parametrize(
    "path", ["/%0d%0aSet-Cookie:%20a=b", "/api/%0d%0aX-Injected:%201", "/?a=%0d%0aX-Injected:%201"]
)
def test_no_header_repeats_what_was_sent(console, path):
    answer = exchange(console.port, head(console.port, KEY, start=f"GET {path}")).partition(b"\r\n\r\n")[0].lower()
    assert b"set-cookie" not in answer
    assert b"x-injected" not in answer


def test_a_slow_head_is_cut_off(console, monkeypatch):
    monkeypatch.setattr(connection, "HEAD_TIMEOUT_S", 0.2)
    with socket.create_connection(("127.0.0.1", console.port), timeout=SECONDS) as wire:
        wire.sendall(b"GET / HTTP/1.1\r\nHost: ")
        assert wire.recv(100) == b""


def test_many_connections_are_turned_away_and_the_rest_is_served(console):
    idle = [socket.create_connection(("127.0.0.1", console.port)) for _ in range(server.MAX_CONNECTIONS)]
    try:
        assert console.ask("GET", "/").status == 503
    finally:
        for one in idle:
            one.close()
    assert console.ask("GET", "/").status == 200


def test_a_body_has_a_largest_size(console):
    announced = f"Content-Length: {connection.MAX_BODY_BYTES + 1}"
    asked = head(console.port, KEY, "Content-Type: application/json", announced, start="POST /api/request")
    assert exchange(console.port, asked).split()[1] == b"413"


def test_a_refusal_is_logged_without_the_token(console, capsys):
    console.ask("GET", f"/api/processes?token={TOKEN}", Authorization=f"Bearer {TOKEN}x")
    assert capsys.readouterr().err == "refused GET '/api/processes': The token is not the right one.\n"
