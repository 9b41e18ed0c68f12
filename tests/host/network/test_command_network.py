"""The network of commands, through a kit: what they reach by name, and that nothing else leaves."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.host.http.web import AUTHORITY, Server, redirect, reply
from tests.host.network.file_server import put_wheel, serve_files
from toolroll import Kit, Policy
from toolroll.host.approval.guard import Guard
from toolroll.host.network.command_network import CommandNetwork
from toolroll.host.runtime.launcher import Sandbox
from toolroll.host.sandbox.keeper import why_no_sockets
from toolroll.host.sandbox.network import Network
from toolroll.policy.rules import Environment

Open = Callable[..., Kit]

with_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here")
_GET = """
import sys, urllib.request
failed = 0
for url in sys.argv[1:]:
    try:
        urllib.request.urlopen(url, timeout=50)
    except OSError:
        failed = 1
sys.exit(failed)
"""
GET = f"no_proxy= NO_PROXY= /usr/bin/python3 -c {shlex.quote(_GET)}"


@pytest.fixture
def served() -> Iterator[Server]:
    with Server(lambda asked: reply(f"{asked.method} {asked.path}")) as server:
        yield server


@pytest.fixture(params=["root", "user"])
def as_root_and_user(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A network that root makes, and one as a user makes it."""
    if request.param == "root" and os.geteuid() != 0:
        pytest.skip("needs root")
    if request.param == "user":
        monkeypatch.setattr(Network, "__init__", lambda *_: (_ for _ in ()).throw(PermissionError))
    return str(request.param)


def skip_without_sockets(tier: str) -> None:
    if tier == "landlock" and (why := why_no_sockets()):
        pytest.skip(f"no sockets for commands here: {why}")


@pytest.fixture
def open_kit(ws: Path, tmp_path: Path, confined: Any) -> Iterator[Open]:
    """Kits in each tier, whose commands are judged by no ban list."""
    skip_without_sockets(confined)
    with ExitStack() as stack:

        def start(network: str, approve: Any = None, **policy: Any) -> Kit:
            how = Policy(network=network, sandbox=confined, commands="plain", **policy)
            return stack.enter_context(Kit(ws, policy=how, approve=approve, state_dir=tmp_path / "state"))

        yield start


def bash(kit: Kit, command: str) -> str:
    return kit.call("bash", {"command": command}).text


@with_curl
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
    told = bash(kit, f"{GET} https://one.example.com/ https://two.example.com:8443/ | cat")
    assert told == (
        "(no output)\nCommands may not reach one.example.com, two.example.com:8443. To allow it, the user sets "
        f'network = "{served.host},one.example.com,two.example.com:8443" in toolroll.toml, or gives it as --network.'
    )
    failed = bash(
        kit,
        f"echo \"HTTPSConnectionPool(host='one.example.com', port=443): Max retries\"; {GET} https://one.example.com/",
    )
    assert (failed.count("one.example.com"), failed.count("To allow it")) == (3, 1)
    assert "Commands may not" not in bash(kit, "true")


def test_a_command_is_not_told_what_a_job_was_refused(open_kit: Open, served: Server, confined: str) -> None:
    kit = open_kit(served.host)
    wait = "until [ -e {} ]; do sleep 0.02; done"
    job = f"{wait.format('begun')}; {GET} https://job.example.com/; touch over"
    number = kit.call("bash", {"command": job, "background": True}).data["job"]
    own = bash(kit, f"touch begun; {GET} https://own.example.com/; {wait.format('over')}")
    other = kit.call("job", {"action": "output", "id": number, "wait": 10}).text
    hosts = [
        set(re.findall(r"\w+.example.com", re.findall(r"may not reach (.*)\. To", one)[0])) for one in (own, other)
    ]
    assert hosts == [{"own.example.com"}, {"job.example.com"}]


@with_curl
def test_an_answer_once_is_for_the_command_that_asked(open_kit: Open, served: Server) -> None:
    """A job that ran already, and a command that runs later, are asked about on their own."""
    asked = []
    kit = open_kit(
        served.host, lambda request: (asked.append(request.arguments), "once")[1], hosts=(f"localhost:{served.port}",)
    )
    url = f"http://localhost:{served.port}"
    get = f"curl -s --noproxy '' -o /dev/null -w '%{{http_code}} ' {url}"
    wait = "until [ -e {} ]; do sleep 0.02; done"
    job = kit.call("bash", {"command": f"{wait.format('begun')}; {get}; {get}; touch over", "background": True})
    assert bash(kit, f"{get}; {get}; touch begun; {wait.format('over')}; {get}") == "200 200 200 "
    assert len(asked) == 2, asked
    bash(kit, get)
    assert (len(asked), "200 200" in kit.call("job", {"action": "output", "id": job.data["job"]}).text) == (3, True)


