"""`toolroll approve`: what waits is listed, shown and answered."""

import io
import json
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from toolroll import Effect
from toolroll.host.approval.request import Answer, ApprovalRequest
from toolroll.host.approval.waiting import WaitingApprovals
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.state import State

Run = Callable[..., tuple[int, str, str]]
REQUEST = ApprovalRequest("write", Effect.WRITE, {"path": "a", "content": "one\ntwo"}, "it changes files")


@pytest.fixture
def asked(ws: Path, quick: Run) -> Iterator[Future[Answer]]:
    """A request that waits in this workspace."""
    ready, token = threading.Event(), CancelToken()
    waiting = WaitingApprovals(State.of(str(ws)))
    with ThreadPoolExecutor() as pool:
        answer = pool.submit(waiting.ask, REQUEST, token, lambda _id: ready.set(), 30)
        assert ready.wait(10)
        yield answer
        token.cancel()


def waiting_id(quick: Run) -> str:
    [row] = json.loads(quick("approve", "--json")[1])
    return str(row["id"])


def test_nothing_waits(quick: Run) -> None:
    assert quick("approve") == (0, "Nothing waits for an answer here.\n", "")
    assert quick("approve", "abc", "once")[2].startswith("toolroll: There is no waiting request 'abc'.")


@pytest.mark.parametrize(("word", "answer", "said"), [("once", "once", "allowed"), ("no", False, "declined")])
def test_one_is_listed_shown_and_answered(
    quick: Run, asked: Future[Answer], word: str, answer: Answer, said: str
) -> None:
    id = waiting_id(quick)
    assert quick("approve")[1].startswith(f"{id}  write: it changes files\n")
    assert quick("approve", id) == (0, f"{REQUEST.text}\n", "")
    assert "There is no answer 'always'" in quick("approve", id, "always")[2]  # this request can be answered once only
    assert quick("approve", id, word) == (0, f"{id}: {said}.\n", "")
    assert asked.result(10) == answer


def test_watching_needs_a_terminal(quick: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    status, out, err = quick("approve", "--watch")
    assert (status, out) == (2, "")
    assert "--watch asks on a terminal" in err
    terminal = io.StringIO()  # at its end, as after Ctrl-D
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    assert quick("approve") == (0, "Nothing waits for an answer here. --watch waits for requests.\n", "")


def test_the_end_of_the_input_declines_nothing(
    quick: Run, asked: Future[Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    status, out, _ = quick("approve", "--watch")
    assert (status, asked.done()) == (0, False)
    assert out.startswith("Waiting for requests. Ctrl-C ends this, and declines nothing.\n\nwrite: it changes files\n")
