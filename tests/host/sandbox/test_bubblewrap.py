"""Bubblewrap: what is in the command's world, what reaches bubblewrap itself, and how all of it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.waiting import until
from toolroll.host.runtime.dir_entries import closing_fd
from toolroll.host.runtime.launcher import AccessRules, Sandbox
from toolroll.host.sandbox.bubblewrap import Bubblewrap, find
from toolroll.host.sandbox.syscalls import machine
from toolroll.result import ErrorCode, ToolError

Run = Callable[..., tuple[int, str]]

PATH = "/usr/local/bin:/usr/bin:/bin"


def start(sandbox: Sandbox, ws: Path, script: str) -> subprocess.Popen[bytes]:
    fd = os.open(ws, os.O_RDONLY)
    null = subprocess.DEVNULL
    try:
        return sandbox.spawn(
            AccessRules((str(ws),)),
            ["bash", "-c", script],
            cwd=fd,
            env={"PATH": PATH, "TOKEN": "sesame"},
            stdin=null,
            stdout=null,
            stderr=null,
        )
    finally:
        os.close(fd)


def running(mark: str) -> list[int]:
    """Processes that have this word among their arguments."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if mark.encode() in words:
            found.append(int(name))
    return found


def test_the_world_of_a_command(run: Run, bubblewrap: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "secret").touch()
    files = f"echo x > /tmp/mine && cat /tmp/mine; ls '{tmp_path}'; echo x > /new; ls /home /root /run /var /srv"
    status, said = run(bubblewrap, f"({files}) 2>/dev/null; echo processes; ps -A -o comm=")
    before, after = said.split("processes\n")
    assert status == 0
    assert before.splitlines()[:2] == ["x", "ws"]
    assert "secret" not in before
    assert {"bwrap", "ps"} <= set(after.split()) <= {"bwrap", "bash", "ps"}
    assert not Path("/new").exists()


@pytest.mark.parametrize("network", [False, True])
def test_namespaces_of_its_own(run: Run, bubblewrap: Sandbox, ws: Path, network: bool) -> None:
    kinds = ["cgroup", "ipc", "mnt", "net", "pid", "user", "uts"]
    access = AccessRules((str(ws),), network=network)
    _, said = run(
        bubblewrap, f"cd /proc/self/ns; for kind in {' '.join(kinds)}; do readlink $kind; done", access=access
    )
    shared = [
        kind for kind, found in zip(kinds, said.split(), strict=True) if os.readlink(f"/proc/self/ns/{kind}") == found
    ]
    assert shared == (["net"] if network else [])


def test_a_network_of_its_own(run: Run, bubblewrap: Sandbox) -> None:
    """Without the network a command can still talk to itself, as tests of servers do."""
    script = """
import socket, threading
server = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=lambda: server.accept()[0].sendall(b"hello")).start()
print(socket.create_connection(server.getsockname()).recv(10).decode())
"""
    python = "/usr/bin/python3"
    if not os.path.exists(python):
        pytest.skip("no Python of the system's own")
    assert run(bubblewrap, [python, "-c", script]) == (0, "hello\n")


def test_nothing_of_the_environment_reaches_bubblewrap_itself(run: Run, bubblewrap: Sandbox) -> None:
    """It runs before there is a sandbox: a library that the command names must not be loaded into it."""
    env = {"PATH": PATH, "LD_TRACE_LOADED_OBJECTS": "1"}
    assert isinstance(bubblewrap, Bubblewrap)
    naive = subprocess.run(
        [bubblewrap._program, "--version"], env=env, stdout=subprocess.PIPE, check=True
    ).stdout.decode()
    if "libcap" not in naive:
        pytest.skip("this bubblewrap is linked statically")
    status, said = run(bubblewrap, ["/usr/bin/true"], env=env)
    assert (status, "libc" in said, "libcap" in said) == (0, True, False)


def test_the_environment_is_not_on_the_command_line(bubblewrap: Sandbox, ws: Path) -> None:
    with start(bubblewrap, ws, "touch up; sleep 300") as process:
        assert until((ws / "up").exists)
        seen = b"".join(Path(f"/proc/{pid}/cmdline").read_bytes() for pid in running("touch up; sleep 300"))
        process.kill()
    assert b"bwrap" in seen
    assert b"sesame" not in seen


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_killing_the_first_ends_all(bubblewrap: Sandbox, ws: Path, how: signal.Signals) -> None:
    mark = f"3{int.from_bytes(os.urandom(3))}"
    tree = f"sleep {mark} & setsid nohup sleep {mark} & (setsid sh -c 'trap \"\" TERM; sleep {mark}; :' &) & touch up; wait"
    with start(bubblewrap, ws, tree) as process:
        assert until(lambda: len(running(mark)) >= 3)
        process.send_signal(how)
        process.wait(20)
    assert until(lambda: running(mark) == [])


def test_all_ends_when_the_first_has_ended(bubblewrap: Sandbox, ws: Path) -> None:
    mark = f"3{int.from_bytes(os.urandom(3))}"
    with start(bubblewrap, ws, f"setsid sleep {mark} & sleep 0.05") as process:
        assert process.wait(20) == 0
    assert until(lambda: running(mark) == [])


def test_it_dies_with_the_thread_that_started_it(bubblewrap: Sandbox, ws: Path) -> None:
    """Why a supervisor must outlive its command."""
    found: list[subprocess.Popen[bytes]] = []

    def begin() -> None:
        found.append(start(bubblewrap, ws, "touch up; sleep 300"))
        until((ws / "up").exists)

    thread = threading.Thread(target=begin)
    thread.start()
    thread.join()
    with found[0] as process:
        assert process.wait(20) == -signal.SIGKILL


