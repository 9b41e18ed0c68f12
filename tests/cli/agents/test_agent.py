from __future__ import annotations

import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.host.models.chat.served import KEY, Say, Served, Step, call
from tests.terminals import Person

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    with ExitStack() as stack:

        def start(*steps: Step, provider: str = "openai") -> Served:
            return stack.enter_context(Served(provider, *steps))

        yield start


WRITE = call("write", path="a.txt", content="hello\n")
DONE = call("finish", result="It is written.")


@pytest.mark.parametrize("provider", ["anthropic"])
def test_a_task_from_the_command_line(toolroll: Run, ws: Path, serve: Any, provider: str) -> None:
    server = serve(
        Say("I write.", (("write", {"path": "a.txt", "content": f"hello {KEY}\n"}),)), DONE, provider=provider
    )
    status, out, err = toolroll("agent", "Write a.txt.", "--yes", "--transcript", "../log.jsonl", **server.environment)
    assert (status, out) == (0, "It is written.\n")
    assert (ws / "a.txt").read_text() == f"hello {KEY}\n"
    assert "I write.\n-> write " in err
    log = ws.parent / "log.jsonl"
    assert KEY not in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600
    assert json.loads(log.read_text().splitlines()[-1])["finished"] is True
    assert sorted(path.name for path in ws.iterdir()) == ["a.txt"]


