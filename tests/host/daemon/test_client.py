"""The fast client: which daemon it asks, when it asks none, and what it imports."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.users import need_another_user
from toolroll import __version__
from toolroll.cli import COMMANDS
from toolroll.host.daemon import client
from toolroll.host.daemon.client import call_daemon, scan, socket_name
from toolroll.host.runtime import user_sockets

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is a daemon on Linux only")


def test_it_knows_the_options():
    options = [one for one in COMMANDS["call"].options if not one.is_positional]
    assert {flag for one in options if one.value for flag in one.flags} == client.VALUES.keys()
    assert {flag for one in options if one.value is None for flag in one.flags} == client.SWITCHES.keys()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("call ls path=.", {}),
        ("call -C a ls", {"workspace": ["a"]}),
        (
            "call ls -Ca --mode=thinking --root b --root=c",
            {"workspace": ["a"], "mode": ["thinking"], "root": ["b", "c"]},
        ),
        ("call --wide ls -- --help", {"wide": ["yes"]}),
        ("call write content=@- -", {}),
        ("call ls --help", None),
        ("call -h", None),
        ("call ls --unknown", None),
        ("call ls --json=x", None),
        ("call ls -C", None),
    ],
)
def test_options_are_found_as_the_parser_finds_them(words, found):
    assert scan(*words.split()[1:]) == found


def test_policy_version_and_workspace_have_daemons_of_their_own(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    plain = socket_name({}, __version__)
    others = [{"mode": ["thinking"]}, {"sandbox": ["none"]}, {"network": ["on"]}, {"root": ["a"]}, {"wide": ["yes"]}]
    names = {plain, *(socket_name(one, __version__) for one in [*others, {"workspace": ["/"]}])}
    assert socket_name({"workspace": [str(tmp_path)], "": ["a"]}, __version__) == plain
    for name, value in (("TOOLROLL_POLICY", "ask"), ("HOME", "/elsewhere"), ("XDG_CONFIG_HOME", "/elsewhere")):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(name, value)
            names.add(socket_name({}, __version__))
    assert len({*names, socket_name({}, "9.9")}) == 11


def test_no_daemon_is_asked_when_it_is_switched_off(start, by_daemon, monkeypatch):
    start()
    assert by_daemon("call", "ls")[0] == 0
    assert [
        by_daemon(*words)[0] for words in (["tools"], ["call", "--help"], ["call", "ls", "--mode", "thinking"])
    ] == [None] * 3
    monkeypatch.setenv("TOOLROLL_DAEMON", "off")
    assert by_daemon("call", "ls")[0] is None


def test_a_socket_of_another_user_is_not_used(here, by_daemon):
    need_another_user()
    folder = os.path.join(client.state_dir(), "run")
    os.makedirs(folder, 0o700)
    os.chmod(folder, 0o777)
    os.chmod(os.path.dirname(folder), 0o755)
    os.chmod(os.path.dirname(os.path.dirname(folder)), 0o755)
    code = "import os, socket, sys; os.chdir(sys.argv[1]); os.setuid(65534); s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[2]); s.listen(); print(flush=True); s.accept()"
    with subprocess.Popen(
        [sys.executable, "-c", code, folder, socket_name({}, __version__)], stdout=subprocess.PIPE
    ) as other:
        other.stdout.readline()
        assert by_daemon("call", "ls")[0] is None


def test_it_imports_nothing_that_takes_long(start, here):
    start()
    code = "import sys; before = set(sys.modules); import toolroll; from toolroll.__main__ import call_daemon; status = call_daemon(['call', 'ls'], toolroll.__version__); print(status, *sorted(set(sys.modules) - before), file=sys.stderr)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr.split()
    ours = [name for name in said[1:] if name.partition(".")[0] == "toolroll"]
    assert (said[0], sorted({*said[1:]} - {*ours})) == ("0", ["__future__", "_blake2", "_json", "_socket", "binascii"])
    assert ours == [
        "toolroll",
        "toolroll.__main__",
        "toolroll.host",
        "toolroll.host.daemon",
        "toolroll.host.daemon.client",
        "toolroll.host.runtime",
        "toolroll.host.runtime.user_folders",
    ]


def test_a_daemon_that_dies_in_a_call_is_reported(here, by_daemon, monkeypatch):
    """What took no call is gone without: the client goes on alone. What had begun may have taken effect."""
    handlers = {one: signal.getsignal(one) for one in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)}
    jobs = Path(user_sockets.run_folder(), socket_name({}, __version__) + client.JOBS)
    begun = b'{"method":"begun","of":1}\n'
    monkeypatch.setattr(client, "_BEGIN_TIMEOUT_S", 0.1)
    for sent, status, out, said in (
        (b"", None, "", ""),
        (None, None, "", ""),
        (b'{"id":1,"error":{"code":1,"message":"No."}}\n', None, "", ""),
        (begun, 1, "", "may have taken effect"),
        (begun + b'{"id":1,"result"', 1, "", "its jobs ended with it:\n  job 1: sleep 600\n"),
        (begun + b'{"id":1,"error":{"code":1,"message":"Stopped."}}\n', 1, "", "toolroll: Stopped.\n"),
        (begun + b'{"id":1,"result":{"status":7,"output":[[1,"YQ=="],[2,"Yg=="],[1,"Yw=="]]}}\n', 7, "ac", "b"),
    ):
        if "job 1" in said:
            jobs.write_text("  job 1: sleep 600\n")
        with user_sockets.listen(socket_name({}, __version__)) as listener:

            def answer(listener=listener, sent=sent) -> None:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(1 << 20)
                    connection.sendall(sent or b"")
                    if sent is None:  # it says nothing while the client waits
                        connection.recv(1)

            thread = threading.Thread(target=answer)
            thread.start()
            got = by_daemon("call", "ls")
            thread.join()
        assert (*got[:2], said in got[2], bool(got[2])) == (status, out, True, bool(said))
    assert not jobs.exists()
    for one, handler in handlers.items():
        signal.signal(one, handler)
    assert call_daemon(["call", "ls"], __version__) is None  # the socket is stale