@with_curl
def test_another_program_is_no_client_of_the_proxy(open_kit: Open, served: Server, confined: str) -> None:
    if confined != "landlock":
        pytest.skip("commands have a network of their own")
    asked: list[Any] = []
    kit = open_kit(served.host, asked.append)
    proxy = bash(kit, "echo $http_proxy").strip().rpartition(":")[2]
    bash(kit, f"curl -s http://{served.host}/; true")
    with socket.create_connection(("127.0.0.1", int(proxy)), timeout=20) as other:
        other.sendall(b"CONNECT other.example.com:443 HTTP/1.1\r\n\r\n")
        with contextlib.suppress(ConnectionResetError):
            assert other.recv(100) == b""
    assert asked == []


def test_a_new_host_is_asked_about(open_kit: Open, served: Server) -> None:
    asked = []
    kit = open_kit(served.host, lambda request: bool(asked.append(request.arguments)))
    bash(kit, f"{GET} https://one.example.com/; {GET} https://one.example.com/")
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
        through = bash(kit, f"{GET} http://127.0.0.1:{port}/ http://[::1]:{port}/ http://0/")
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


_DIRECT = f"/usr/bin/env -i /usr/bin/python3 -c {shlex.quote(_GET)}"


def test_programs_that_know_no_proxy_find_named_hosts_by_a_name_server(
    ws: Path, tmp_path: Path, served: Server, as_root_and_user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolroll.host.network.gate.look_up", lambda *_: ["127.0.0.1"])
    names = (f"app.example.com:{served.port}", f"*.app.example.com:{served.port}")
    policy = Policy(network=names, hosts=(*names, f"b.app.example.com:{served.port}"), sandbox="bubblewrap")
    with Kit(ws, policy=policy, state_dir=tmp_path / "state") as kit:
        for host in ("app", "APP", "b.app"):
            assert bash(kit, f"{_DIRECT} http://{host}.example.com:{served.port}/x") == "(no output)"
        assert [one.headers["host"] for one in served.asked] == [
            f"{host}.example.com:{served.port}" for host in ("app", "APP", "b.app")
        ]
        told = bash(kit, f"{_DIRECT} http://other.example.org/")
        assert told.startswith("Exit code: 1\nCommands may not reach other.example.org. To allow it, the user sets ")
        assert bash(kit, "cat /etc/resolv.conf") == "nameserver 127.0.0.1"
        assert "Commands may not" not in bash(kit, f"{_DIRECT} http://nodots/")


def test_a_host_that_does_not_answer_is_named(open_kit: Open) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    told = bash(open_kit(f"127.0.0.1:{port}"), f"{GET} http://127.0.0.1:{port}/")
    assert told.endswith(f"127.0.0.1:{port} does not answer: Connection refused."), told


def test_a_name_that_leads_to_a_private_address_is_refused(open_kit: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolroll.host.network.gate.look_up", lambda *_: ["192.168.1.1"])
    told = bash(open_kit("inside.example.com"), f"{GET} https://inside.example.com/")
    assert told.endswith(
        "'inside.example.com' was not reached, because 'inside.example.com' is not at a public address."
    )


def test_a_port_that_is_in_use_is_not_served_and_the_rest_is(
    ws: Path, tmp_path: Path, served: Server, bubblewrap: Sandbox
) -> None:
    """The name server's port and a named one, taken by somebody else in the network of the commands."""
    with ExitStack() as stack:
        group = bubblewrap.group()
        stack.callback(group.close)
        for kind, port in ((False, 8080), (True, 53)):
            taken = group.make_socket(socket.AF_INET, datagrams=kind)
            assert taken is not None
            stack.enter_context(taken).bind(("127.0.0.1", port))
        network = CommandNetwork(Guard(Policy(network=f"127.0.0.1:8080,{served.host}"), "code"), {}, [str(ws)])
        stack.callback(network.close)
        assert "http_proxy" in network.open(lambda: group, str(tmp_path))
        dialled = group.dial("127.0.0.1", served.port)
        assert dialled is not None
        dialled.close()


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
    assert served.asked == []
    bash(kit, f"{GET} http://{served.host}/")
    assert len(served.asked) == 1
    kit.close()
    assert {one.name for one in threading.enumerate()} - threads - {"toolroll lookup"} == set()


@with_curl
def test_what_a_job_serves_is_reached_by_fetch_and_curl_and_a_page_elsewhere_leads_nowhere(
    ws: Path, tmp_path: Path, confined: Any
) -> None:
    skip_without_sockets(confined)
    (ws / "index.html").write_text("<h1>Served</h1>")
    (ws / "serve.py").write_text(
        "import http.server\n"
        "server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)\n"
        "print(server.server_port, flush=True)\nserver.serve_forever()\n"
    )
    with Server(lambda _: redirect(f"http://localhost:{port}/")) as elsewhere, Server(reply("private")) as private:
        policy = Policy(sandbox=confined, hosts=(elsewhere.host,))
        with Kit(ws, policy=policy, state_dir=tmp_path / "state") as kit:
            before = kit.call("fetch", {"url": "http://localhost:8000/"})
            job = kit.call("bash", {"command": "/usr/bin/python3 serve.py", "background": True}).data["job"]
            port = 0
            while not port:
                told = kit.call("job", {"action": "output", "id": job}).data["output"]
                port = int(told.split()[0]) if told.split() else 0
            url = f"http://localhost:{port}/"
            assert "# Served" in kit.call("fetch", {"url": url}).text
            assert bash(kit, f"curl -s {url}") == "<h1>Served</h1>"
            other = kit.call("fetch", {"url": f"http://localhost:{private.port}/"})
            led = kit.call("fetch", {"url": elsewhere.url()})
            out = kit.call("bash", {"command": "curl -s http://example.org/"})
    codes = [one.error.code for one in (before, other, led, out) if one.error]
    assert (codes, private.asked) == (["SecurityError"] * 4, [])


@pytest.fixture
def files(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder, and the host that serves it."""
    folder = tmp_path / "files"
    folder.mkdir()
    with serve_files(folder) as port:
        yield folder, f"127.0.0.1:{port}"


def test_git_clones_and_pushes(open_kit: Open, files: tuple[Path, str], ws: Path) -> None:
    folder, host = files
    for command in ("init -q --bare -b main one.git", "-C one.git config http.receivepack true"):
        subprocess.run(["git", *command.split()], cwd=folder, check=True)
    kit = open_kit(host)
    me = "-c user.name=A -c user.email=a@b.c"
    told = bash(
        kit,
        f"git clone -q http://{host}/one.git && cd one && echo x > a && git add a && git {me} commit -qm First"
        " && git push -q origin HEAD:main && git fetch -q && git rev-parse HEAD",
    )
    seen = subprocess.run(
        ["git", "rev-parse", "main"], cwd=folder / "one.git", capture_output=True, text=True, check=True
    )
    assert (len(seen.stdout), seen.stdout.strip() in told.splitlines()) == (41, True), told


_KIT = """
import sys
from toolroll import Kit, Policy
from toolroll.host.network import gate

gate.look_up = lambda *_: ["127.0.0.1"]
with Kit(sys.argv[1], policy=Policy(network="packages", sandbox="bubblewrap", hosts=(sys.argv[2],))) as kit:
    print(kit.call("bash", {"command": sys.argv[3]}).text)
"""


def test_pip_installs_from_the_configured_registry_with_its_credential(ws: Path, tmp_path: Path) -> None:
    """With `packages`: the index and the login are in a file of the user that commands cannot read."""
    home = tmp_path / "home"
    (home / ".config/pip").mkdir(parents=True)
    put_wheel(tmp_path / "files")
    with serve_files(tmp_path / "files", "Basic bWU6czNjcmV0", tls=True) as port:
        host = f"secure.example.com:{port}"
        (home / ".config/pip/pip.conf").write_text(f"[global]\nindex-url = https://me:s3cret@{host}/simple\n")
        install = f"env | grep s3cret; {sys.executable} -m pip install -q --no-compile --no-deps --disable-pip-version-check --target lib tiny && PYTHONPATH=lib {sys.executable} -m tiny"
        names = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_"))}
        env = {**names, "HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "SSL_CERT_FILE": AUTHORITY}
        command = [sys.executable, "-c", _KIT, str(ws), host, install]
        ran = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert ("installed" in ran.stdout.splitlines(), "s3cret" in ran.stdout) == (True, False), ran.stdout + ran.stderr


@pytest.mark.skipif(shutil.which("npm") is None, reason="no npm here")
def test_npm_installs(open_kit: Open, files: tuple[Path, str], ws: Path) -> None:
    folder, host = files
    package = b'{"name": "tiny", "version": "1.0.0", "main": "index.js"}'
    with tarfile.open(folder / "tiny.tgz", "w:gz") as made:
        for name, text in (("package.json", package), ("index.js", b"module.exports = 'installed'\n")):
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = len(text)
            made.addfile(entry, io.BytesIO(text))
    about = {"name": "tiny", "version": "1.0.0", "dist": {"tarball": f"http://{host}/tiny.tgz"}}
    (folder / "tiny").write_text(
        json.dumps({"name": "tiny", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": about}})
    )
    (ws / "package.json").write_text("{}")
    kit = open_kit(host)
    told = bash(kit, f"npm install --registry=http://{host}/ --no-audit tiny && node -p 'require(\"tiny\")'")
    assert "installed" in told.splitlines(), told
