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
from toolroll.host.network import peers
from toolroll.host.network.peers import TcpPeers
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


def refusal_of_next(server: socket.socket, peers: TcpPeers) -> str:
    connection, client = server.accept()
    with connection:
        why = peers.refusal(client, connection.getsockname())
        connection.setblocking(False)
        with pytest.raises(BlockingIOError):  # the client is still there
            connection.recv(1)
        return why


def test_processes_of_the_user_may(server):
    peers = TcpPeers()
    for _ in range(2):
        with socket.create_connection(("127.0.0.1", port_of(server))):
            assert refusal_of_next(server, peers) == ""
    for code in (CONNECT, HIDDEN):
        with child(server, code):
            assert refusal_of_next(server, peers) == ""


def test_a_client_through_the_other_family_is_found(server):
    if not socket.has_dualstack_ipv6():
        pytest.skip("no IPv6 here")
    with socket.socket(socket.AF_INET6) as client:
        client.connect(("::ffff:127.0.0.1", port_of(server)))
        assert refusal_of_next(server, TcpPeers()) == ""


def test_a_connection_that_is_closed_belongs_to_no_process(server):
    own = ("127.0.0.1", port_of(server))
    with socket.create_connection(own) as client:
        end = client.getsockname()
    for client_end in (end, ("127.0.0.1", 1), None):
        assert TcpPeers().refusal(client_end, own) == "The process that connects cannot be found."
    assert TcpPeers(others=True).refusal(end, own) != ""
    assert TcpPeers(others=True).refusal(("192.0.2.1", 80), ("192.0.2.2", 80)) == ""


def test_a_server_at_the_port_of_a_client_is_not_the_client(server):
    with socket.create_server(("127.0.0.1", 0)) as other:
        assert TcpPeers().refusal(other.getsockname(), server.getsockname()) != ""


@pytest.mark.parametrize(("family", "address"), [(socket.AF_INET, "127.0.0.2"), (socket.AF_INET6, "::ffff:127.0.0.2")])
def test_another_user_does_not_pass_with_the_port_of_a_client(server, family, address):
    """Each end counts as a whole: the address, not the port alone."""
    need_another_user()
    with socket.create_connection(("127.0.0.1", port_of(server))) as page:
        peers, port = TcpPeers(), page.getsockname()[1]
        assert refusal_of_next(server, peers) == ""
        bind = f"s = socket.socket({int(family)}); s.bind(({address!r}, {port}))"
        code = f"import os, socket, sys; os.setuid(65534); {bind}; s.connect(({address[:-1] + '1'!r}, int(sys.argv[1]))); s.recv(1)"
        with child(server, code):
            assert "is of user 65534" in refusal_of_next(server, peers)


def test_another_user_may_not_unless_the_server_is_for_others(server):
    need_another_user()
    for others in (False, True):
        with child(server, f"import os, socket; os.setuid(65534)\n{CONNECT}"):
            assert ("is of user 65534" in refusal_of_next(server, TcpPeers(others=others))) != others


def test_root_may_use_the_server_of_another_user(server):
    """A service of the system that forwards ports is root's, and what it runs as cannot be seen."""
    need_another_user()
    with socket.create_connection(("127.0.0.1", port_of(server))) as client:

        def check() -> None:
            os.setuid(65534)
            own = ("127.0.0.1", port_of(server))
            assert TcpPeers().refusal(client.getsockname(), own) == ""
            with socket.create_connection(own) as other:
                end = other.getsockname()
            assert TcpPeers().refusal(end, own) != ""  # closed, it looks like a socket of root

        assert works_in_a_child(check)


def test_a_command_of_a_tool_may_not(server, open_kit):
    """Without a sandbox: in one it does not reach the port, or has no token."""
    kit = open_kit(policy=Policy(sandbox="none", network=True, commands="plain"))
    python = f"setsid -w env -i {shlex.quote(sys.executable)} -S -c {shlex.quote(HIDDEN)} {port_of(server)}"
    for others in (False, True):
        job = kit.call("bash", {"command": python, "background": True})
        assert job.error is None, job.text
        assert "command of a tool" in refusal_of_next(server, TcpPeers(others=others))


def test_a_socket_that_is_closed_while_its_process_is_looked_for_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a process of this user hides what it has open: it is not taken for the one that connected."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        accepted, _ = server.accept()

        def hide(_pid: int, _inode: int) -> bool:
            client.close()
            raise PermissionError

        monkeypatch.setattr(peers, "holds_socket", hide)
        with accepted:
            refusal = TcpPeers().refusal(accepted.getpeername(), accepted.getsockname())
    assert "cannot be seen: it has ended" in refusal
