"""What was run and asked can be looked up later, without the secrets in it."""

import json
import os

import pytest

from toolroll import Kit
from toolroll.host.knowledge import call_log as calls
from toolroll.host.knowledge.call_log import CallLog
from toolroll.host.runtime.state import State


def told(kit):
    found = CallLog(State(kit.state_dir), {}).all()
    return [(one.tool, json.loads(one.arguments), one.outcome) for one in found]


def test_what_does_something_is_kept_and_what_only_reads_is_not(open_kit, put):
    put({"a.txt": "one\n"})
    kit = open_kit(session="first")
    kit.call("bash", {"command": "echo hi"})
    kit.call("bash", {"command": "cd /nowhere", "cwd": "gone"})
    kit.call("read", {"path": "a.txt"})
    kit.call("write", {"path": "b.txt", "content": "in the journal"})
    kit.call("todo_write", {"todos": []})
    assert [(tool, outcome) for tool, _, outcome in told(kit)] == [
        ("bash", "success"),
        ("bash", "NotFound"),
        ("todo_write", "success"),
    ]
    assert told(kit)[0][1] == {"command": "echo hi"}
    assert {one.session for one in CallLog(State(kit.state_dir), {}).all()} == {"first"}


def test_a_later_kit_finds_it(ws, tmp_path):
    for number in (1, 2):
        with Kit(ws, state_dir=tmp_path / "state") as kit:
            kit.call("bash", {"command": f"echo pineapple {number}"}, message="buy fruit")
    with Kit(ws, state_dir=tmp_path / "state") as kit:
        found = kit.call("history", {"query": "pineapple"})
    assert "echo pineapple 1" in found.text
    assert "echo pineapple 2" in found.text
    assert "buy fruit" in found.text


def test_secrets_are_not_kept(ws, tmp_path, monkeypatch):
    monkeypatch.setenv("DEPLOY_TOKEN", "tok-9f8e7d6c5b4a39281706")
    with Kit(ws, state_dir=tmp_path / "state") as kit:
        kit.call("bash", {"command": "deploy --with tok-9f8e7d6c5b4a39281706; PASSWORD=hunter2hunter2 login"})
        kept = (tmp_path / "state" / "calls" / "calls.jsonl").read_text()
    assert "deploy --with" in kept
    assert "tok-9f8e" not in kept
    assert "hunter2" not in kept
    assert oct((tmp_path / "state" / "calls" / "calls.jsonl").stat().st_mode)[-3:] == "600"


def test_the_oldest_are_given_up_and_a_torn_line_is_passed_over(open_kit, monkeypatch):
    monkeypatch.setattr(calls, "_MAX_FILE_BYTES", 1000)
    kit = open_kit()
    for number in range(20):
        kit.call("bash", {"command": f": {number}"})
    with open(os.path.join(kit.state_dir, "calls", "calls.jsonl"), "ab") as file:
        file.write(b'\xff"\n{"time": 1, "tool": "\xff"}\n{"time": 1, "to')
    numbers = [int(arguments["command"][2:]) for _, arguments, _ in told(kit)]
    assert numbers == list(range(numbers[0], 20))
    assert 0 < numbers[0] < 19


@pytest.mark.usefixtures("file_modes")
def test_a_state_that_cannot_be_written_costs_nothing_else(open_kit):
    kit = open_kit()
    os.makedirs(kit.state_dir, 0o500)
    assert kit.call("bash", {"command": "echo hi"}).ok


def test_a_state_that_has_no_room_costs_nothing_else(open_kit):
    kit = open_kit()
    os.makedirs(kit.state_dir, exist_ok=True)
    with open(os.path.join(kit.state_dir, "calls"), "w"):
        pass  # where the folder would be
    assert kit.call("time", {}).ok
    assert kit.call("bash", {"command": "echo hi"}).text == "hi"
    assert not kit.call("history", {"query": "hi"}).text.startswith("[1]")


def test_turns_are_kept_once_in_pieces_and_without_secrets(tmp_path):
    state = State(str(tmp_path))
    log = CallLog(state, {"DEPLOY_TOKEN": "tr-9f8e7d6c5b4a"})
    for _ in range(2):
        log.keep_turn("user", f"the token is tr-9f8e7d6c5b4a {'x' * 3000} and the end\n", "s")
    log.keep_turn("assistant", "  ", "s")
    found = log.all()
    assert [(one.tool, one.outcome, one.session) for one in found] == [("user", "said", "s")] * 2
    assert "tr-9f8e" not in found[0].arguments
    assert found[1].arguments.endswith("and the end")
    state.close()
