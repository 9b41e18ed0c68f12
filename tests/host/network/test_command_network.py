"""The network of commands, through a kit: what they reach by name, and that nothing else leaves."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.host.http.web import Server, reply
from toolroll import Kit, Policy
from toolroll.host.sandbox.keeper import why_no_sockets
from toolroll.policy.rules import Environment

Open = Callable[..., Kit]

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here")


@pytest.fixture
def served() -> Iterator[Server]:
    with Server(lambda asked: reply(f"{asked.method} {asked.path}")) as server:
        yield server


@pytest.fixture
def open_kit(ws: Path, tmp_path: Path, confined: Any) -> Iterator[Open]:
    """Kits in each tier, whose commands are judged by no ban list."""
    if confined == "landlock" and (why := why_no_sockets()):
        pytest.skip(f"no sockets for commands here: {why}")
    with ExitStack() as stack:

        def start(network: str, approve: Any = None, **policy: Any) -> Kit:
            how = Policy(network=network, sandbox=confined, commands="plain", **policy)
            return stack.enter_context(Kit(ws, policy=how, approve=approve, state_dir=tmp_path / "state"))

        yield start


def bash(kit: Kit, command: str) -> str:
    return kit.call("bash", {"command": command}).text


def test_a_named_host_is_reached_by_each_way(open_kit: Open, served: Server) -> None:
    kit = open_kit(f"{served.host},localhost:{served.port}")
    url = f"http://localhost:{served.port}"
    assert bash(kit, f"curl -s http://{served.host}/loopback") == "GET /loopback"
    assert bash(kit, f"curl -s --noproxy '' {url}/proxy") == "GET /proxy"
    assert bash(kit, f"curl -s --noproxy '' --proxytunnel {url}/tunnel") == "GET /tunnel"
    assert bash(kit, f"curl -s --noproxy '' -x socks5h://${{http_proxy#*//}} {url}/socks") == "GET /socks"
    assert served.asked[1].headers["host"] == f"localhost:{served.port}"


def test_another_host_is_refused_and_the_result_says_how_to_allow_it(open_kit: Open, served: Server) -> None:
    kit = open_kit(served.host)
    told = bash(kit, "curl -s https://one.example.com/ https://two.example.com:8443/ | cat")
    assert told == (
        "(no output)\nCommands may not reach one.example.com, two.example.com:8443. To allow it, the user sets "
        f'network = "{served.host},one.example.com,two.example.com:8443" in toolroll.toml, or gives it as --network.'
    )
    assert "Commands may not" not in bash(kit, "true")


def test_a_new_host_is_asked_about(open_kit: Open, served: Server) -> None:
    asked = []
    kit = open_kit(served.host, lambda request: bool(asked.append(request.arguments)))
    bash(kit, "curl -s https://one.example.com/; curl -s https://one.example.com/")
    assert asked == [{"host": "one.example.com"}]


_ATTEMPTS = """
import socket, struct, sys
port, plain = int(sys.argv[1]), sys.argv[2]
def tcp(family, *address):
    with socket.socket(family, socket.SOCK_STREAM) as one:
        one.settimeout(1)
        one.connect(address)
def udp(family, *address):
    with socket.socket(family, socket.SOCK_DGRAM) as one:
        one.sendto(b"out", address)
        one.settimeout(0.3)
        one.recv(10)
def unix(name):
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(name)
tries = {
    "host": lambda: tcp(socket.AF_INET, plain, port), "public": lambda: tcp(socket.AF_INET, "1.1.1.1", 443),
    "metadata": lambda: tcp(socket.AF_INET, "169.254.169.254", 80), "other port": lambda: tcp(socket.AF_INET, "127.0.0.1", port),
    "six": lambda: tcp(socket.AF_INET6, "2606:4700:4700::1111", 443), "loop six": lambda: tcp(socket.AF_INET6, "::1", port),
    "mapped": lambda: tcp(socket.AF_INET6, "::ffff:127.0.0.1", port),
    "udp": lambda: udp(socket.AF_INET, "127.0.0.1", port), "dns": lambda: udp(socket.AF_INET, "1.1.1.1", 53),
    "name": lambda: socket.getaddrinfo("example.com", 80), "abstract": lambda: unix(f"\\0toolroll-{port}"),
    "file": lambda: unix(sys.argv[3]), "raw": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).close(),
    "packet": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close(),
    "vsock": lambda: socket.socket(socket.AF_VSOCK).close(),
}
for name, one in tries.items():
    try:
        one()
    except OSError:
        continue
    print(name)
