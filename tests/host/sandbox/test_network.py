"""The network of a group of commands: they reach each other in it and nobody else, and nobody else enters it."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.launchers import LAUNCHER
from toolroll.host.approval.guard import Guard
from toolroll.host.approval.secret_access import SecretAccess
from toolroll.host.files.root import Root
from toolroll.host.files.spill import Spill
from toolroll.host.runtime.launcher import AccessRules, Sandbox
from toolroll.host.runtime.state import State
from toolroll.host.sandbox.git.guard import GitGuard
from toolroll.host.sandbox.network import Network, enter_network
from toolroll.host.sandbox.syscalls import Kernel
from toolroll.host.shell.command_launcher import CommandLauncher
from toolroll.policy.limits import Limits
from toolroll.policy.rules import Policy
from toolroll.result import ToolError

Run = Callable[..., tuple[int, str]]

PATH = "/usr/local/bin:/usr/bin:/bin"
PYTHON = "/usr/bin/python3"
WHERE = "readlink /proc/self/ns/net"
SERVER = """
import socket
server = socket.create_server(("127.0.0.1", 0))
abstract = socket.socket(socket.AF_UNIX)
abstract.bind("\\0" + str(server.getsockname()[1]))
abstract.listen()
print(server.getsockname()[1], flush=True)
while True:
    server.accept()
"""
CLIENT = """
import socket, sys
for family, address in ((socket.AF_INET, ("127.0.0.1", int(sys.argv[1]))), (socket.AF_UNIX, "\\0" + sys.argv[1])):
    try:
        socket.socket(family).connect(address)
        print("reached")
    except OSError as error:
        print(error.strerror)
"""
REACHED, REFUSED = (0, "reached\n" * 2), (0, "Connection refused\n" * 2)

pytestmark = pytest.mark.skipif(not os.path.exists(PYTHON), reason="no Python of the system's own")


@pytest.fixture(params=["root", "user"])
def group(bubblewrap: Sandbox, kernel: Kernel, request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """A network that is made by root, and one that is made as a user makes it."""
    if request.param == "root" and os.geteuid() != 0:
        pytest.skip("needs root")
    found = as_user(bubblewrap, kernel) if request.param == "user" else bubblewrap.group()
    yield found
    found.close()


def as_user(bubblewrap: Sandbox, kernel: Kernel) -> Sandbox:
    found = bubblewrap.group()
    found._kernel = Kernel({**kernel._numbers, "unshare": 9999})  # type: ignore[attr-defined]
    return found


def here() -> str:
    return os.readlink("/proc/thread-self/ns/net")


def networks_held() -> int:
    links = (f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd"))
    return sum(os.readlink(link).startswith("net:") for link in links if os.path.lexists(link))


@contextmanager
def serving(sandbox: Sandbox, ws: Path) -> Iterator[str]:
    """The port of a server in the sandbox, which listens under that name too."""
    fd = os.open(ws, os.O_RDONLY)
    process = sandbox.spawn(
        AccessRules((str(ws),)),
        [PYTHON, "-c", SERVER],
        cwd=fd,
        env={"PATH": PATH},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    os.close(fd)
    with process:
        assert process.stdout is not None
        yield process.stdout.readline().decode().strip()
        process.kill()


def test_a_group_has_one_network_and_each_other_command_its_own(run: Run, group: Sandbox, bubblewrap: Sandbox) -> None:
    other = bubblewrap.group()
    seen = [run(one, WHERE)[1].strip() for one in (group, group, other, bubblewrap)]
    other.close()
    assert (seen[0] == seen[1], len({*seen, here()})) == (True, 4)


def test_there_is_nothing_but_a_loopback_in_it(run: Run, group: Sandbox) -> None:
    assert run(group, "tail -n +3 /proc/net/dev | cut -d: -f1; tail -n +2 /proc/net/route") == (0, "    lo\n")


def test_who_reaches_a_server_of_the_group(run: Run, group: Sandbox, bubblewrap: Sandbox, ws: Path) -> None:
    other = bubblewrap.group()
    with serving(group, ws) as port:
        found = [run(one, [PYTHON, "-c", CLIENT, port]) for one in (group, other, bubblewrap)]
        ours = subprocess.run([PYTHON, "-c", CLIENT, port], capture_output=True, check=True).stdout.decode()
    other.close()
    assert (found, ours) == ([REACHED, REFUSED, REFUSED], REFUSED[1])


def test_no_server_outside_is_reached(run: Run, group: Sandbox, plain: Sandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as abstract:
        port = str(server.getsockname()[1])
        abstract.bind("\0" + port)
        abstract.listen()
        assert run(group, [PYTHON, "-c", CLIENT, port]) == REFUSED
        assert run(plain, [PYTHON, "-c", CLIENT, port]) == REACHED


UNIX = """
import socket, sys
for name in ("\\0" + sys.argv[1], "own.sock", sys.argv[2]):
    for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM):
        try:
            socket.socket(socket.AF_UNIX, kind).connect(name)
            print(repr(name), kind)
        except OSError as error:
            if error.errno == 91:  # of the wrong kind: it would have been reached
                print(repr(name), kind)
