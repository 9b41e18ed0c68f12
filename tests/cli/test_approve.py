"""`toolroll approve`: what waits is listed, shown and answered."""

import io
import json
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tests.waiting import until
from toolroll import Effect, Kit
from toolroll.control.client import find_processes
from toolroll.control.server import ControlServer
from toolroll.host.approval.request import Answer, ApprovalRequest, CannotAskError, Refusal
from toolroll.host.runtime.cancellation import CancelToken

Run = Callable[..., tuple[int, str, str]]
REQUEST = ApprovalRequest("write", Effect.WRITE, {"path": "a", "content": "one\ntwo"}, "it changes files")


def cannot(_withdrawn: CancelToken) -> Answer:
    raise CannotAskError("no")


@pytest.fixture
def control(ws: Path, quick: Run) -> Iterator[ControlServer]:
    with Kit(ws) as kit, ControlServer(kit, "mcp") as one:
        until(lambda: find_processes(str(ws)))
        yield one


@pytest.fixture
def asked(control: ControlServer) -> Iterator[Future[Answer]]:
    """A request that waits in this workspace."""
    ready, token = threading.Event(), CancelToken()
    with ThreadPoolExecutor() as pool:
        notice = {"preview": lambda _request: "a\n+one", "notice": lambda _id: ready.set()}
        answer = pool.submit(control.approvals.ask, REQUEST, token, asker=cannot, **notice)
        assert ready.wait(10)
        yield answer
        token.cancel()


def waiting_id(quick: Run) -> str:
    [row] = json.loads(quick("approve", "--json")[1])
    return str(row["id"])


def test_nothing_waits(quick: Run) -> None:
    assert quick("approve") == (0, "Nothing waits for an answer here.\n", "")
    assert quick("approve", "abc", "once")[2].startswith("toolroll: There is no waiting request 'abc'.")


@pytest.mark.parametrize(
    ("words", "answer", "said"),
    [
        (["once"], "once", "allowed"),
        (["no"], Refusal(""), "declined"),
        (["no", "--reason", "Not today."], Refusal("Not today."), "declined"),
    ],
)
def test_one_is_listed_shown_and_answered(
    quick: Run, asked: Future[Answer], words: list[str], answer: Answer, said: str
) -> None:
    id = waiting_id(quick)
    assert quick("approve")[1].startswith(f"{id}  write: it changes files\n")
    assert quick("approve", id) == (0, f"{REQUEST.text}\n\na\n+one\n", "")
    assert "--reason goes with the answer no" in quick("approve", id, "once", "--reason", "x")[2]
    assert "There is no answer 'always'" in quick("approve", id, "always")[2]  # this request can be answered once only
    assert quick("approve", id, *words) == (0, f"{id}: {said}.\n", "")
    assert asked.result(10) == answer
    assert quick("approve", id, *words)[2].startswith(f"toolroll: There is no waiting request '{id}'.")


def test_watching_needs_a_terminal(quick: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    status, out, err = quick("approve", "--watch")
    assert (status, out) == (2, "")
    assert "--watch asks on a terminal" in err
    terminal = io.StringIO()  # at its end, as after Ctrl-D
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    assert quick("approve") == (0, "Nothing waits for an answer here. --watch waits for requests.\n", "")


def test_what_an_answer_has_settled_is_not_asked_about(
    quick: Run, control: ControlServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = replace(REQUEST, key=("tool", "write"), covers="every call of 'write'")
    terminal = io.StringIO("s\n")
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    with ThreadPoolExecutor() as pool:
        asked = [
            pool.submit(control.approvals.ask, request, CancelToken(), asker=cannot, notice=lambda _id: None)
            for _ in range(2)
        ]
        until(lambda: len(control.approvals.all()) == 2)
        monkeypatch.setattr(sys, "stdin", terminal)
        status, out, _ = quick("approve")
    assert (status, out.count("write: it changes files")) == (0, 1)
    assert sorted(str(one.result(10)) for one in asked) == ["once", "session"]


def test_the_end_of_the_input_declines_nothing(
    quick: Run, control: ControlServer, asked: Future[Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    watched: list[bool] = []
    monkeypatch.setattr(terminal, "readline", lambda: watched.append(control.approvals.is_watched()) or "")
    status, out, _ = quick("approve", "--watch")
    assert (status, asked.done(), watched) == (0, False, [True])
    assert out.startswith("Waiting for requests. Ctrl-C ends this, and declines nothing.\n\nwrite: it changes files\n")
