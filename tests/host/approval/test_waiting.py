"""Requests that wait for another process to answer them."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from toolroll import Effect, ToolError
from toolroll.host.approval import waiting as module
from toolroll.host.approval.request import Answer, ApprovalRequest, CannotAskError
from toolroll.host.approval.waiting import WaitingApprovals
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.state import State

REQUEST = ApprovalRequest("bash", Effect.SHELL, {"command": "make"}, "it runs", key=("command", "make"), covers="this")


@pytest.fixture
def state(tmp_path: Path) -> str:
    return str(tmp_path / "state")


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor() as one:
        yield one


def ask(pool: ThreadPoolExecutor, state: str, token: CancelToken | None = None) -> Future[Answer]:
    ready = threading.Event()
    asking = WaitingApprovals(State(state))
    future = pool.submit(asking.ask, REQUEST, token or CancelToken(), lambda _id: ready.set(), 20)
    assert ready.wait(10)
    return future


@pytest.mark.parametrize("answer", ["once", "session", "always", False])
def test_the_answer_of_another_process(pool: ThreadPoolExecutor, state: str, answer: Answer) -> None:
    asked = ask(pool, state)
    other = WaitingApprovals(State(state))
    [request] = other.all()
    assert (request.tool, request.text, request.lasting) == ("bash", REQUEST.text, True)
    assert other.answer(request, answer)
    assert asked.result(10) == answer
    assert other.all() == []
    assert not other.answer(request, True)
    assert list(Path(state, "approvals").iterdir()) == []


def test_several_wait_and_each_gets_its_own_answer(pool: ThreadPoolExecutor, state: str) -> None:
    first, second = ask(pool, state), ask(pool, state)
    other = WaitingApprovals(State(state))
    one, two = other.all()
    assert other.answer(two, False)
    assert other.answer(one, "once")
    assert (first.result(10), second.result(10)) == ("once", False)


def test_an_answer_to_another_text_is_none(pool: ThreadPoolExecutor, state: str) -> None:
    token = CancelToken()
    asked = ask(pool, state, token)
    [request] = WaitingApprovals(State(state)).all()
    State(state).put("approvals", f"{request.id}.answer", b'{"answer": true, "digest": "another"}')
    with pytest.raises(TimeoutError):
        asked.result(0.3)
    token.cancel()
    with pytest.raises(ToolError):
        asked.result(10)
    assert list(Path(state, "approvals").iterdir()) == []


def test_without_an_answer_nobody_was_asked(state: str) -> None:
    with pytest.raises(CannotAskError, match=r"`toolroll approve` was not used within 0\.2 seconds"):
        WaitingApprovals(State(state)).ask(REQUEST, CancelToken(), lambda _id: None, 0.2)


def test_what_a_killed_process_left(state: str) -> None:
    left = b'{"id": "a", "tool": "bash", "text": "x", "asked": 1, "ends": 2, "lasting": false}'
    State(state).put("approvals", "a.json", left)
    State(state).put("approvals", "b.json", b"{damaged")
    assert WaitingApprovals(State(state)).all() == []
    assert list(Path(state, "approvals").iterdir()) == []


def test_an_answer_that_nobody_takes_is_none(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_TAKEN_S", 0.05)
    monkeypatch.setattr(module, "_LOOK_S", 0.01)
    waiting = WaitingApprovals(State(state))
    assert waiting.all() == [], "before the first question there is no folder"
    left = b'{"id": "a", "tool": "bash", "text": "x", "asked": 1, "ends": 9e9, "lasting": false}'
    State(state).put("approvals", "a.json", left)
    [request] = waiting.all()
    assert waiting.answer(request, True) is False
    assert list(Path(state, "approvals").iterdir()) == []
