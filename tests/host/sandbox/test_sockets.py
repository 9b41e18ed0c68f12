"""Sockets of programs outside that are bound to files a command sees."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from toolroll.host.runtime.launcher import AccessRules, Sandbox
from toolroll.host.sandbox import sockets as sockets_module
from toolroll.host.sandbox.sockets import Sockets

Run = Callable[..., tuple[int, str]]
PATH = "/usr/local/bin:/usr/bin:/bin"  # what every command may read

CONNECT = """
import socket, sys
for path in sys.argv[1:]:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        try:
            s = socket.socket(socket.AF_UNIX, kind); s.connect(path); s.send(b'hello'); print('sent')
        except OSError as error:
            print(type(error).__name__)
"""


class Listener:
    """A program outside that takes what it is sent."""

    def __init__(self, kind: int = socket.SOCK_STREAM) -> None:
        self.socket = socket.socket(socket.AF_UNIX, kind)
        self.got: list[bytes] = []

    def bind(self, path: str) -> Listener:
        self.socket.bind(path)
        if self.socket.type != socket.SOCK_DGRAM:
            self.socket.listen()
        threading.Thread(target=self._take, daemon=True).start()
        return self

    def _take(self) -> None:
        while True:
            try:
                if self.socket.type == socket.SOCK_DGRAM:
                    self.got.append(self.socket.recv(100))
                    continue
                with self.socket.accept()[0] as one:
                    self.got.append(one.recv(100))
            except OSError:
                return


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder with a short name: that of a socket may have no more than 107 characters."""
    with tempfile.TemporaryDirectory(prefix="s", dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture
def listen() -> Iterator[Callable[..., Listener]]:
    made: list[Listener] = []

    def listen(path: Path | str, kind: int = socket.SOCK_STREAM) -> Listener:
        made.append(Listener(kind))
        return made[-1].bind(str(path))

    yield listen
    for one in made:
        with contextlib.suppress(OSError):
            one.socket.shutdown(socket.SHUT_RDWR)  # ends the thread that waits
        one.socket.close()


def python(code: str, *words: str) -> list[str]:
    return ["/usr/bin/env", "python3", "-c", code, *words]


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET])
def test_a_command_does_not_reach_a_program_outside(
    run: Run, sandbox: Sandbox, plain: Sandbox, ws: Path, listen: Callable[..., Listener], kind: int
) -> None:
    (ws / "deep/er").mkdir(parents=True)
    (ws / "link").symlink_to("deep")
    outside = listen(ws / "deep/er/dev.sock", kind)
    run(sandbox, python(CONNECT, "deep/er/dev.sock", "link/er/dev.sock", str(ws / "deep/er/dev.sock")))
    time.sleep(0.1)
    assert outside.got == []
    run(plain, python(CONNECT, "deep/er/dev.sock"))  # the control
    time.sleep(0.1)
    assert outside.got == [b"hello"]


def test_a_name_that_is_not_absolute(
    run: Run, bubblewrap: Sandbox, ws: Path, listen: Callable[..., Listener], monkeypatch: pytest.MonkeyPatch
) -> None:
    (ws / "deep").mkdir()
    monkeypatch.chdir(ws / "deep")
    outside = listen("dev.sock")
    run(bubblewrap, python(CONNECT, "deep/dev.sock"))
    time.sleep(0.1)
    assert outside.got == []


@pytest.mark.parametrize(
    "move",
    [
        "mv deep moved",
        "mv deep/one other; mkdir -p moved; mv other moved/one",
        "mv deep/one moved; mkdir -p deep/one; python3 -c \"import socket;socket.socket(1,1).bind('deep/one/dev.sock')\"",
    ],
)
def test_a_socket_that_a_command_has_moved(
    run: Run, bubblewrap: Sandbox, ws: Path, listen: Callable[..., Listener], move: str
) -> None:
    (ws / "deep/one").mkdir(parents=True)
    outside = listen(ws / "deep/one/dev.sock")
    run(bubblewrap, ":")
    run(bubblewrap, move)
    places = [str(one.relative_to(ws)) for one in ws.rglob("dev.sock")]
    assert places
    run(bubblewrap, python(CONNECT, *places))
    time.sleep(0.1)
    assert outside.got == []


def test_another_name_of_a_socket(run: Run, bubblewrap: Sandbox, ws: Path, listen: Callable[..., Listener]) -> None:
    outside = listen(ws / "dev.sock")
    os.link(ws / "dev.sock", ws / "other")
    run(bubblewrap, python(CONNECT, "dev.sock", "other"))
    time.sleep(0.1)
    assert outside.got == []


def test_a_folder_that_is_only_read(
    run: Run, bubblewrap: Sandbox, ws: Path, tmp_path: Path, listen: Callable[..., Listener]
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    outside = listen(tools / "dev.sock")
    run(bubblewrap, python(CONNECT, str(tools / "dev.sock")), access=AccessRules((str(ws),), (str(tools),)))
    time.sleep(0.1)
    assert outside.got == []


OWN = """
import os, socket, sys
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen()
if os.fork():
    c, _ = s.accept(); print(c.recv(9).decode()); os.wait()
else:
    c = socket.socket(socket.AF_UNIX); c.connect(sys.argv[1]); c.send(b'own')
"""


@pytest.mark.parametrize("path", ["own.sock", "/tmp/own.sock", "\0own"])
def test_sockets_of_its_own_go_on_working(
    run: Run, bubblewrap: Sandbox, ws: Path, listen: Callable[..., Listener], path: str
) -> None:
    listen(ws / "dev.sock")
    code = OWN.replace("sys.argv[1]", repr(path))
    assert run(bubblewrap, python(code)) == (0, "own\n")


def test_a_socket_of_another_command_is_not_covered(run: Run, bubblewrap: Sandbox, ws: Path) -> None:
    """As one that a database of the same workspace has, started by an earlier command."""
    code = "import socket,time;s=socket.socket(1,1);s.bind('db.sock');s.listen();open('up','w');c,_=s.accept();print(c.recv(9))"
    fd = os.open(ws, os.O_RDONLY)
    words = python(code)
    process = bubblewrap.spawn(
        AccessRules((str(ws),)), words, cwd=fd, env={"PATH": PATH},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(fd)
    with process:
        deadline = time.monotonic() + 20
        while not (ws / "up").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert "sent" in run(bubblewrap, python(CONNECT, "db.sock"))[1]
        assert process.stdout is not None
        assert process.stdout.read() == b"b'hello'\n"


def test_no_folder_is_searched_while_every_socket_is_where_its_name_says(
    ws: Path, listen: Callable[..., Listener], monkeypatch: pytest.MonkeyPatch
) -> None:
    listen(ws / "dev.sock")
    sockets = Sockets()
    monkeypatch.setattr(sockets_module, "_sockets", lambda *_: pytest.fail("searched"))
    listed = sockets_module._list_bound  # of other tests too, which may bind to other names than paths
    monkeypatch.setattr(sockets_module, "_list_bound", lambda: [one for one in listed() if str(ws) in one[1]])
    access = AccessRules((str(ws),))
    for _ in range(2):
        assert sockets.mask(access, str(ws)) == ["--ro-bind", "/dev/null", f"{ws}/dev.sock"]