@pytest.fixture(params=[True, False], ids=["as it is", "older"])
def keeping(request: pytest.FixtureRequest, bubblewrap: Sandbox) -> Sandbox:
    """Bubblewrap as it is, and as it was before it took descriptors."""
    here = machine()
    assert here is not None
    assert isinstance(bubblewrap, Bubblewrap)
    if request.param:
        return bubblewrap
    return Bubblewrap(bubblewrap._program, "0.4.0", here, by_descriptor=False)


def test_what_is_kept_is_read_only(run: Run, keeping: Sandbox, ws: Path, tmp_path: Path) -> None:
    (ws / "folder").mkdir()
    (ws / "file").write_text("kept")
    (ws / "link").symlink_to("elsewhere")
    (ws / "way").symlink_to(tmp_path)
    (tmp_path / "secret").write_text("secret")
    keep = tuple(str(ws / name) for name in ("folder", "file", "missing", "link", "no/such", "way/secret"))
    access = AccessRules((str(ws),), keep=keep)
    script = """
    for what in 'echo x > folder/a' 'rmdir folder' 'mv folder f' 'echo x > file' 'rm file' 'mv file f' 'chmod 777 file'; do
        sh -c "$what" 2>/dev/null && echo "$what"
    done
    touch missing && cat file && cat way/secret 2>/dev/null"""
    assert run(keeping, script, access=access) == (1, "kept")
    assert sorted(os.listdir(ws)) == ["file", "folder", "link", "missing", "way"]


@pytest.mark.parametrize("linked", [False, True])
def test_a_workspace_behind_a_link(run: Run, bubblewrap: Sandbox, ws: Path, tmp_path: Path, linked: bool) -> None:
    (tmp_path / "other").symlink_to(ws)
    root = tmp_path / "other" if linked else ws
    (ws / ".git").mkdir()
    access = AccessRules((str(root),), keep=(f"{root}/.git",))
    script = f"cd '{root}' && echo x > a && cat '{ws}/a' && echo x > .git/a || pwd -P"
    assert run(bubblewrap, f"({script}) 2>/dev/null", access=access) == (0, f"x\n{ws}\n")


def test_the_folder_to_work_in_must_be_there(run: Run, bubblewrap: Sandbox, ws: Path, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="is none that commands may reach") as caught:
        run(bubblewrap, "true", cwd=tmp_path)
    assert caught.value.code is ErrorCode.EXECUTION
    (ws / "a").mkdir()
    fd = os.open(ws / "a", os.O_RDONLY)
    (ws / "a").rmdir()
    with pytest.raises(ToolError, match="The folder to work in was removed or moved"):
        run(bubblewrap, "true", cwd=Path(f"/proc/self/fd/{fd}"))
    os.close(fd)
    with pytest.raises(ToolError, match=r"gone' of the command is gone\. Make it again"):
        run(bubblewrap, "true", access=AccessRules((str(ws), str(ws / "gone"))))


def test_no_program_is_taken_from_path(run: Run, ws: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is started unconfined, and a workspace may be on PATH."""
    own = list(find())
    (tmp_path / "bwrap").write_text("#!/bin/sh\n")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{PATH}")
    assert list(find()) == own
    here = machine()
    assert here is not None
    mine = Bubblewrap(f"{ws}/bin/bwrap", "0.8.0", here, by_descriptor=False)
    with pytest.raises(ToolError, match="is where commands could change it") as caught:
        run(mine, "true")
    assert caught.value.code is ErrorCode.SECURITY


def test_what_is_memory_of_no_process_is_bounded(run: Run, bubblewrap: Sandbox) -> None:
    script = "for one in /tmp /dev/shm; do echo $(($(stat -f -c '%b * %S' $one) >> 20)); done"
    assert run(bubblewrap, script) == (0, "512\n512\n")


def test_a_workspace_inside_of_what_is_read_and_the_other_way_round(
    run: Run, bubblewrap: Sandbox, tmp_path: Path
) -> None:
    inner, tools = tmp_path / "tools" / "inner", tmp_path / "tools" / "inner" / ".venv"
    tools.mkdir(parents=True)
    (tmp_path / "tools" / "a").write_text("a")
    access = AccessRules((str(inner),), (str(tmp_path / "tools"), str(tools)))
    script = "cat ../a; (echo x > ../b) 2>/dev/null; echo x > b && echo x > .venv/b && cat b"
    assert run(bubblewrap, script, access=access, cwd=inner) == (0, "ax\n")
    assert sorted(path.name for path in (tmp_path / "tools").rglob("b")) == ["b", "b"]


def test_a_workspace_in_the_second_temporary_folder_has_its_own_path(run, bubblewrap):
    """Without one in it, that folder is a link to the first."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        found = run(bubblewrap, "pwd -P; touch /var/tmp/x", access=AccessRules((folder,)), cwd=folder)
        assert (found, os.path.exists("/var/tmp/x")) == ((0, f"{folder}\n"), False)


def test_a_folder_may_be_named_by_a_descriptor_that_is_later_that_of_another_one(
    run: Run, bubblewrap: Sandbox, tmp_path: Path
) -> None:
    with closing_fd(os.open(tmp_path, os.O_RDONLY)) as fd:
        for name in ("first", "second"):
            folder = tmp_path / name
            folder.mkdir()
            (folder / "a.txt").write_text(name)
            with closing_fd(os.open(folder, os.O_RDONLY)) as opened:
                os.dup2(opened, fd)
            access = AccessRules((), (f"/proc/self/fd/{fd}",))
            assert run(bubblewrap, "cat a.txt", access=access, cwd=folder) == (0, name)
