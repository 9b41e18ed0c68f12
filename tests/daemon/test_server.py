"""The daemon: the same output as without it, for any caller and any number of them, and no trace of a dead one."""

import os
import pty
import re
import socket
import subprocess
import sys
import threading

import pytest

from tests.terminals import Person
from tests.waiting import until
from toolroll import __version__
from toolroll.daemon.source_stamp import SourceStamp
from toolroll.daemon.start import describe_daemons, stop_daemon
from toolroll.host.daemon.client import call_daemon, socket_name
from toolroll.host.runtime import user_sockets
from toolroll.host.runtime.user_sockets import SocketInUseError
from toolroll.policy.rules import Policy

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is a daemon on Linux only")

_FILES = {"a.py": "def one():\n    return 1\n", "sub/b.txt": "two\nthree\n", "ö.txt": "ü\n"}
_CALLS = [
    "call ls path=.",
    "call read path=a.py",
    "call read path=ö.txt",
    "call read path=missing",
    "call read",
    "call grep pattern=two --json",
    "call nothing",
    "call",
    "call ls path",
    "call find pattern=*.py -d claude-code",
    "call Glob pattern=*.py -d claude-code",
    "call edit path=a.py old=one new=won",
    "call bash command=exit\\ 3",
    "call bash command=exit\\ 3 --no-exit-code",
    "call bash command=echo\\ out;\\ echo\\ err\\ >&2",
    "call ls --session=",
    "call ls -d nonsense",
    "call outline path=a.py",
]


def connect(name: str = "") -> socket.socket:
    return user_sockets.connect(name or socket_name({}, __version__), 10)


def without_times(said: tuple[object, ...]) -> list[str]:
    return [re.sub(r'"seconds": .*', "", str(one)) for one in said]


def test_the_output_is_that_of_a_call_without_the_daemon(start, put, by_daemon, alone):
    start()
    for line in _CALLS:
        words = [word.replace("\\ ", " ") for word in re.split(r"(?<!\\) ", line)]
        put(_FILES)
        without = alone(*words)
        put(_FILES)
        assert without_times(by_daemon(*words)) == without_times(without), line


def test_a_call_has_the_folder_the_umask_the_variables_and_the_input_of_its_client(start, here):
    start()
    (here / "sub").mkdir()
    code = "import os, sys, toolroll; os.umask(0o027); from toolroll.host.daemon.client import call_daemon; sys.exit(call_daemon(sys.argv[1:], toolroll.__version__))"
    run = [sys.executable, "-c", code]
    env = {**os.environ, "NO_COLOR": "1", "LANG": "C.UTF-8"}
    words = ["call", "write", "-C", "..", "path=new", "content=@-"]
    subprocess.run([*run, *words], cwd=here / "sub", env=env, input=b"given\n", check=True)
    found = (here / "new").stat().st_mode & 0o777, (here / "new").read_text()
    assert (*found, os.getcwd(), os.umask(os.umask(0o022)) != 0o027) == (0o640, "given\n", str(here), True)
    words = ["call", "bash", "command=echo $MARK; umask; mine"]
    (here / "bin").mkdir()
    (here / "bin" / "mine").write_text("#!/bin/sh\necho by PATH\n")
    (here / "bin" / "mine").chmod(0o755)
    env |= {"MARK": "its own", "PATH": f"{here}/bin:{os.environ['PATH']}"}
    done = subprocess.run([*run, *words], cwd=here, env=env, stdout=subprocess.PIPE, check=True)
    assert done.stdout == b"its own\n0027\nby PATH\n"