"""


def test_nothing_else_leaves(open_kit: Open, served: Server, ws: Path) -> None:
    """Raw addresses, other ports, datagrams, names, IPv6, sockets of programs outside; the host as a control."""
    with ExitStack() as stack:
        secret = stack.enter_context(socket.create_server(("0.0.0.0", 0)))
        port = secret.getsockname()[1]
        datagrams = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        datagrams.bind(("127.0.0.1", port))
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        abstract.bind(f"\0toolroll-{port}")
        abstract.listen()
        file = stack.enter_context(socket.socket(socket.AF_UNIX))
        file.bind(str(ws / "outside.sock"))
        file.listen()
        (ws / "attempts.py").write_text(_ATTEMPTS)
        kit = open_kit(served.host)
        run = f"/usr/bin/python3 attempts.py {port} {socket.gethostbyname(socket.gethostname())} outside.sock"
        told = bash(kit, run)
        assert told.splitlines()[:1] in ([], ["(no output)"]), told
        through = bash(
            kit, f"curl -s --noproxy '' --max-time 5 http://127.0.0.1:{port}/ http://[::1]:{port}/ http://0/"
        )
        assert (f"'127.0.0.1:{port}' was not reached" in through, f"'[::1]:{port}' was not reached" in through) == (
            True,
            True,
        )
        for one in (secret, datagrams, abstract, file):
            one.setblocking(False)
            with pytest.raises(BlockingIOError):
                one.recv(10) if one is datagrams else one.accept()
        control = subprocess.run(run.split(), cwd=ws, capture_output=True, text=True, check=True).stdout
        assert {"other port", "abstract", "file"} <= set(control.splitlines())


def test_without_names_there_is_no_proxy(open_kit: Open) -> None:
    assert bash(open_kit("off"), "env | grep -i '_proxy='") == "Exit code: 1"


def test_the_variables_of_the_user_come_first(open_kit: Open, served: Server) -> None:
    kit = open_kit(served.host, environment=Environment(set={"https_proxy": "http://own.example:1"}))
    assert bash(kit, "echo $https_proxy $NODE_USE_ENV_PROXY") == "http://own.example:1 1"


def test_package_managers_have_folders_to_write_to(open_kit: Open) -> None:
    kit = open_kit("off")
    names = "XDG_CACHE_HOME NPM_CONFIG_CACHE PIP_CACHE_DIR UV_CACHE_DIR GOCACHE"
    assert (
        bash(kit, f"for one in {names}; do mkdir -p ${{!one}} && touch ${{!one}}/x || echo $one; done") == "(no output)"
    )
    assert bash(kit, "echo ${CARGO_HOME##*/cache/}").endswith("cargo") is ("CARGO_HOME" in os.environ)


def test_git_over_ssh_names_the_way_that_works(open_kit: Open, served: Server) -> None:
    assert "use the https:// address" in bash(open_kit(served.host), "git ls-remote git@one.example.com:a/b")


def test_shared_memory_and_processes_work(open_kit: Open, ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "toolroll.host.sandbox.confined_start._is_unused", lambda _: True
    )  # by programs of this machine
    (ws / "pool.py").write_text(
        "from multiprocessing import Pool, shared_memory\n"
        "if __name__ == '__main__':\n"
        "    one = shared_memory.SharedMemory(create=True, size=8)\n"
        "    print(Pool(2).map(abs, [-1, -2]), one.size >= 8)\n"
        "    one.unlink()\n"
    )
    assert bash(open_kit("off"), "/usr/bin/python3 pool.py") == "[1, 2] True"


def test_nothing_is_left_when_the_kit_is_closed(open_kit: Open, served: Server) -> None:
    threads = {one.name for one in threading.enumerate()}
    kit = open_kit(served.host)
    bash(kit, f"curl -s http://{served.host}/")
    kit.close()
    assert {one.name for one in threading.enumerate()} - threads - {"toolroll lookup"} == set()
