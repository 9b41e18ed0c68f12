"""Requests and events between pages and processes: several, slow, gone, and wrong."""

import itertools
import threading
import time
from pathlib import Path

import pytest

from tests.console.processes import TOKEN, fake_process
from tests.console.xss_corpus import poisoned_process
from tests.waiting import until
from toolroll.console import relay
from toolroll.host.runtime import user_sockets


def named(events, name):
    return next(one for one in events if one["event"] == name)


def test_processes_that_come_and_go_are_told(console, monkeypatch):
    monkeypatch.setattr(relay, "LOOK_S", 0.02)
    monkeypatch.setattr("toolroll.console.app.BEAT_S", 600.0)  # a slow machine would have one in between
    with console.events() as events:
        assert next(events) == {"event": "processes", "data": []}
        with fake_process("control-a", hello=lambda _: {"id": "control-b", "pid": 7, "started": 2.0}):
            here = {"id": "control-a", "pid": 7, "started": 2.0, "alive": True}
            assert next(events) == {"event": "processes", "data": [here]}
            assert console.ask("GET", "/api/processes").json == {"processes": [here]}
            with fake_process("control-b", hello=lambda _: {"started": 1.0}):
                assert [one["id"] for one in next(events)["data"]] == ["control-b", "control-a"]
            assert next(events)["data"] == [here]
        assert next(events)["data"] == []
    assert console.ask("GET", "/api/processes").json == {"processes": []}


def test_events_of_all_processes_reach_all_pages(console, monkeypatch):
    monkeypatch.setattr(relay, "LOOK_S", 0.02)
    with fake_process("control-a") as first, fake_process("control-b") as second:
        with console.events() as one, console.events() as other:
            assert first.subscribed.wait(10)
            assert second.subscribed.wait(10)
            first.send("call", {"seq": 1, "text": "</script>\u2028\U0001f600"})
            second.send("jobs", {})
            for events in (one, other):
                found = list(itertools.islice((event for event in events if "process" in event), 2))
                assert sorted(found, key=lambda event: event["process"]) == [
                    {"process": "control-a", "event": "call", "data": {"seq": 1, "text": "</script>\u2028\U0001f600"}},
                    {"process": "control-b", "event": "jobs", "data": {}},
                ]
        assert until(lambda: all(is_closed(one) for one in (*first.connections, *second.connections)))


def is_closed(connection) -> bool:
    return connection.fileno() == -1


def test_a_page_that_does_not_read_holds_nobody_up_and_is_told_to_read_again(console, monkeypatch):
    monkeypatch.setattr(relay, "LOOK_S", 0.02)
    monkeypatch.setattr(relay, "MAX_FEED_BYTES", 200_000)
    with fake_process("control-a") as process, console.events() as slow, console.events() as quick:
        assert process.subscribed.wait(10)
        for number in range(2_000):
            process.send("call", {"seq": number, "text": "x" * 10_000})
            if number % 10 == 9:  # the quick page keeps up
                while next(one for one in quick if one["event"] == "call")["data"]["seq"] < number:
                    pass
        process.send("call", {"seq": "last"})
        found = list(iter(lambda: next(slow), {"process": "control-a", "event": "call", "data": {"seq": "last"}}))
    assert {"event": "resync"} in found
    assert len(found) < 2_000


def test_answers_and_errors_of_a_process_are_passed_on(console):
    with fake_process("control-a", echo=lambda given: given, fail=lambda _: "It failed."):
        assert console.request("control-a", "echo", a=[1, None, "é\u0000"]) == {"result": {"a": [1, None, "é\u0000"]}}
        assert console.request("control-a", "fail") == {"error": "It failed."}
        assert console.request("control-a", "echo", text="x" * 3_000_000)["result"] == {"text": "x" * 3_000_000}


GONE = {"error": "This process has ended."}


@pytest.mark.parametrize(
    "name", ["control-b", "../console.json", "/dev/log", "console.lock", "", "other", "control-a/", "\0"]
)
def test_only_control_sockets_are_asked(console, name):
    with fake_process("control-a"), fake_process("other"):
        assert console.request(name, "hello") == GONE


@pytest.mark.parametrize("said", [b"", b"no json\n", b"[]\n", b'{"id": 1', b"\xff\n"])
def test_a_process_that_breaks_the_protocol_is_taken_for_ended(console, said):
    def answer(_):
        if not said:
            raise OSError  # it closes the connection
        return said if said.endswith(b"\n") else said + b"\n"

    with fake_process("control-a", odd=answer):
        assert console.request("control-a", "odd") == GONE
    with fake_process("control-a", hello=answer):
        assert console.ask("GET", "/api/processes").json == {"processes": []}


def test_a_process_that_does_not_answer_is_not_waited_for(console, monkeypatch):
    monkeypatch.setattr(relay, "REQUEST_TIMEOUT_S", 0.1)
    monkeypatch.setattr(relay, "HELLO_TIMEOUT_S", 0.1)
    with fake_process("control-a", slow=lambda _: time.sleep(0.5), hello=lambda _: time.sleep(0.5)):
        assert console.request("control-a", "slow") == {"error": "The process does not answer."}
        assert console.ask("GET", "/api/processes").json == {"processes": []}


def test_a_slow_request_does_not_hold_up_another(console):
    answered = threading.Event()
    with fake_process("control-a", slow=lambda _: answered.wait(10), answer=lambda _: 1):
        slow = threading.Thread(target=console.request, args=("control-a", "slow"))
        slow.start()
        assert console.request("control-a", "answer") == {"result": 1}
        assert slow.is_alive()
        answered.set()
        slow.join()


def test_a_run_folder_that_cannot_be_read_has_no_processes(console, monkeypatch):
    monkeypatch.setattr(relay, "LOOK_S", 0.02)
    folder = Path(user_sockets.run_folder())
    with console.events() as events:
        assert next(events)["data"] == []
        folder.chmod(0o755)  # it is not private any more
        try:
            assert console.ask("GET", "/api/processes").json == {"processes": []}
            assert console.request("control-a", "hello") == GONE
        finally:
            folder.chmod(0o700)
        with fake_process("control-a"):
            assert [one["id"] for one in next(events)["data"]] == ["control-a"]


def test_a_quiet_stream_beats(console, monkeypatch):
    monkeypatch.setattr("toolroll.console.app.BEAT_S", 0.05)
    with console.events() as events:
        assert named(events, "beat") == {"event": "beat"}


def test_too_many_pages_are_refused(console, monkeypatch):
    monkeypatch.setattr(relay, "MAX_FEEDS", 1)
    with console.events():
        answer = console.ask("GET", "/api/events")
        assert (answer.status, answer.body) == (503, b"Too many pages are open. Close one.\n")
    assert until(lambda: console.ask("GET", "/api/processes", Authorization=f"Bearer {TOKEN}").status == 200)


@pytest.mark.parametrize("method", sorted(poisoned_process()))
def test_texts_that_attack_the_page_arrive_as_they_were_sent(console, method):
    """The page gets them as JSON alone; `page/test_xss_stories.py` looks at what it does with them."""
    answers = poisoned_process()
    with fake_process("control-evil", **answers):
        answer = answers[method]({"seq": 1, "number": 1, "to": 1})
        kind = "error" if isinstance(answer, str) else "result"
        assert console.request("control-evil", method, seq=1, number=1, to=1) == {kind: answer}
