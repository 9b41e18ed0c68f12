"""Questions of `toolroll call`: on its terminal, or where somebody looks at what waits."""

import os
import pty
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.waiting import until
from toolroll.cli import call_approver, main
from toolroll.control.client import ControlClient, find_processes
from toolroll.host.runtime.console_record import ConsoleRecord, claim_console, publish_console

Run = Callable[..., tuple[int, str, str]]
Answer = tuple[int, str]
"""Exit status, and what the terminal shows."""
WRITE = ("call", "write", "path=a.txt")


@pytest.fixture(autouse=True)
def _asks(quick: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLROLL_POLICY", "ask")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Answer]]:
    """`toolroll WORDS...` on a terminal on which this was typed."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "r") as stdin, open(os.ttyname(theirs), "w") as stderr:

        def run(*words: str, typed: bytes = b"") -> Answer:
            os.write(ours, typed)
            with monkeypatch.context() as patch:
                patch.setattr(sys, "stdin", stdin)
                patch.setattr(sys, "stderr", stderr)
                status = main(words)
                print("[end]", file=stderr, flush=True)
            shown = b""
            while b"[end]" not in shown:  # a terminal gives what it has, in parts
                shown += os.read(ours, 65536)
            return status, shown.decode()

        yield run
    os.close(ours)


def test_it_is_asked_on_the_terminal_once_a_session(terminal: Callable[..., Answer], ws: Path) -> None:
    status, shown = terminal(*WRITE, "content=1", "--session", "s", typed=b"s\n")
    assert (status, (ws / "a.txt").read_text()) == (0, "1")
    assert "needs approval" in shown
    assert "+1" in shown
    status, shown = terminal(*WRITE, "content=2", "--session", "s")
    assert (status, (ws / "a.txt").read_text(), "needs approval" in shown) == (0, "2", False)
    status, shown = terminal(*WRITE, "content=3", "--session", "t", typed=b"n\n")
    assert (status, (ws / "a.txt").read_text()) == (1, "2")
    assert "The user was asked and declined" in shown


def test_without_a_terminal_it_is_refused_and_said_what_to_do(quick: Run) -> None:
    status, _, shown = quick(*WRITE, "content=1")
    assert status == 1
    assert "because there is no terminal to ask on, and no console is open; run it on a terminal, or open" in shown
    assert "belongs to a command of a tool" in quick(*WRITE, "content=1", TOOLROLL_RUN="x")[2]


def test_without_a_terminal_it_waits_for_an_open_console(quick: Run, ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_approver, "_CONSOLE_TIMEOUT_S", 50)

    def answer() -> str:
        until(lambda: find_processes(str(ws)))
        [process] = find_processes(str(ws))
        with ControlClient(process["id"]) as page:
            page.request("subscribe", events=["approvals"])
            until(lambda: page.request("approvals")["waiting"])
            [shown] = page.request("approvals")["waiting"]
            return str(page.request("answer", id=shown["id"], digest=shown["digest"], answer="once")["state"])

    with claim_console(), ThreadPoolExecutor() as pool:
        publish_console(ConsoleRecord(1, "token", os.getpid()))
        answered = pool.submit(answer)
        assert quick(*WRITE, "content=1")[0] == 0
        assert answered.result(10) == "applied"
