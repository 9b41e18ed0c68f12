"""Which process is at the other end of a connection: of this user, of a command, gone."""

import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.users import need_another_user
from toolroll import Policy
from toolroll.host.network.tcp_clients import TcpClients
from toolroll.host.runtime.launcher import works_in_a_child

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says which process has connected")
CONNECT = "import socket, sys; s = socket.socket(); s.connect(('127.0.0.1', int(sys.argv[1]))); s.recv(1)"
HIDDEN = f"import ctypes; ctypes.CDLL(None).prctl(4, 0)\n{CONNECT}"  # PR_SET_DUMPABLE


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(20)
        yield listening


def port_of(server: socket.socket) -> int:
    return int(server.getsockname()[1])


@contextmanager
def child(server: socket.socket, code: str) -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-S", "-c", code, str(port_of(server))])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def check_next(server: socket.socket, clients: TcpClients) -> bool:
    connection, (_, port) = server.accept()
    with connection:
        may = clients.may_use(port)
        connection.setblocking(False)
        with pytest.raises(BlockingIOError):  # the client is still there
            connection.recv(1)
        return may


def test_processes_of_the_user_may(server):
    clients = TcpClients(port_of(server))
    for _ in range(2):
        with socket.create_connection(("127.0.0.1", port_of(server))):
            assert check_next(server, clients)
    for code in (CONNECT, HIDDEN):
        with child(server, code):
            assert check_next(server, clients)


def test_a_client_through_the_other_family_is_found(server):
    if not socket.has_dualstack_ipv6():
        pytest.skip("no IPv6 here")
    with socket.socket(socket.AF_INET6) as client:
        client.connect(("::ffff:127.0.0.1", port_of(server)))
        assert check_next(server, TcpClients(port_of(server)))


def test_a_connection_that_is_closed_belongs_to_nobody(server):
    with socket.create_connection(("127.0.0.1", port_of(server))) as client:
        port = client.getsockname()[1]
    assert not TcpClients(port_of(server)).may_use(port)
    assert not TcpClients(port_of(server)).may_use(1)


def test_another_user_may_not(server):
    need_another_user()
    with child(server, f"import os, socket; os.setuid(65534)\n{CONNECT}"):
        assert not check_next(server, TcpClients(port_of(server)))


def test_root_may_use_the_server_of_another_user(server):
    """A service of the system that forwards ports is root's, and what it runs as cannot be seen."""
    need_another_user()
    with socket.create_connection(("127.0.0.1", port_of(server))) as client:

        def check() -> None:
            os.setuid(65534)
            assert TcpClients(port_of(server)).may_use(client.getsockname()[1])
            with socket.create_connection(("127.0.0.1", port_of(server))) as own:
                port = own.getsockname()[1]
            assert not TcpClients(port_of(server)).may_use(port)  # closed, it looks like one of root

        assert works_in_a_child(check)


def test_a_command_of_a_tool_may_not(server, open_kit):
    """Without a sandbox: in one it does not reach the port, or has no token."""
    kit = open_kit(policy=Policy(sandbox="none", network=True, commands="plain"))
    python = f"setsid -w env -i {shlex.quote(sys.executable)} -S -c {shlex.quote(HIDDEN)} {port_of(server)}"
    job = kit.call("bash", {"command": python, "background": True})
    assert job.error is None, job.text
    assert not check_next(server, TcpClients(port_of(server)))
