"""Sockets of commands under Landlock: what they can serve and use, and every way out that we know."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.waiting import closed_again, descriptors, until
from toolroll.host.runtime.launcher import AccessRules, Sandbox, python_paths
from toolroll.host.sandbox import confined_start
from toolroll.host.sandbox.keeper import SocketKeeper, _CommandSockets, why_no_sockets
from toolroll.host.sandbox.loopback import Loopback
from toolroll.host.sandbox.syscalls import machine

Run = Callable[..., tuple[int, str]]
Popen = subprocess.Popen[bytes]
PYTHON = sys.executable

CALLS = """
import ctypes, errno, os, socket, struct, sys, threading, time
from socket import *

def tried(name, work):
    try:
        found = work()
        print(name, "done" if found is None or not isinstance(found, str) else found)
    except OSError as error:
        print(name, errno.errorcode[error.errno])
"""


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder with a short name: that of a socket may have no more than 107 characters."""
    with tempfile.TemporaryDirectory(prefix="s", dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture
def served(landlock: Sandbox) -> Sandbox:
    if why := why_no_sockets():
        pytest.skip(f"no sockets for commands here: {why}")
    return landlock.group()


@pytest.fixture
def go(run: Run, ws: Path) -> Callable[..., list[str]]:
    """Run Python in the workspace: the lines that it printed."""

    def go(sandbox: Sandbox, code: str, *words: object) -> list[str]:
        access = AccessRules((str(ws),), python_paths())
        status, said = run(sandbox, [PYTHON, "-Wignore", "-c", CALLS + code, *map(str, words)], access=access)
        assert status == 0, said
        return said.splitlines()

    return go


@pytest.fixture
def begin(ws: Path) -> Iterator[Callable[..., Popen]]:
    """Start Python in the workspace; its first line has been read."""
    made: list[Popen] = []

    def begin(sandbox: Sandbox, code: str, *words: object) -> Popen:
        cwd = os.open(ws, os.O_RDONLY)
        made.append(
            sandbox.spawn(
                AccessRules((str(ws),), python_paths()),
                [PYTHON, "-u", "-c", CALLS + code, *map(str, words)],
                cwd=cwd,
                env={"PATH": "/usr/bin:/bin", "TMPDIR": str(ws)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
        )
        os.close(cwd)
        return made[-1]

    yield begin
    for one in made:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(one.pid, signal.SIGKILL)
        one.communicate()


class Outside:
    """A server of another program; it counts who comes."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.port = sock.getsockname()[1] if sock.family != socket.AF_UNIX else 0
        self.count = 0
        threading.Thread(target=self._take, daemon=True).start()

    def _take(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                self.sock.accept()[0].close()
                self.count += 1


@pytest.fixture
def outside() -> Iterator[Callable[..., Outside]]:
    made: list[Outside] = []

    def listen(where: object = ("127.0.0.1", 0), family: int = socket.AF_INET, *, share: bool = False) -> Outside:
        sock = socket.socket(family)
        if share:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        sock.bind(where)  # type: ignore[arg-type]  # of any family
        sock.listen(100)
        made.append(Outside(sock))
        return made[-1]

    yield listen
    for one in made:
        with contextlib.suppress(OSError):
            one.sock.shutdown(socket.SHUT_RDWR)
        one.sock.close()


SERVER = """
family, where = eval(sys.argv[1])
server = socket(family)
server.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
server.bind(where)
server.listen()
print(server.getsockname()[1] if family != AF_UNIX else 0)
while True:
    one = server.accept()[0]
    one.sendall(b"hello")
    one.close()
"""
CLIENT = (
    "tried('found', lambda: (s := socket(eval(sys.argv[1])), s.connect(eval(sys.argv[2])), s.recv(9).decode())[-1])"
)


@pytest.mark.parametrize(
    ("family", "where", "ways"),
    [
        ("AF_INET", "('127.0.0.1', 0)", ["127.0.0.1", "0.0.0.0", "127.0.0.2/ECONNREFUSED"]),
        ("AF_INET", "('0.0.0.0', 0)", ["127.0.0.1", "::ffff:127.0.0.1"]),
        ("AF_INET6", "('::', 0)", ["127.0.0.1", "::1", "::ffff:0.0.0.0"]),
        ("AF_INET6", "('::1', 0)", ["::1", "::", "127.0.0.1/ECONNREFUSED"]),
    ],
)
def test_a_command_uses_what_another_of_its_kit_serves(
    served: Sandbox,
    landlock: Sandbox,
    begin: Callable[..., Popen],
    go: Callable[..., list[str]],
    family: str,
    where: str,
    ways: list[str],
) -> None:
    server = begin(served, SERVER, f"({family}, {where})")
    assert server.stdout is not None
    port = int(server.stdout.readline())
    for way in ways:
        address, _, error = way.partition("/")
        words = "AF_INET6" if ":" in address else "AF_INET", (address, port)
        assert go(served, CLIENT, *words) == [f"found {error or 'hello'}"], way
        assert go(landlock.group(), CLIENT, *words) == [f"found {error or 'EACCES'}"], "of another kit"
    here = socket.create_connection(("::1" if where == "('::1', 0)" else "127.0.0.1", port))
    assert here.recv(9) == b"hello"  # the user can look at it
    here.close()


def test_unix_sockets_have_files_in_the_workspace(
    served: Sandbox, landlock: Sandbox, begin: Callable[..., Popen], go: Callable[..., list[str]], ws: Path
) -> None:
    server = begin(served, SERVER, "(AF_UNIX, 'it.sock')")
    assert server.stdout is not None
    server.stdout.readline()
    (ws / "link").symlink_to("it.sock")
    for path in ("it.sock", f"{ws}/it.sock", "link"):
        assert go(served, CLIENT, "AF_UNIX", repr(path)) == ["found hello"]
    assert go(landlock.group(), CLIENT, "AF_UNIX", "'it.sock'") == ["found EACCES"]
    os.killpg(server.pid, signal.SIGKILL)
    server.wait()
    assert go(served, CLIENT, "AF_UNIX", "'it.sock'") == ["found EACCES"]
    assert go(served, CLIENT, "AF_UNIX", "'gone.sock'") == ["found ENOENT"]


# What is tried, and how it ends. `port` is that of a server outside, at all addresses, and `shared` that of one which
# lets others have its port too; `taken` is the path of a unix socket in the workspace, `far` of one elsewhere.
ATTACKS = {
    "to a server outside": ("socket().connect(('127.0.0.1', port))", "EACCES"),
    "at all addresses": ("socket().connect(('0.0.0.0', port))", "EACCES"),
    "of both kinds": ("socket(AF_INET6).connect(('::ffff:127.0.0.1', port))", "EACCES"),
    "by IPv6": ("socket(AF_INET6).connect(('::1', port))", "EACCES"),
    "to another machine": ("socket().connect(('192.0.2.1', 80))", "ENETUNREACH"),
    "by its IPv6": ("socket(AF_INET6).connect(('2001:db8::1', 80))", "ENETUNREACH"),
    "mapped": ("socket(AF_INET6).connect(('::ffff:192.0.2.1', 80))", "ENETUNREACH"),
    "to the cloud's metadata": ("socket().connect(('169.254.169.254', 80))", "ENETUNREACH"),
    "to nobody": ("socket().connect(('127.0.0.1', 1))", "ECONNREFUSED"),
    "by a datagram": ("socket(AF_INET, SOCK_DGRAM).sendto(b'x', ('127.0.0.1', port))", "EPERM"),
    "to a name server": ("socket(AF_INET6, SOCK_DGRAM).sendto(b'x', ('::1', 53))", "EPERM"),
    "raw": ("socket(AF_INET, SOCK_RAW, 1)", "EPERM"),
    "by SCTP": ("socket(AF_INET, SOCK_STREAM, 132)", "EPERM"),
    "by several paths": ("socket(AF_INET, SOCK_STREAM, 262)", "EPERM"),
    "fast": ("socket().sendto(b'x', 0x20000000, ('127.0.0.1', port))", "EPERM"),
    "fast, as a message": ("socket().sendmsg([b'x'], [], 0x20000000, ('127.0.0.1', port))", "EPERM"),
    "to an address without being fast": ("socket().sendto(b'x', MSG_NOSIGNAL, ('127.0.0.1', port))", "EPIPE"),
    "fast later": ("socket().setsockopt(6, 30, 1)", "EPERM"),
    "by another machine": ("socket().setsockopt(0, 4, bytes([131, 7, 4, 192, 0, 2, 1]))", "EPERM"),
    "by a header of routes": ("socket(AF_INET6).setsockopt(41, 57, bytes(24))", "EPERM"),
    "by a device": ("socket().setsockopt(1, 25, b'lo')", "EPERM"),
    "bind elsewhere": ("socket().bind(('192.0.2.1', 0))", "EADDRNOTAVAIL"),
    "bind for root": ("socket().bind(('127.0.0.1', 80))", "EACCES"),
    "share a port": (
        "(s := socket(), s.setsockopt(1, SO_REUSEPORT, 1), s.bind(('127.0.0.1', shared)), s.listen())",
        "EADDRINUSE",
    ),
    "bind without a file": ("socket(AF_UNIX).bind('\\0name')", "EPERM"),
    "be given a name": ("socket(AF_UNIX).bind('')", "EPERM"),
    "connect without a file": ("socket(AF_UNIX).connect('\\0name')", "EPERM"),
    "be named by connecting": (
        "(s := socket(AF_UNIX), s.setsockopt(1, SO_PASSCRED, 1), s.connect_ex(taken), s.listen())",
        "EINVAL",
    ),
    "unix datagrams": ("socket(AF_UNIX, SOCK_DGRAM)", "EPERM"),
    "a unix socket here": ("socket(AF_UNIX).connect(taken)", "EACCES"),
    "moved": ("(os.rename(taken, taken + '2'), socket(AF_UNIX).connect(taken + '2'))", "EACCES"),
    "linked": ("(os.symlink(far, 'link'), socket(AF_UNIX).connect('link'))", "EACCES"),
    "a unix socket elsewhere": ("socket(AF_UNIX).connect(far)", "EACCES"),
    "bind a file elsewhere": ("socket(AF_UNIX).bind(far + '2')", "EACCES"),
    "unnamed": ("call('connect', socket().detach(), struct.pack('=H14x', 0), 16)", "EAFNOSUPPORT"),
    "a long address": ("call('connect', socket().detach(), bytes(200), 200)", "EINVAL"),
    "a short address": ("call('connect', socket().detach(), struct.pack('=HH', 2, 1), 4)", "EINVAL"),
    "no address": ("call('connect', socket().detach(), 8, 16)", "EFAULT"),
    "no port": ("call('connect', 0, struct.pack('=H14x', 2), 16)", "ECONNREFUSED"),
    "no socket": ("call('bind', 0, struct.pack('=H14x', 2), 16)", "ENOTSOCK"),
    "no descriptor": ("call('connect', 999, struct.pack('=H14x', 2), 16)", "EBADF"),
    "a filter of its own": ("call('seccomp', 1, 8, filter())", "EBUSY"),
}
ATTACK = """
port, shared, taken, far, numbers = eval(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)

def call(name, *args):
    if libc.syscall(numbers[name], *args) < 0:
        raise OSError(ctypes.get_errno(), name)

def filter():
    global kept
    libc.prctl(38, 1, 0, 0, 0)
    kept = ctypes.create_string_buffer(struct.pack("=HBBI", 6, 0, 0, 0x7FFF0000))
    return struct.pack("@HP", 1, ctypes.addressof(kept))

for name, work in eval(sys.argv[2]).items():
    tried(name + ":", lambda: eval(work))
"""


def test_attacks(
    served: Sandbox,
    plain: Sandbox,
    go: Callable[..., list[str]],
    outside: Callable[..., Outside],
    ws: Path,
    tmp_path: Path,
) -> None:
    here = machine()
    assert here is not None
    server, shared = outside(("::", 0), socket.AF_INET6), outside(share=True)
    far = outside(str(tmp_path / "far.sock"), socket.AF_UNIX)
    taken = outside(str(ws / "taken.sock"), socket.AF_UNIX)
    words = server.port, shared.port, str(ws / "taken.sock"), str(tmp_path / "far.sock"), here.numbers
    said = go(served, ATTACK, words, {name: work for name, (work, _) in ATTACKS.items()})
    assert dict(line.split(": ") for line in said) == {name: how for name, (_, how) in ATTACKS.items()}
    assert [one.count for one in (server, shared, far, taken)] == [0, 0, 0, 0]
    assert not (tmp_path / "far.sock2").exists()
    held = {name: work for name, (work, how) in ATTACKS.items() if how == "EACCES" and "80" not in work}
    (ws / "link").unlink()
    (ws / "taken.sock2").rename(ws / "taken.sock")
    said = go(plain, ATTACK, words, held)  # the control
    assert [line for line in said if not line.endswith(" done")] == []


RACE = """
good, bad = map(int, sys.argv[1:3])
libc = ctypes.CDLL(None, use_errno=True)
server = socket(); server.bind(("127.0.0.1", good)); server.listen(100)
good = server.getsockname()[1]
name = ctypes.create_string_buffer(struct.pack("=H", AF_INET) + struct.pack(">H", good) + bytes([127, 0, 0, 1]) + bytes(8), 16)
ports, over = [struct.pack(">H", one) for one in (good, bad)], []

def swap():
    while not over:
        for one in ports:
            ctypes.memmove(ctypes.addressof(name) + 2, one, 2)

threading.Thread(target=swap).start()
start, found = time.monotonic(), {}
while time.monotonic() < start + (0.5 if len(found) > 1 else 15):
    client = socket(); client.settimeout(None)
    done = "done" if libc.connect(client.fileno(), name, 16) == 0 else errno.errorcode[ctypes.get_errno()]
    if done == "done":
        done = "good" if client.getpeername()[1] == good else "BAD"
        if done == "good":
            server.accept()[0].close()
    found[done] = found.get(done, 0) + 1
    client.close()
over.append(1)
found.pop("ECONNREFUSED", None)  # half of one port and half of the other
print(sorted(found))
"""


def test_another_thread_that_changes_the_address(
    served: Sandbox, plain: Sandbox, go: Callable[..., list[str]], outside: Callable[..., Outside]
) -> None:
    server = outside()
    assert go(served, RACE, 0, server.port) == ["['EACCES', 'good']"]
    assert server.count == 0
    assert go(plain, RACE, 0, server.port) == ["['BAD', 'good']"]  # the control


SWAP = """
os.mkdir("a"); os.symlink(sys.argv[1], "b")
libc, over = ctypes.CDLL(None), []

def swap():
    while not over:
        libc.renameat2(-100, b"a", -100, b"b", 2)

threading.Thread(target=swap).start()
for at in range(150):
    for name in ("a", "b"):
        try:
            socket(AF_UNIX).bind(f"{name}/{at}.sock")
        except OSError:
            pass
over.append(1)
"""


def test_another_thread_that_changes_the_folder(
    served: Sandbox, go: Callable[..., list[str]], ws: Path, tmp_path: Path
) -> None:
    go(served, SWAP, tmp_path)
    assert [path for path in tmp_path.iterdir() if path.is_socket()] == []
    assert len([path for path in ws.rglob("*.sock") if path.is_socket()]) > 50


def test_a_port_that_somebody_else_has_taken(
    served: Sandbox, begin: Callable[..., Popen], go: Callable[..., list[str]], outside: Callable[..., Outside]
) -> None:
    server = begin(served, SERVER, "(AF_INET, ('127.0.0.1', 0))")
    assert server.stdout is not None
    port = int(server.stdout.readline())
    assert go(served, CLIENT, "AF_INET", ("127.0.0.1", port)) == ["found hello"]
    os.killpg(server.pid, signal.SIGKILL)
    server.wait()
    with contextlib.closing(socket.socket()) as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()
        assert go(served, CLIENT, "AF_INET", ("127.0.0.1", port)) == ["found EACCES"]
        assert select.select([other], [], [], 0)[0] == []


WAITING = """
kept = []

def serve(server):
    while True:
        kept.append(server.accept()[0])
        kept[-1].send(b"x")

for server in (socket(AF_UNIX), socket()):
    server.bind("busy.sock" if server.family == AF_UNIX else ("127.0.0.1", 0))
    server.listen(0)
    where = server.getsockname()
    children = []
    for _ in range(4):
        if not (child := os.fork()):
            client = socket(server.family)
            client.connect(where)
            client.send(b"y")  # the kernel may count it as connected before the server has room for it
            os._exit(0 if client.getblocking() and client.recv(1) == b"x" else 1)
        children.append(child)
    time.sleep(0.2)
    os.kill(children[-1], 9)
    late = socket(server.family)
    late.setblocking(False)
    tried("late", lambda: late.connect(where))
    threading.Thread(target=serve, args=(server,), daemon=True).start()
    print([os.waitpid(child, 0)[1] for child in children])
"""


def test_a_server_that_is_busy(served: Sandbox, go: Callable[..., list[str]]) -> None:
    """A socket that blocks waits, in the order of the kernel; one that does not is told; one that is killed ends."""
    assert go(served, WAITING) == ["late EAGAIN", "[0, 0, 0, 9]", "late EINPROGRESS", "[0, 0, 0, 9]"]


BLOCKED = """
import fcntl
server = socket(AF_UNIX)
server.bind("full")
server.listen(0)
taken, busy = socket(AF_UNIX), socket(AF_UNIX)
taken.connect("full")
def block():
    while True:
        fcntl.fcntl(busy, fcntl.F_SETFL, 0)
for _ in range(3):
    threading.Thread(target=block, daemon=True).start()
def connect():
    while True:
        tried("x", lambda: busy.connect("full"))
threading.Thread(target=connect, daemon=True).start()
print("blocks")
time.sleep(60)
"""


def test_a_call_that_the_keeper_waits_for_keeps_no_other_command_waiting(
    served: Sandbox, go: Callable[..., list[str]], begin: Callable[..., Popen]
) -> None:
    """A command makes its socket blocking again while the keeper connects it, to a server that takes none."""
    process = begin(served, BLOCKED)
    assert process.stdout is not None
    assert process.stdout.readline() == b"blocks\n"
    time.sleep(1)
    for _ in range(3):
        done = "tried('x', lambda: (s := socket(), s.listen(), t := socket(), t.connect(s.getsockname())) and None)"
        assert go(served, done) == ["x done"]


def test_the_keeper_ends_with_its_commands(served: Sandbox, go: Callable[..., list[str]]) -> None:
    def ended() -> bool:
        return not [one for one in threading.enumerate() if "sockets" in one.name]

    go(served, "tried('x', lambda: socket().bind(('', 0)))")
    until(ended)
    before = descriptors()
    for _ in range(3):
        go(
            served,
            "for _ in range(20): tried('x', lambda: (s := socket(), s.listen(), t := socket(), t.connect(s.getsockname())))",
        )
    assert until(ended)
    assert closed_again(before)


def test_a_keeper_that_fails_ends_its_commands(
    served: Sandbox, begin: Callable[..., Popen], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError

    seen: list[type[BaseException]] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: seen.append(args.exc_type))
    monkeypatch.setattr(Loopback, "listen", fail)
    process = begin(served, "socket().listen(); time.sleep(60)")
    (keeper,) = (one for one in threading.enumerate() if "sockets" in one.name)
    assert process.wait(20) == -signal.SIGKILL
    keeper.join(20)
    assert seen == [RuntimeError]


def test_where_calls_are_announced_to_another_already(
    run: Run, served: Sandbox, ws: Path, ours: tuple[tuple[str, ...], dict[str, str]]
) -> None:
    code = "from toolroll.host.sandbox.keeper import why_no_sockets as why; print(why())"
    read, env = ours
    found = run(served, [PYTHON, "-c", code], access=AccessRules((str(ws),), read), env=env)
    assert found == (0, "another program receives the announced calls of this one already\n")


def test_without_announcements_there_are_no_sockets(
    landlock: Sandbox, go: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolroll.host.sandbox.keeper.why_no_sockets", lambda: "too old")
    assert go(landlock.group(), "tried('x', socket)") == go(landlock, "tried('x', socket)") == ["x EPERM"]


SHARED = """
import multiprocessing
from multiprocessing import shared_memory

def double(x):
    return 2 * x

with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(double, range(3)))
with multiprocessing.Manager() as manager:
    print(list(manager.list([1])))
memory = shared_memory.SharedMemory(create=True, size=9)
memory.close()
memory.unlink()
"""


def test_multiprocessing_works_where_shared_memory_is_unused(
    served: Sandbox, landlock: Sandbox, go: Callable[..., list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    assert confined_start._is_unused((str(memory),))
    (memory / "folder").mkdir(0o700)
    assert confined_start._is_unused((str(memory),))
    (memory / "folder/file").touch()
    assert not confined_start._is_unused((str(memory),))
    (memory / "folder/file").unlink()
    (memory / "other").touch(0o600)
    assert not confined_start._is_unused((str(memory),))
    assert not confined_start._is_unused((str(tmp_path / "gone"),))
    assert go(landlock, "tried('x', lambda: open('/dev/shm/toolroll-test', 'w'))") == ["x EACCES"]
    monkeypatch.setattr(confined_start, "_is_unused", lambda _: True)
    assert go(landlock.group(), SHARED) == ["[0, 2, 4]", "[1]"]
    monkeypatch.setattr(confined_start, "_is_unused", lambda _: False)
    later = landlock.group()
    assert go(later, "tried('x', lambda: open('/dev/shm/toolroll-test', 'w'))") == ["x EACCES"]
    monkeypatch.setattr(confined_start, "_is_unused", lambda _: True)
    assert go(later, SHARED) == ["[0, 2, 4]", "[1]"]


def test_a_flood_of_calls_is_slowed_down(monkeypatch: pytest.MonkeyPatch) -> None:
    here, slept = machine(), []
    assert here is not None
    keeper = SocketKeeper(None, here.numbers)  # type: ignore[arg-type]  # no call is made
    sockets = _CommandSockets(keeper, -1, 0, bool)
    monkeypatch.setattr("toolroll.host.sandbox.keeper._MOST_A_SECOND", 10)
    monkeypatch.setattr(time, "sleep", slept.append)
    for _ in range(12):
        sockets._keep_pace()
    assert len(slept) == 2
