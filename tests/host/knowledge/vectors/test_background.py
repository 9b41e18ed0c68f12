"""Work beside the calls: what comes in the last moment is done, and the remaining time is told."""

import sqlite3
import threading

import pytest

from toolroll.host.knowledge.vectors import background
from toolroll.host.knowledge.vectors.background import BackgroundFill
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.state import State
from toolroll.result import ErrorCode, ToolError

TOKEN = CancelToken()


@pytest.fixture
def work(tmp_path):
    made = BackgroundFill(State(str(tmp_path / "state")))
    yield made
    made.close()


def wait(work):
    work.wait(20.0, TOKEN, lambda *_: None)


def test_what_is_asked_for_while_it_ends_is_done_too(work):
    done = []

    def fill(_progress, _token):
        done.append(work.take_wanted())
        if len(done) == 1:
            work.start(fill, [7])
        return ""

    work.start(fill, [3, 4])
    wait(work)
    assert done == [[3, 4], [7]]


def test_the_first_numbers_are_those_of_the_last_question(work):
    gate = threading.Event()
    work.start(lambda *_: str(gate.wait(20)), [1])
    work.start(lambda *_: "", [2, 3])
    assert work.take_wanted() == [2, 3, 1]
    gate.set()


def test_the_remaining_time_is_told_once_it_can_be_known(work, monkeypatch):
    times, begun, gate = iter([0.0, 10.0, 10.0]), threading.Event(), threading.Event()
    monkeypatch.setattr(background.time, "monotonic", lambda: next(times))

    def fill(progress, _token):
        progress(50, 200, "vectors")
        begun.set()
        gate.wait(20)
        return ""

    work.start(fill)
    begun.wait(20)
    assert work.reason == "they are being made, which takes about 30 s more."
    monkeypatch.undo()
    gate.set()
    wait(work)
    assert work.reason == "a search goes on with that, and so does `toolroll models embed`."


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (ToolError(ErrorCode.NETWORK, "The server is gone."), "The server is gone."),
        (sqlite3.OperationalError("disk is full"), "OperationalError: disk is full."),
    ],
)
def test_a_failure_is_the_reason_and_the_next_start_tries_again(work, failure, said):
    def fail(*_):
        raise failure

    work.start(fail)
    wait(work)
    assert work.reason == said
    work.start(lambda *_: "")
    wait(work)
    assert work.reason.startswith("a search goes on")


def test_closing_ends_it_for_good(work):
    begun = threading.Event()

    def fill(_progress, token):
        begun.set()
        while True:
            token.check()

    work.start(fill)
    begun.wait(20)
    work.close()
    work.start(fill)
    assert work._thread is None
