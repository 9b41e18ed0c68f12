"""A kit, the control server of its process, and a client of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.waiting import until
from toolroll import Kit
from toolroll.control.client import ControlClient
from toolroll.control.server import ControlServer
from toolroll.host.runtime import user_sockets


@pytest.fixture
def kit(ws: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kit]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    with Kit(ws) as one:
        yield one


@pytest.fixture
def server(kit: Kit) -> Iterator[ControlServer]:
    one = ControlServer(kit, "mcp", client="tester")
    until(lambda: one.hands.id in user_sockets.sockets())
    yield one
    one.close()
    assert one.hands.id not in user_sockets.sockets()


@pytest.fixture
def client(server: ControlServer) -> Iterator[ControlClient]:
    with ControlClient(server.hands.id) as one:
        yield one
