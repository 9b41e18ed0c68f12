"""`toolroll approve`: what waits is listed, shown and answered."""

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tests.terminals import at_terminal
from tests.waiting import until
from toolroll import Effect, Kit
from toolroll.cli import main
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


def test_watching_needs_a_terminal(quick: Run) -> None:
    status, out, err = quick("approve", "--watch")
    assert (status, out) == (2, "")
    assert "--watch asks on a terminal" in err
    with at_terminal([]) as person:
        assert main(["approve"]) == 0
    assert "Nothing waits for an answer here. --watch waits for requests." in person.seen


def test_what_an_answer_has_settled_is_not_asked_about(
    control: ControlServer,
) -> None:
    request = replace(REQUEST, key=("tool", "write"), covers="every call of 'write'")
    with ThreadPoolExecutor() as pool:
        asked = [
            pool.submit(control.approvals.ask, request, CancelToken(), asker=cannot, notice=lambda _id: None)
            for _ in range(2)
        ]
        until(lambda: len(control.approvals.all()) == 2)
        with at_terminal([("lways: ", "s")]) as person:
            status = main(["approve"])
    assert (status, person.seen.count("write: it changes files")) == (0, 1)
    assert sorted(str(one.result(10)) for one in asked) == ["once", "session"]


def test_the_end_of_the_input_declines_nothing(control: ControlServer, asked: Future[Answer]) -> None:
    with at_terminal([("[n]o: ", "\x04")]) as person:  # Ctrl-D
        assert main(["approve", "--watch"]) == 0
    assert not asked.done()
    assert "Waiting for requests. Ctrl-C ends this, and declines nothing.\r\n\r\nwrite: it changes files" in person.seen


def test_what_was_typed_before_the_question_is_no_answer(control: ControlServer, asked: Future[Answer]) -> None:
    with at_terminal([("[n]o: ", "n")], early="y\ny\n"):
        assert main(["approve"]) == 0
    assert asked.result(10) == Refusal("")
