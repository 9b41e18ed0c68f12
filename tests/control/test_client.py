"""The client of control sockets: which processes there are, and what it says of one that is gone."""

import os

import pytest

from toolroll import Kit
from toolroll.control.client import ControlClient, find_processes
from toolroll.control.server import ControlServer
from toolroll.host.runtime import user_sockets


def test_a_process_says_who_it_is(kit: Kit, server: ControlServer) -> None:
    [said] = find_processes(kit.workspace)
    assert (said["pid"], said["kind"], said["client"]) == (os.getpid(), "mcp", "tester")
    assert (said["workspace"], said["session"], said["dialect"]) == (kit.workspace, kit.session, "native")
    assert said["id"] == server.hands.id
    assert find_processes("/elsewhere") == []


def test_a_process_that_is_gone(server: ControlServer, client: ControlClient) -> None:
    client.request("subscribe")
    server.close()
    assert list(client.events()) == []
    with pytest.raises(OSError, match=r"has ended|Broken pipe"):
        client.request("hello")
    with pytest.raises(OSError, match="No such file"):
        ControlClient(server.hands.id)


def test_a_stale_socket_is_passed_over(server: ControlServer) -> None:
    user_sockets.listen("control-1-stale").close()
    assert [one["id"] for one in find_processes()] == [server.hands.id]
    assert user_sockets.sockets() == [server.hands.id]