def test_many_calls_at_once(start, put, here):
    start()
    put({f"{number}.txt": f"{number}\n" for number in range(20)})
    statuses: list[int | None] = []

    def call(number: int) -> None:
        words = ["call", "edit", f"path={number}.txt", f"old={number}", "new=done"]
        statuses.append(call_daemon(words, __version__))

    threads = [threading.Thread(target=call, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (statuses, {one.read_text() for one in here.iterdir()}) == ([0] * 20, {"done\n"})


def test_calls_wait_for_each_other_to_change_a_file(start, put, here):
    start()
    put({"a.txt": "".join(f"line {number}\n" for number in range(12))})
    statuses: list[int | None] = []

    def call(number: int) -> None:
        words = ["call", "edit", "path=a.txt", f"old=line {number}\n", "new="]
        statuses.append(call_daemon(words, __version__))

    threads = [threading.Thread(target=call, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (statuses, (here / "a.txt").read_text()) == ([0] * 12, "")


def test_jobs_outlive_their_call_and_end_with_the_daemon(start, by_daemon, here):
    server = start()
    assert "job 1" in by_daemon("call", "bash", "command=echo $$ > pid; sleep 600", "background=true")[1]
    assert "running" in by_daemon("call", "job", "action=list", "--session", "other")[1]
    assert [status.rpartition(", ")[2] for _, status in describe_daemons(str(here))] == ["jobs: 1"]
    assert list(describe_daemons("/")) == []
    assert until((here / "pid").read_text)
    server.stop()
    pid = int((here / "pid").read_text())
    assert until(lambda: not os.path.exists(f"/proc/{pid}"))


def test_a_session_goes_on(start, by_daemon, put, alone):
    start()
    put({"a.txt": "one\n"})
    name = ("--session", "mine", "-d", "claude-code")
    edit = ("call", "Edit", "file_path=a.txt", "old_string=one", "new_string=two", *name)
    assert by_daemon(*edit)[0] == 1  # it was not read
    assert alone("call", "Read", "file_path=a.txt", *name)[0] == 0
    assert by_daemon(*edit)[0] == 0


def test_a_client_that_goes_away_cancels_its_call(start, here):
    start()
    code = "import sys; from toolroll.__main__ import main; sys.exit(main())"
    words = ["call", "bash", "command=echo $$ > pid; sleep 600"]
    with subprocess.Popen([sys.executable, "-c", code, *words]) as client:
        assert until((here / "pid").exists)
        assert until((here / "pid").read_text)
        client.kill()
    pid = int((here / "pid").read_text())
    assert until(lambda: not os.path.exists(f"/proc/{pid}"))


def test_a_question_is_asked_on_the_terminal_of_the_client(start, here, monkeypatch):
    monkeypatch.setenv("TOOLROLL_POLICY", "ask")
    start()
    code = "import sys; from toolroll.__main__ import main; sys.exit(main())"
    ours, theirs = pty.openpty()
    person = Person(ours)
    for answer, status in (("n", 1), ("y", 0)):
        person.types("y")  # too early
        words = [sys.executable, "-c", code, "call", "write", "path=a", "content=b"]
        with subprocess.Popen(words, stdin=theirs, stderr=theirs) as client:
            person.answers("lways: ", answer)
        assert (client.returncode, (here / "a").exists()) == (status, not status)
    os.close(ours)
    os.close(theirs)


def test_a_client_that_ends_in_the_middle_of_a_question_ends_its_call(start, here, by_daemon, monkeypatch):
    monkeypatch.setenv("TOOLROLL_POLICY", "ask")
    server = start()
    code = "import sys; from toolroll.__main__ import main; sys.exit(main())"
    ours, theirs = pty.openpty()
    words = [sys.executable, "-c", code, "call", "write", "path=a", "content=b"]
    with subprocess.Popen(words, stdin=theirs, stderr=theirs) as client:
        Person(ours).sees("lways: ")
        client.kill()
    os.close(ours)
    os.close(theirs)
    assert until(lambda: not server._running)
    assert (by_daemon("call", "ls")[0], (here / "a").exists()) == (0, False)


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (b"", b""),
        (b'{"id": 1, "method": "ru', b""),
        (b"nonsense\n", b""),
        (b'{"id": 1, "method": "run"}\n', b"cannot be read"),
        (b'{"id": 1, "method": "run", "params": {"argv": "!", "variables": "", "folder": ""}}\n', b"cannot be read"),
        (b'{"id": 1, "method": "run", "params": {"argv": "Y2FsbA=="}}\n{"id": 1, "method"', b"cannot be read"),
    ],
)
def test_wrong_and_half_messages_are_refused(start, by_daemon, sent, answer):
    start()
    with connect() as connection, connection.makefile("rb") as lines:
        connection.sendall(sent)
        if not answer:
            connection.shutdown(socket.SHUT_WR)
        received = lines.readline()
    assert (answer in received, b"result" in received, bool(answer)) == (True, False, bool(received))
    assert by_daemon("call", "ls")[0] == 0


def test_a_daemon_of_older_source_takes_no_more_calls_and_keeps_its_jobs(start, by_daemon, here, tmp_path):
    """Its name is free for another one at once; it ends with its last job."""
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "a.py").write_text("1")
    start(source=SourceStamp(str(tmp_path / "source")))
    assert "job 1" in by_daemon("call", "bash", "command=sleep 600", "background=true")[1]
    (tmp_path / "source" / "a.py").write_text("22")
    status, _, told = by_daemon("call", "ls")
    assert (status, "older source" in told) == (None, True)
    [(name, about)] = describe_daemons(str(here))
    assert about.endswith("jobs: 1, stale: its source has changed")
    assert by_daemon("call", "ls") == (None, "", "")
    start()
    assert by_daemon("call", "ls")[0] == 0
    assert len(list(describe_daemons(str(here)))) == 2
    stop_daemon(name)
    assert [found for found, _ in describe_daemons(str(here))] == [socket_name({}, __version__)]


def test_a_command_of_a_tool_is_refused(start, open_kit, here):
    """It then does its work without the daemon."""
    start()
    code = (
        "import sys, toolroll; from toolroll.host.daemon.client import connect; print(connect(sys.argv[1]).recv(1000))"
    )
    given = {name: os.environ[name] for name in ("XDG_STATE_HOME", "PYTHONPATH") if name in os.environ}
    kit = open_kit(policy=Policy(sandbox="none"), environment={"set": given})
    said = kit.call("bash", {"command": f'{sys.executable} -c "{code}" {socket_name({}, __version__)}'})
    assert "belongs to a command of a tool" in said.text


def test_there_is_one_daemon_and_it_ends_when_it_is_idle(start, by_daemon):
    start(idle_seconds=3)
    with pytest.raises(SocketInUseError):
        start()
    assert until(lambda: not user_sockets.sockets())
    start()
    assert by_daemon("call", "ls")[0] == 0


def test_a_workspace_that_was_deleted_or_made_again(start, by_daemon, alone, tmp_path):
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "a").touch()
    start("-C", str(folder))
    words = ("call", "ls", "-C", str(folder))
    assert by_daemon(*words)[:2] == (0, "a\n")
    (folder / "a").unlink()
    folder.rmdir()
    assert by_daemon(*words) == alone(*words)
    folder.mkdir()
    (folder / "b").touch()
    assert by_daemon(*words)[:2] == (0, "b\n")


def test_settings_count_for_each_call(start, by_daemon, alone, monkeypatch, tmp_path):
    """A change of the configuration counts at once, and it can switch the daemon off."""
    folder = tmp_path / "config" / "toolroll"
    folder.mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder.parent))
    start()
    assert by_daemon("call", "write", "path=a", "content=b")[0] == 0
    (folder / "toolroll.toml").write_text('mode = "thinking"\n')
    assert by_daemon("call", "write", "path=a", "content=b")[0] == 1
    (folder / "toolroll.toml").write_text("nonsense = 1\n")
    assert by_daemon("call", "ls") == alone("call", "ls")
    (folder / "toolroll.toml").write_text('daemon = "off"\n')
    assert by_daemon("call", "ls")[0] is None


def test_a_full_disk_is_reported(start, here):
    start()
    code = "import sys; from toolroll.__main__ import main; sys.exit(main())"
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", code, "call", "ls"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr.decode()) == (1, "toolroll: No space left on device\n")
