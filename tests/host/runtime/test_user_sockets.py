"""Sockets of the user: one listener each, in a private folder, and no confined process gets through."""

import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from tests.users import need_another_user
from toolroll import Kit
from toolroll.host.network.peers import check_peer, why_confined
from toolroll.host.runtime import user_sockets
from toolroll.host.runtime.dir_entries import closing_fd
from toolroll.host.runtime.launcher import DEVNULL, PIPE, AccessRules
from toolroll.host.runtime.process_tree import LiveProcesses
from toolroll.host.runtime.user_sockets import SocketInUseError
from toolroll.host.sandbox.choose import choose_sandbox

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says which process has connected")

_CONNECT = "import socket, sys, time; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.recv(1)"


@pytest.fixture(autouse=True)
def run_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Path(user_sockets.run_folder())


def refusal(listener: socket.socket) -> str:
    """Why the next process that connects is refused; empty if it is not."""
    connection, _ = listener.accept()
    with connection:
        try:
            check_peer(connection)
        except PermissionError as error:
            return str(error)
    return ""


def test_a_client_reaches_the_listener(run_folder):
    with user_sockets.listen("a") as listener, user_sockets.connect("a", 5) as client:
        connection, _ = listener.accept()
        with connection:
            assert check_peer(connection) == (os.getpid(), os.geteuid())
            connection.sendall(b"hello")
            assert client.recv(5) == b"hello"
        assert [oct(path.stat().st_mode & 0o777) for path in (run_folder, run_folder / "a")] == ["0o700", "0o600"]
        assert user_sockets.sockets() == ["a"]
        user_sockets.connect(str(run_folder / "a"), 5).close()


def test_a_second_listener_is_refused_and_a_stale_socket_is_replaced():
    with user_sockets.listen("a"), pytest.raises(SocketInUseError, match="Another process"):
        user_sockets.listen("a")
    with user_sockets.listen("a"):
        user_sockets.connect("a", 5).close()


def test_a_client_removes_a_stale_socket(run_folder):
    user_sockets.listen("a").close()
    with pytest.raises(ConnectionRefusedError):
        user_sockets.connect("a", 5)
    assert user_sockets.sockets() == []
    with pytest.raises(FileNotFoundError):
        user_sockets.connect("a", 5)


def test_a_path_may_be_longer_than_a_socket_address(run_folder, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / ("long" * 30)))
    with user_sockets.listen("a"):
        user_sockets.connect("a", 5).close()


def test_a_folder_that_others_may_enter_is_refused(run_folder):
    run_folder.chmod(0o755)
    with pytest.raises(PermissionError, match="yours alone"):
        user_sockets.listen("a")


def test_another_user_is_refused(run_folder):
    need_another_user()
    enter = f"import os, socket; os.chdir({str(run_folder)!r}); os.setuid(65534)"
    with user_sockets.listen("a") as listener:
        again = [sys.executable, "-c", f"{enter}\n{_CONNECT}", "a"]
        assert b"PermissionError" in subprocess.run(again, stderr=subprocess.PIPE, check=False).stderr
        os.chmod(run_folder / "a", 0o666)
        os.chmod(run_folder, 0o711)
        with subprocess.Popen(again):
            assert "is of user 65534" in refusal(listener)


def test_a_process_of_the_user_is_accepted_and_one_that_has_ended_is_not(run_folder):
    with user_sockets.listen("a") as listener:
        child = subprocess.Popen([sys.executable, "-c", _CONNECT, "a"], cwd=run_folder)
        assert refusal(listener) == ""
        child.wait()
        child = subprocess.Popen([sys.executable, "-c", _CONNECT.replace("s.recv(1)", "0"), "a"], cwd=run_folder)
        child.wait()
        assert "has ended" in refusal(listener)


def connect_from_a_command(kit: Kit, folder: Path, before: str) -> tuple[list[str], str]:
    """Why a command that connects to a socket in its workspace is refused, if it reaches it, and its output."""
    command = f"{before}{shlex.quote(sys.executable)} -S -c {shlex.quote(_CONNECT)} socket || echo unreachable"
    refused: list[str] = []
    with socket.socket(socket.AF_UNIX) as listener:
        with user_sockets._address(str(folder / "socket")) as address:
            listener.bind(address)
        listener.listen()

        def accept() -> None:
            with suppress(OSError):  # of the shutdown below
                refused.append(refusal(listener))

        thread = threading.Thread(target=accept)
        thread.start()
        said = kit.call("bash", {"command": command}).text
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
    (folder / "socket").unlink()
    return refused, said


def test_no_command_of_a_tool_gets_through(open_kit, ws, tier):
    """A command that is confined cannot even reach the socket, or is refused; one that is not has marks."""
    for before in ("", "env -i ", "setsid env -i ") if tier == "none" else ("",):
        refused, said = connect_from_a_command(open_kit(), ws, before)
        assert ("unreachable" in said) == (not refused)
        assert all("command of a tool" in one for one in refused)
        assert refused or tier != "none"


def test_a_confined_process_is_known_by_its_limits(tier, ws):
    """What a sandbox itself shows, of a process without marks."""
    with closing_fd(os.open(ws, os.O_RDONLY)) as cwd:
        process = choose_sandbox(tier).spawn(
            AccessRules((str(ws),)),
            ["/bin/sh", "-c", "echo; sleep 600"],
            cwd=cwd,
            env={},
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=DEVNULL,
        )
    with process:
        process.stdout.readline()
        below = LiveProcesses().tree([LiveProcesses().get(process.pid)])
        found = {why_confined(pid) for pid in below}
        for pid in below:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    assert bool(found - {""}) == (tier != "none")
