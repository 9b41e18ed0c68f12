"""Questions of `toolroll call`: on its terminal, or where somebody looks at what waits."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.terminals import at_terminal
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


def on_terminal(*words: str, answers: Sequence[tuple[str, str]] = (), early: str = "") -> Answer:
    """`toolroll WORDS...` on a terminal."""
    with at_terminal(answers, early) as person:
        status = main(words)
    return status, person.seen


def test_it_is_asked_on_the_terminal_once_a_session(ws: Path) -> None:
    status, shown = on_terminal(*WRITE, "content=1", "--session", "s", answers=[("lways: ", "s")])
    assert (status, (ws / "a.txt").read_text()) == (0, "1")
    assert "needs approval" in shown
    assert "+1" in shown
    status, shown = on_terminal(*WRITE, "content=2", "--session", "s")
    assert (status, (ws / "a.txt").read_text(), "needs approval" in shown) == (0, "2", False)
    status, shown = on_terminal(*WRITE, "content=3", "--session", "t", answers=[("lways: ", "n")])
    assert (status, (ws / "a.txt").read_text()) == (1, "2")
    assert "The user was asked and declined" in shown


def test_what_was_typed_before_the_question_is_no_answer(ws: Path) -> None:
    status, shown = on_terminal(*WRITE, "content=1", answers=[("lways: ", "n")], early="y\ny\n")
    assert (status, (ws / "a.txt").exists()) == (1, False)
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
            return str(page.act(process, "answer", id=shown["id"], digest=shown["digest"], answer="once")["state"])

    with claim_console(), ThreadPoolExecutor() as pool:
        publish_console(ConsoleRecord(1, "token", os.getpid()))
        answered = pool.submit(answer)
        assert quick(*WRITE, "content=1")[0] == 0
        assert answered.result(10) == "applied"