"""


@pytest.mark.parametrize("network", [False, True])
def test_unix_sockets_of_ours_are_refused_with_and_without_a_network(
    run: Run, sandbox: Sandbox, plain: Sandbox, ws: Path, network: bool
) -> None:
    """The sockets of a daemon: one without a file, one in the workspace, one in the folder of the state."""
    with contextlib.ExitStack() as stack:
        state, name = tempfile.mkdtemp(dir="/tmp"), f"toolroll-{os.getpid()}"
        stack.callback(shutil.rmtree, state)
        stack.enter_context(contextlib.chdir(ws))
        for where in ("\0" + name, "own.sock", f"{state}/own.sock"):
            server = stack.enter_context(socket.socket(socket.AF_UNIX))
            server.bind(where)
            server.listen()
        shared = sandbox.group()
        stack.callback(shared.close)
        words = [PYTHON, "-c", UNIX, name, f"{state}/own.sock"]
        access = AccessRules((str(ws),), network=network)
        assert [run(one, words, access=access) for one in (sandbox, shared)] == [(0, "")] * 2
        assert run(plain, words)[1].count("\n") == 7  # the control; a name without a file is one for each kind


def test_the_network_is_ours_again_whatever_happens(run: Run, group: Sandbox, ws: Path) -> None:
    before = here()
    assert run(group, "true")[0] == 0
    held = networks_held()
    with pytest.raises(ToolError, match="Argument list too long"):
        run(group, ["true", "x" * 200_000])
    with pytest.raises(ToolError, match="is gone"):
        run(group, "true", access=AccessRules((str(ws), str(ws / "gone"))))
    assert (here(), networks_held()) == (before, held)


def test_after_its_end_each_command_has_its_own(run: Run, group: Sandbox) -> None:
    held = networks_held()
    first = run(group, WHERE)[1]
    group.close()
    seen = {first, *(run(group, WHERE)[1] for _ in range(2)), here()}
    assert (len(seen), networks_held()) == (4, held)


def test_with_the_network_it_is_ours(run: Run, group: Sandbox, ws: Path) -> None:
    assert run(group, WHERE, access=AccessRules((str(ws),), network=True)) == (0, here() + "\n")


def test_a_command_gets_no_descriptor_of_a_network(run: Run, group: Sandbox) -> None:
    """By one it could go back to ours, had it the right."""
    assert run(group, "ls -l /proc/self/fd | grep -c net:") == (1, "0\n")


def test_where_none_can_be_made_each_command_has_its_own(
    run: Run, bubblewrap: Sandbox, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolroll.host.sandbox.network._ENTER", ("/nowhere/nsenter",))
    other = as_user(bubblewrap, kernel)
    seen = {run(other, WHERE)[1] for _ in range(2)}
    other.close()
    assert len({*seen, here() + "\n"}) == 3


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_command_that_cannot_enter_it_is_not_started(run: Run, bubblewrap: Sandbox, kernel: Kernel, ws: Path) -> None:
    group = bubblewrap.group()
    assert run(group, "true")[0] == 0
    group._kernel = Kernel({**kernel._numbers, "setns": 9999})  # type: ignore[attr-defined]
    with pytest.raises(ToolError, match="not started, because it could not be confined: setns: Function not"):
        run(group, "echo x > made")
    group.close()
    assert not (ws / "made").exists()


def test_when_the_holder_of_a_users_network_is_gone_each_command_has_its_own(
    run: Run, bubblewrap: Sandbox, kernel: Kernel
) -> None:
    group = as_user(bubblewrap, kernel)
    first = run(group, WHERE)[1]
    group._network._helper.kill()  # type: ignore[attr-defined]
    group._network._helper.wait()  # type: ignore[attr-defined]
    seen = {first, *(run(group, WHERE)[1] for _ in range(2)), here() + "\n"}
    group.close()
    assert len(seen) == 4


def test_a_socket_of_ours_in_it_is_reached_by_its_commands_alone(run: Run, group: Sandbox, bubblewrap: Sandbox) -> None:
    server = group.make_socket(socket.AF_INET)
    assert server is not None
    with server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        script = f"exec 3<>/dev/tcp/127.0.0.1/{server.getsockname()[1]}"
        seen = [run(one, ["bash", "-c", script])[0] for one in (group, bubblewrap)]
    assert (seen, bubblewrap.make_socket(socket.AF_INET)) == ([0, 1], None)
    group.close()
    assert group.make_socket(socket.AF_INET) is None


def test_a_closed_network_is_not_entered(kernel: Kernel) -> None:
    try:
        network = Network(kernel)
    except OSError as error:
        pytest.skip(f"no network can be made here: {error.strerror}")
    before, fd = here(), network.open()
    assert fd is not None
    network.close()
    network.close()
    inside, beside = [], []
    with enter_network(kernel, fd):
        inside.append(here())
        thread = threading.Thread(target=lambda: beside.append(here()))  # born here, so it is in there too
        thread.start()
        thread.join()
    os.close(fd)
    assert (network.open(), inside == beside != [before], here()) == (None, True, before)


def test_a_program_of_ours_is_not_in_the_network_of_commands(group: Sandbox, ws: Path, tmp_path: Path) -> None:
    state = State(str(tmp_path / "state"))
    root = Root(str(ws))
    guard = GitGuard(root, state)
    asks = Guard(Policy(sandbox="bubblewrap"), "code")
    secrets = SecretAccess(asks, root.folders)
    launcher = CommandLauncher(root, Spill(state), asks, Limits(), {"PATH": PATH}, guard, LAUNCHER, secrets)
    seen = []
    for _ in range(2):
        running = launcher.start(["readlink", "/proc/self/ns/net"], cwd=".", seconds=60).running
        running.wait()
        seen.append(running.output.read(0, 100).decode())
    with launcher.serve(["readlink", "/proc/self/ns/net"], root.fd, {"PATH": PATH}) as process:
        seen.append(process.communicate()[0].decode())
    held = networks_held()
    launcher.close()
    assert (seen[0] == seen[1], len({*seen, here() + "\n"}), networks_held()) == (True, 3, held - (os.geteuid() == 0))
    root.close()
    state.close()


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare of util-linux")
def test_root_of_a_container_in_the_network_of_its_host_has_commands(ws: Path, tmp_path: Path) -> None:
    if subprocess.run(["unshare", "-Ur", "true"], check=False).returncode != 0:
        pytest.skip("there are no user namespaces")
    words = ["unshare", "-Ur", sys.executable, "-m", "toolroll", "call", "bash", "command=echo ran"]
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
    done = subprocess.run(words, cwd=ws, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "ran\n"), done.stderr
