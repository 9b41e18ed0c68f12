from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress

import pytest

from tests.host.network.conftest import World

CONNECT = b"CONNECT one.example.com:443 HTTP/1.1\r\nHost: one.example.com:443\r\n\r\n"
GET = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


def ask(port: int, *sent: bytes) -> bytes:
    """All that is answered to these bytes, each sent when something was answered to the one before."""
    told = b""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        for one in sent:
            client.sendall(one)
            if one is not sent[-1]:
                told += client.recv(65536)
        with suppress(OSError):  # what was not read resets the connection
            client.shutdown(socket.SHUT_WR)
            while piece := client.recv(65536):
                told += piece
    return told


def status(answer: bytes) -> str:
    return answer.partition(b"\r\n")[0].decode()


def test_a_tunnel(world: World) -> None:
    port = world.proxy(world.gate("one.example.com"))
    told = ask(port, CONNECT, GET)
    assert told.startswith(b"HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 OK\r\n")
    assert (told.endswith(b"\r\n\r\none"), world.one.asked[0].headers["host"]) == (True, "x")


def test_plain_http_goes_to_the_host_of_the_address_whatever_the_headers_say(world: World) -> None:
    port = world.proxy(world.gate("one.example.com"))
    told = ask(
        port,
        b"POST http://one.example.com/a?b=c HTTP/1.1\r\nHost: other.example.com\r\nhost : other.example.com\r\n"
        b"Proxy-Connection: keep-alive\r\nProxy-Authorization: Basic eA==\r\nX-Key: 1\r\nContent-Length: 4\r\n\r\nbody",
    )
    assert told.endswith(b"one")
    (asked,) = world.one.asked
    headers = {"host": "one.example.com", "connection": "close", "x-key": "1", "content-length": "4"}
    assert (asked.method, asked.path, asked.headers, asked.body) == ("POST", "/a?b=c", headers, b"body")


@pytest.mark.parametrize(
    ("host", "code", "text"),
    [
        (b"\x03\x0fone.example.com", 0, b"one"),
        (b"\x03\x11other.example.com", 2, b""),
        (b"\x01\x7f\x00\x00\x01", 2, b""),
        (b"\x04" + b"\0" * 15 + b"\x01", 2, b""),
    ],
)
def test_socks(world: World, host: bytes, code: int, text: bytes) -> None:
    port = world.proxy(world.gate("one.example.com"))
    told = ask(port, b"\x05\x02\x00\x02", b"\x05\x01\x00" + host + struct.pack("!H", 443), GET)
    assert (told[:2], told[3], told.endswith(text)) == (b"\x05\x00", code, True)


@pytest.mark.parametrize("command", [2, 3, 9])
def test_socks_neither_listens_nor_sends_datagrams(world: World, command: int) -> None:
    port = world.proxy(world.gate("one.example.com"))
    told = ask(port, b"\x05\x01\x00", bytes([5, command, 0]) + b"\x03\x0fone.example.com\x01\xbb")
    assert (told[3], world.internet.looked_up) == (7, [])


def test_socks_with_a_password_only_is_refused(world: World) -> None:
    assert ask(world.proxy(world.gate("one.example.com")), b"\x05\x01\x02") == b"\x05\xff"


def test_what_is_refused_is_told_with_the_reason(world: World) -> None:
    port = world.proxy(world.gate("one.example.com"))
    for request in (CONNECT.replace(b"one.", b"other."), b"GET http://other.example.com/ HTTP/1.1\r\n\r\n"):
        told = ask(port, request)
        assert (status(told), b"sets network = " in told) == ("HTTP/1.1 403 Forbidden", True)
    assert world.internet.went_to == []


def test_a_server_that_is_down_is_told_as_such(world: World) -> None:
    gate = world.gate("127.0.0.1:1")
    gate._backend._route = None
    told = ask(world.proxy(gate), b"CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n")
    assert (status(told), b"Connection refused" in told) == ("HTTP/1.1 502 Bad Gateway", True)


@pytest.mark.parametrize(
    "request_",
    [
        b"GET / HTTP/1.1\r\nHost: one.example.com\r\n\r\n",
        b"GET https://one.example.com/ HTTP/1.1\r\n\r\n",
        b"GET ftp://one.example.com/ HTTP/1.1\r\n\r\n",
        b"GET http://one.example.com/ HTTP/1.1\r\nA: b\nHost: other.example.com\r\n\r\n",
        b"CONNECT user@one.example.com:443 HTTP/1.1\r\n\r\n",
        b"CONNECT one.example.com:443/@other.example.com HTTP/1.1\r\n\r\n",
        b"CONNECT one.example.com:99999 HTTP/1.1\r\n\r\n",
        b"GET http://one.example.com@127.0.0.1/ HTTP/1.1\r\n\r\n",
        b"\x04\x01\x00\x50\x7f\x00\x00\x01\x00",
        b"GET  http://one.example.com/ HTTP/1.1\r\n\r\n",
        b"A" * 70_000,
        b"\xff\xfe\r\n\r\n",
        b"",
    ],
)
def test_what_is_no_request_reaches_nothing(world: World, request_: bytes) -> None:
    told = ask(world.proxy(world.gate("one.example.com")), request_)
    assert status(told) in ("", "HTTP/1.1 400 Bad Request", "HTTP/1.1 403 Forbidden")
    assert world.internet.went_to == []


def test_much_goes_both_ways_at_once(world: World) -> None:
    """Neither side reads before it has sent all: nothing waits for the other way."""
    size = 8_000_000
    with socket.create_server(("127.0.0.1", 0)) as echo:

        def answer() -> None:
            connection, _ = echo.accept()
            with connection:
                sending = threading.Thread(target=connection.sendall, args=(b"y" * size,))
                sending.start()
                got = 0
                while piece := connection.recv(1 << 20):
                    got += len(piece)
                sending.join()
                connection.sendall(str(got).encode())

        thread = threading.Thread(target=answer)
        thread.start()
        gate = world.gate(f"127.0.0.1:{echo.getsockname()[1]}")
        gate._backend._route = None
        place = f"127.0.0.1:{echo.getsockname()[1]}"
        told = ask(world.proxy(gate, f"http://{place}/"), b"x" * size)
        thread.join()
    assert (len(told), told[size:]) == (size + len(str(size)), str(size).encode())


def test_the_end_of_the_proxy_ends_its_connections(world: World) -> None:
    gate = world.gate("one.example.com")
    port = world.proxy(gate)
    with socket.create_connection(("127.0.0.1", port), timeout=50) as client:
        client.sendall(CONNECT)
        client.recv(1000)
        world._stack.close()
        assert client.recv(1000) == b""
    with pytest.raises(ConnectionRefusedError):
        ask(port, CONNECT)


def test_connections_over_the_limit_wait(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolroll.host.network.proxy._MOST", 2)
    port = world.proxy(world.gate("one.example.com"))
    held = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(2)]
    for one in held:
        one.sendall(CONNECT)
        one.recv(1000)
    with socket.create_connection(("127.0.0.1", port), timeout=0.2) as third:
        third.sendall(CONNECT)
        with pytest.raises(TimeoutError):
            third.recv(1000)
        third.settimeout(10)
        held[0].close()
        assert third.recv(1000).startswith(b"HTTP/1.1 200")
    held[1].close()