@pytest.fixture
def fast(quick: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command line in this process, with the environment of a server; nobody types."""
    monkeypatch.setattr(sys, "stdin", io.StringIO())

    def run(*words: str, **environment: str) -> tuple[int, str, str]:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        return quick(*words)

    return run


def test_where_nobody_can_be_asked_changes_are_denied(fast: Run, ws: Path, serve: Any) -> None:
    server = serve(WRITE, call("finish", result="I could not."))
    status, out, _ = fast("agent", "Write a.txt.", **server.environment)
    assert (status, out) == (0, "I could not.\n")
    assert not (ws / "a.txt").exists()
    told = server.bodies[1]["messages"][-1]["content"]
    assert "The user was not asked, because there is no terminal to ask on" in told
    assert "--yes" in told


def test_replay_and_print(fast: Run, ws: Path, serve: Any) -> None:
    server = serve(WRITE, DONE)
    assert fast("agent", "Write a.txt.", "--yes", "--transcript", "../log", **server.environment)[0] == 0
    (ws / "a.txt").unlink()
    status, out, _ = fast("agent", "--replay", "../log", "--yes")
    assert (status, out) == (0, "It is written.\n")
    assert (ws / "a.txt").read_text() == "hello\n"
    (ws / "a.txt").unlink()
    status, out, _ = fast("agent", "--replay", "../log", "--print")
    assert status == 0
    assert out.splitlines()[0] == "native (native) with scripted-1: Write a.txt."
    assert out.splitlines()[-1] == "finished after 2 steps and 220 tokens: It is written."
    assert list(ws.iterdir()) == []


def test_what_is_not_finished_is_no_success(fast: Run, serve: Any) -> None:
    server = serve(call("ls", path="."))
    status, out, err = fast("agent", "Loop.", **server.environment)
    assert (status, out) == (1, "")
    assert "stopped: loop." in err


def test_a_run_goes_on_where_it_was_interrupted(fast: Run, ws: Path, serve: Any) -> None:
    first = serve(WRITE, call("ls", path="."))
    assert fast("agent", "Write a.txt.", "--yes", "--steps", "2", **first.environment)[0] == 1
    second = serve(DONE)
    status, out, err = fast("agent", "Now end.", "--resume", **second.environment)
    assert (status, out) == (0, "It is written.\n")
    assert re.search(r"1 step, 110 tokens, \d:\d\d\. Changed nothing\.", err)
    said = [(one["role"], one["content"]) for one in second.bodies[0]["messages"][1:]]
    assert [role for role, _ in said] == ["user", "assistant", "tool", "assistant", "tool", "user"]
    assert (said[0][1], said[-1][1]) == ("Write a.txt.", "Now end.")
    third = serve(DONE)
    assert fast("agent", "--resume", **third.environment)[0] == 0
    assert third.bodies[0]["messages"][-1]["content"] == "Go on where you were interrupted."
    assert len(third.bodies[0]["messages"]) == 10


def test_changes_are_shown_as_a_diff_and_counted(fast: Run, ws: Path, serve: Any, monkeypatch: Any) -> None:
    (ws / "a.txt").write_text("one\ntwo\n")
    config = ws.parent / "config" / "toolroll"
    config.mkdir(parents=True)
    (config / "toolroll.toml").write_text("[prices]\nscripted-1 = [10, 100]\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(config.parent))
    server = serve(call("edit", path="a.txt", old="two", new="2"), DONE)
    status, _, err = fast("agent", "Edit.", "--yes", **server.environment)
    assert status == 0
    assert "<- edit Edited a.txt (1 replaced in line 2).\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n" in err
    assert re.search(r"2 steps, 220 tokens, \$0\.0040, \d:\d\d\. Changed: a.txt \(toolroll undo takes it back\)\.", err)


USAGE = [
    (("agent", "--resume", "--model", "openai:gpt"), "needs OPENAI_API_KEY"),
    (("agent",), "No task is given"),
    (("agent", "x"), "No model is set up. Set TOOLROLL_MODEL"),
    (("agent", "x", "--model", "openai:gpt"), "needs OPENAI_API_KEY"),
    (("agent", "x", "--preset", "reakt"), "There is no preset 'reakt'. Did you mean 'react'?"),
    (("agent", "x", "--replay", "a", "--steps", "no"), "--steps is 'no'"),
    (("agent", "--print"), "No transcript is given"),
    (("agent", "--replay", "bad"), "not a transcript"),
    (("agent", "x", "--replay", "a", "-C", ""), "The workspace is empty"),
    (("swarm",), "No task is given"),
    (("swarm", "x", "--workers", "revue"), "There is no worker 'revue'. Did you mean 'review'?"),
    (("swarm", "x", "-C", "none"), "Cannot open the workspace 'none'"),
]


@pytest.mark.parametrize(("words", "message"), USAGE)
def test_what_cannot_be_understood(
    quick: Run, ws: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], message: str
) -> None:
    for name in ("TOOLROLL_MODEL", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    (ws / "bad").write_text("\n")
    (ws / "a").write_text(
        '{"type":"start","task":"x","model":"m","preset":"native","dialect":"native","style":"functions","tools":[]}\n'
    )
    status, out, err = quick(*words)
    assert (status, out) == (2, "")
    assert message in err


def test_approval_on_a_terminal(ws: Path, env: dict[str, str], serve: Any) -> None:
    (ws / "a.txt").write_text("one\ntwo\n")
    edit = call("edit", path="a.txt", old="two", new="2\x1b[31m")
    server = serve(edit, call("write", path="b.txt", content="b\n"), call("bash", command="echo c > c.txt"), DONE)
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "toolroll", "agent", "Do."]
    running = subprocess.Popen(
        words, cwd=ws, env={**env, **server.environment}, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs
    )
    os.close(theirs)
    person = Person(ours)
    person.types("y")  # before anything is asked
    for answer in ("what", "y", "n", "y"):
        person.answers("lways: ", answer)
    out = running.communicate(timeout=60)[0]
    os.close(ours)
    assert (running.returncode, out) == (0, b"It is written.\n")
    seen = person.seen
    assert "edit: needs approval" in seen
    plain = (
        seen.replace("\x1b[31m", "")
        .replace("\x1b[32m", "")
        .replace("\x1b[36m", "")
        .replace("\x1b[0m", "")
        .replace("\r", "")
    )
    assert "@@ -1,2 +1,2 @@\n one\n-two\n+2\\x1b[31m\n" in plain
    assert "command: echo c > c.txt" in plain
    assert (ws / "a.txt").read_text() == "one\n2\x1b[31m\n"
    assert not (ws / "b.txt").exists()
    assert (ws / "c.txt").read_text() == "c\n"


def test_an_interrupt_at_a_question_ends_the_run_in_order(ws: Path, env: dict[str, str], serve: Any) -> None:
    server = serve(WRITE, DONE)
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "toolroll", "agent", "Do."]
    running = subprocess.Popen(words, cwd=ws, env={**env, **server.environment}, stdin=theirs, stderr=theirs)
    os.close(theirs)
    person = Person(ours)
    person.sees("lways: ")
    running.send_signal(signal.SIGINT)
    assert "Changed nothing." in person.sees("To go on: toolroll agent --resume")
    assert running.wait(30) == 130
    os.close(ours)
    assert not (ws / "a.txt").exists()


@pytest.mark.parametrize(("number", "expected"), [(signal.SIGINT, 130)])
def test_a_signal_ends_it_in_order(ws: Path, env: dict[str, str], serve: Any, number: int, expected: int) -> None:
    mark = f"{4000 + time.time_ns() % 100000}.25"
    server = serve(call("bash", command=f"sleep {mark}"))
    words = [sys.executable, "-m", "toolroll", "agent", "Wait.", "--yes", "--transcript", "../log"]
    running = subprocess.Popen(
        words,
        cwd=ws,
        env={**env, **server.environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while not sleeping(mark):
        assert running.poll() is None, running.communicate()
        time.sleep(0.05)
    running.send_signal(number)
    out, err = running.communicate(timeout=30)
    assert (running.returncode, out) == (expected, b"")
    assert err.decode().splitlines()[-3].endswith(". Changed nothing.")
    assert err.decode().splitlines()[-1] == "To go on: toolroll agent --resume"
    assert not sleeping(mark)
    last = json.loads((ws.parent / "log").read_text().splitlines()[-1])
    assert (last["finished"], last["reason"]) == (False, "cancelled")


def sleeping(mark: str) -> bool:
    """Whether a `sleep` with this argument runs."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"sleep") and mark.encode() in words:
            return True
    return False
