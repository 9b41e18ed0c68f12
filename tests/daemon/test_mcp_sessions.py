"""Sessions of `toolroll mcp` by the daemon: as without it, and they end with their client or with the daemon."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

from tests.mcp.pipes import server
from tests.waiting import gone, until
from toolroll.control.client import find_processes
from toolroll.daemon.start import describe_daemons

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is a daemon on Linux only")

_OPTIONS = ("--sandbox", "none")


@pytest.fixture
def connect(here, tmp_path, monkeypatch):
    """Start `toolroll mcp` as a client does.

    A test starts its daemon itself: after the fixtures, pytest puts its own streams in the place of the daemon's.
    """
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "state" / "config"))

    @contextmanager
    def open_session(*words):
        with server(*_OPTIONS, *words, cwd=here, state=tmp_path / "state", stderr=subprocess.PIPE) as pipes:
            yield pipes

    return open_session


def talk(pipes, here):
    """A whole session: the answers that the client got, and the questions."""
    asked = []
    pipes.reply = lambda request: asked.append(request) or {"action": "accept", "content": {"decision": "once"}}
    told = [pipes.start(elicitation={}), pipes.ask("tools/list"), pipes.call("read", path="a.txt")]
    told += [pipes.fails("tools/call", {"name": "nothing"}), pipes.ask("resources/list"), pipes.ask("prompts/list")]
    told.append(pipes.call("bash", command="echo $MARK; umask; pwd; echo error >&2; exit 3"))
    long = {"command": "touch begun; exec sleep 600"}
    number = pipes.request("tools/call", {"name": "bash", "arguments": long})
    assert until(lambda: pipes.ask("ping") == {} and (here / "begun").exists())  # its question is answered on the way
    processes = [one for one in find_processes(str(here)) if one["pid"] == pipes.process.pid]
    told.append([(one["kind"], one["client"]) for one in processes])
    pipes.notify("notifications/cancelled", {"requestId": number})
    status = pipes.end()
    return told, asked, status, pipes.other, pipes.answers, pipes.process.stderr.read().decode()


def test_a_session_is_as_without_the_daemon(connect, start, put, here, monkeypatch):
    daemon, found = start(*_OPTIONS), []
    for switch in ("auto", "off"):
        put({"a.txt": "hello\n"})
        (here / "begun").unlink(missing_ok=True)
        monkeypatch.setenv("TOOLROLL_DAEMON", switch)
        monkeypatch.setenv("MARK", "the client's")
        with connect("--ask") as pipes:
            assert until(lambda switch=switch: switch == "off" or daemon._running)
            monkeypatch.setenv("MARK", "the daemon's")
            found.append(talk(pipes, here))
    assert found[0] == found[1]
    told, asked, status, _, answers, errors = found[0]
    assert (len(asked), status, answers, told[-1]) == (2, 0, {}, [("mcp", "test")])
    assert "the client's" in str(told[-2])
    assert "asks its user" in errors


@pytest.mark.parametrize("end", ["input", "kill", "signal", "stop"])
def test_a_session_ends_with_its_client_and_with_the_daemon(connect, start, by_daemon, here, end):
    """Its commands and jobs end too; others see its jobs meanwhile."""
    daemon = start(*_OPTIONS)
    with connect() as pipes:
        pipes.start()
        pipes.call("bash", command="echo $$ > job; exec sleep 600", background=True)
        assert "running" in by_daemon("call", "job", "action=list", *_OPTIONS)[1]
        foreground = {"command": "echo $$ > command; exec sleep 600"}
        if end != "input":  # the server would wait for it
            pipes.request("tools/call", {"name": "bash", "arguments": foreground})
        names = ("job", "command")[: 1 + (end != "input")]
        assert until(lambda: all((here / one).exists() and (here / one).read_text() for one in names))
        assert "sessions: 1, jobs: 1" in dict(describe_daemons(str(here)))[os.path.basename(daemon._path)]
        daemon._used = 0.0
        assert not daemon._is_idle()
        if end == "input":
            pipes.process.stdin.close()
        elif end == "stop":
            daemon.stop()
        else:
            pipes.process.send_signal(signal.SIGKILL if end == "kill" else signal.SIGTERM)
        status, said = pipes.process.wait(), pipes.process.stderr.read().decode()
    assert status == {"input": 0, "kill": -signal.SIGKILL, "signal": 128 + signal.SIGTERM, "stop": 1}[end]
    lost = "toolroll: The daemon ended, and this session with it. Start the server again.\n"
    assert said == (lost if end == "stop" else "")
    assert all(gone(int((here / one).read_text())) for one in names)
    assert until(lambda: not daemon._running)
