"""Servers on the loopback, a gate whose names lead to them, and a proxy in front of it."""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.host.http.conftest import serve  # noqa: F401
from tests.host.http.web import Internet, Server, reply
from toolroll.host.approval.guard import Guard
from toolroll.host.network.gate import HostGate
from toolroll.host.network.proxy import ProxyServer
from toolroll.policy.rules import Policy

Serve = Callable[..., Server]


class World:
    """Two names with a server each, and all that commands may reach of them."""

    def __init__(self, start: Serve, stack: ExitStack) -> None:
        self.one, self.other = start(reply("one")), start(reply("other"))
        self.internet = Internet(one=self.one, other=self.other)
        self._stack = stack

    def gate(self, names: str, approve: Any = None, **policy: Any) -> HostGate:
        guard = Guard(Policy(network=names, **policy), "code", approve)
        assert isinstance(guard.policy.network, tuple)
        return HostGate(guard.policy.network, guard, resolve=self.internet.resolve, route=self.internet.route)

    def proxy(self, gate: HostGate, target: str = "") -> int:
        """The port of a proxy."""
        server = ProxyServer(socket.create_server(("127.0.0.1", 0)), gate, lambda _: 1, target)
        self._stack.callback(server.close)
        return server.port


@pytest.fixture
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with ExitStack() as stack:
        yield World(request.getfixturevalue("serve"), stack)
