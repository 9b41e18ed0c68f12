"""Requests that wait: the first answer counts, from wherever it comes, and only for what was shown."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from tests.waiting import until
from toolroll import Effect, ToolError
from toolroll.host.approval import waiting as module
from toolroll.host.approval.request import Answer, ApprovalRequest, CannotAskError, Refusal
from toolroll.host.approval.waiting import CommandPart, WaitingApprovals, WaitingRequest
from toolroll.host.runtime.cancellation import CancelToken

REQUEST = ApprovalRequest(
    "bash",
    Effect.SHELL,
    {"command": "make\u200b; rm x"},
    "it runs",
    runs=("make\u200b; rm x",),
    key=("command", "make"),
    covers="this",
    parts=(("make\u200b", "it is not known"), ("rm x", "it removes")),
    editable=True,
)


@pytest.fixture
def approvals() -> WaitingApprovals:
    return WaitingApprovals()


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor() as one:
        yield one


def cannot(_withdrawn: CancelToken) -> Answer:
    raise CannotAskError("the client cannot ask")


def ask(pool: ThreadPoolExecutor, approvals: WaitingApprovals, **options: Any) -> tuple[Future[Answer], WaitingRequest]:
    """A request without an asker, so that it waits for an answer from elsewhere."""
    ready = threading.Event()
    options = {"asker": cannot, "notice": lambda _id: ready.set(), "token": CancelToken(), **options}
    future = pool.submit(approvals.ask, options.pop("request", REQUEST), options.pop("token"), **options)
    assert ready.wait(10)
    return future, approvals.all()[-1]


def test_what_is_shown(pool: ThreadPoolExecutor, approvals: WaitingApprovals) -> None:
    asked, shown = ask(pool, approvals, preview=lambda request: f"diff of {request.name}")
    assert (shown.tool, shown.title, shown.text) == ("bash", "bash: it runs", REQUEST.text)
    assert (shown.diff, shown.arguments) == ("diff of bash", REQUEST.arguments)
    assert shown.runs == ("make\\u200b; rm x",)
    assert shown.parts == (CommandPart("make\\u200b", "it is not known"), CommandPart("rm x", "it removes"))
    assert (shown.effects, shown.lasting, shown.scope, shown.editable) == (("shell",), True, "this", True)
    assert 290 < shown.ends - shown.asked <= 301
    assert approvals.all() == [shown]
    approvals.answer(shown.id, shown.digest, False)
    assert asked.result(10) is False


@pytest.mark.parametrize("answer", ["once", "session", "always", False, Refusal("not now")])
def test_an_answer_from_elsewhere(pool: ThreadPoolExecutor, approvals: WaitingApprovals, answer: Answer) -> None:
    asked, shown = ask(pool, approvals)
    assert approvals.answer(shown.id, shown.digest, answer) == ("applied", "")
    assert asked.result(10) == answer
    assert approvals.all() == []
    assert approvals.answer(shown.id, shown.digest, True)[0] == "late"
    assert approvals.answer("other", shown.digest, True)[0] == "gone"


def test_several_wait_and_each_gets_its_own_answer(pool: ThreadPoolExecutor, approvals: WaitingApprovals) -> None:
    (first, one), (second, two) = ask(pool, approvals), ask(pool, approvals)
    assert approvals.answer(two.id, one.digest, "once")[0] == "changed", "the same text, but another request"
    assert approvals.answer(two.id, two.digest, False)[0] == "applied"
    assert approvals.answer(one.id, one.digest, "once")[0] == "applied"
    assert (first.result(10), second.result(10)) == ("once", False)


@pytest.mark.parametrize(
    ("guards", "keys", "settled"),
    [
        ((1, 1), ("a", "a"), True),
        ((1, 2), ("a", "a"), False),  # another kit
        ((1, 1), ("a", "b"), False),
        ((1, 1), ("", ""), False),  # every one is asked about
    ],
)
def test_a_lasting_answer_settles_what_it_covers(
    pool: ThreadPoolExecutor, approvals: WaitingApprovals, guards: Any, keys: Any, settled: bool
) -> None:
    token = CancelToken()
    requests = [replace(REQUEST, guard=who, key=(key,) * bool(key)) for who, key in zip(guards, keys, strict=True)]
    (first, one), (second, two) = (ask(pool, approvals, request=each, token=token) for each in requests)
    assert approvals.answer(one.id, one.digest, "session")[0] == "applied"
    assert first.result(10) == "session"
    if settled:
        assert second.result(10) == "once"
        assert approvals.answer(two.id, two.digest, False)[0] == "late"
    else:
        assert approvals.all() == [two]
        token.cancel()


def test_an_answer_to_what_was_not_shown_is_none(pool: ThreadPoolExecutor, approvals: WaitingApprovals) -> None:
    token = CancelToken()
    asked, shown = ask(pool, approvals, token=token)
    assert approvals.answer(shown.id, "another", True)[0] == "changed"
    assert not asked.done()
    token.cancel()
    with pytest.raises(ToolError, match="cancelled"):
        asked.result(10)
    assert approvals.answer(shown.id, shown.digest, True)[0] == "late"


def test_the_first_answer_counts_and_the_question_is_taken_back(
    pool: ThreadPoolExecutor, approvals: WaitingApprovals
) -> None:
    tokens: list[CancelToken] = []

    def terminal(withdrawn: CancelToken) -> Answer:
        tokens.append(withdrawn)
        until(lambda: withdrawn.cancelled)
        return "always"

    asked = pool.submit(approvals.ask, REQUEST, CancelToken(), asker=terminal)
    until(lambda: tokens)
    [shown] = approvals.all()
    assert approvals.answer(shown.id, shown.digest, False)[0] == "applied"
    assert asked.result(10) is False
    assert tokens[0].cancelled


def test_the_answer_of_the_one_that_asks(approvals: WaitingApprovals) -> None:
    changes: list[int] = []
    approvals.on_change = lambda: changes.append(len(approvals.all()))
    assert approvals.ask(REQUEST, CancelToken(), asker=lambda _withdrawn: "session") == "session"
    assert changes == [1, 0]


def test_where_nobody_looks_nobody_is_waited_for(approvals: WaitingApprovals, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CannotAskError, match="the client cannot ask"):
        approvals.ask(REQUEST, CancelToken(), asker=cannot)
    approvals.is_watched = lambda: True
    monkeypatch.setattr(module, "PATIENCE_S", 0.02)
    with pytest.raises(CannotAskError, match="no answer came within 0 seconds"):
        approvals.ask(REQUEST, CancelToken(), asker=cannot)
    with pytest.raises(ZeroDivisionError):
        approvals.ask(REQUEST, CancelToken(), asker=lambda _withdrawn: 1 // 0 == 0)


def test_an_answer_that_no_call_takes_is_not_applied(
    pool: ThreadPoolExecutor, approvals: WaitingApprovals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call is cancelled in the moment of the answer."""
    token = CancelToken()
    asked, shown = ask(pool, approvals, token=token)
    give = approvals._give

    def late(*given: Any) -> bool:
        token.cancel()
        until(asked.done)
        return give(*given)

    monkeypatch.setattr(approvals, "_give", late)
    assert approvals.answer(shown.id, shown.digest, True)[0] == "late"


def test_without_a_diff_the_call_is_shown(pool: ThreadPoolExecutor, approvals: WaitingApprovals) -> None:
    asked, shown = ask(pool, approvals, preview=lambda _request: str(1 // 0))
    assert shown.diff == ""
    approvals.answer(shown.id, shown.digest, True)
    assert asked.result(10) is True
