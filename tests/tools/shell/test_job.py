"""`job`: polling with an offset, input, killing, the list; nothing survives the kit."""

import functools
import re
import threading
import time

import pytest

from tests.waiting import until
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.shell import shell, supervisor
from toolroll.host.shell.output import CapturedOutput


def start(kit, command):
    return kit.call("bash", {"command": command, "background": True})


def output(kit, job):
    return kit.call("job", {"action": "output", "id": job, "wait": 0.1}).text


def test_a_job_is_polled_from_an_offset(kit, put, monkeypatch):
    monkeypatch.setattr(shell, "QUICK_SECONDS", 0.5)
    begun = start(kit, "echo one; until [ -e go ]; do sleep 0.05; done; echo two")
    assert begun.data["job"] == 1
    assert begun.text.startswith("one\nStill running as job 1.")
    first = kit.call("job", {"action": "output", "id": 1}).data
    assert (first["output"], first["next"], first["state"]) == ("one\n", 4, "running")
    put({"go": ""})
    rest = kit.call("job", {"action": "output", "id": 1, "offset": 4, "wait": 30}).data
    assert (rest["output"], rest["next"], rest["state"]) == ("two\n", 8, "exited with 0")


def test_what_was_shown_is_not_shown_again(open_kit, put):
    kit = open_kit("codex")
    begun = kit.call(
        "exec_command", {"cmd": "echo one; until [ -e go ]; do sleep 0.05; done; echo two", "yield_time_ms": 250}
    )
    assert begun.data["output"] == "one\n"
    put({"go": ""})
    rest = kit.call("write_stdin", {"session_id": 1, "yield_time_ms": 30_000}).data
    assert (rest["output"], rest["exit_code"]) == ("two\n", 0)


def test_what_fails_at_once_is_told_at_once(kit, monkeypatch):
    monkeypatch.setattr(shell, "QUICK_SECONDS", 10)
    result = start(kit, "echo broken; exit 4")
    assert (result.data["outcome"], result.data["exit_code"], result.text) == ("exited", 4, "broken\nExit code: 4")
    assert kit.call("job", {"action": "list"}).text == "There are no jobs."


def test_input_reaches_it(kit):
    start(kit, 'read -r name; echo "hello $name"; read -r rest; echo done')
    said = kit.call("job", {"action": "input", "id": 1, "input": "you\n", "wait": 0.1})
    assert until(lambda: "hello you" in said.text or "hello you" in output(kit, "1"))
    kit.call("job", {"action": "input", "id": 1, "input": "\n", "wait": 30})
    assert kit.call("job", {"action": "output", "id": 1}).data["output"] == "hello you\ndone\n"


def test_a_wait_that_is_cancelled_ends_nothing(kit):
    start(kit, "sleep 100")
    token = CancelToken()
    threading.Timer(0.3, token.cancel).start()
    assert kit.call("job", {"action": "output", "id": 1, "wait": 30}, token=token).error.code == "Cancelled"
    assert kit.call("job", {"action": "output", "id": 1}).data["state"] == "running"


def test_killing_and_listing(kit, tier):
    start(kit, "echo seen; read x; echo new; sleep 100")
    start(kit, "sleep 200")
    assert [(one["id"], one["state"]) for one in kit.call("job", {"action": "list"}).data["jobs"]] == [
        (1, "running"),
        (2, "running"),
    ]
    running = kit.context().commands.jobs.get(1).running
    until(lambda: running.output.total)
    assert kit.call("job", {"action": "output", "id": 1}).data["output"] == "seen\n"
    running.write(b"x\n")
    until(lambda: running.output.total > 5)
    killed = kit.call("job", {"action": "kill", "id": 1}).data
    assert (killed["state"], killed["output"]) == ("killed", "new\n"), "what was shown is not shown again"
    listed = kit.call("job", {}).text
    assert "1  killed" in listed
    assert "2  running" in listed
    assert "sleep 200" in listed


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ({"action": "output"}, "ValidationError", "id"),
        ({"action": "output", "id": 9}, "NotFound", "9"),
        ({"action": "output", "id": 1, "offset": 10**9}, "ValidationError", "beyond"),
        ({"action": "burn"}, "ValidationError", "burn"),
    ],
)
def test_bad_input(kit, arguments, code, words):
    start(kit, "sleep 100")
    result = kit.call("job", arguments)
    assert result.error.code == code
    assert words in result.text


def test_input_to_one_that_has_ended(kit):
    start(kit, "sleep 0.3")
    kit.call("job", {"action": "output", "id": 1, "wait": 30})
    assert kit.call("job", {"action": "input", "id": 1, "input": "x"}).error.code == "Conflict"


def test_nothing_survives_the_kit(open_kit, ws, tier):
    kit = open_kit()
    start(kit, "while true; do date > alive; sleep 0.05; done")
    assert until((ws / "alive").exists)
    kit.close()
    before = (ws / "alive").stat().st_mtime_ns
    time.sleep(0.3)
    assert (ws / "alive").stat().st_mtime_ns == before


def test_what_was_dropped_of_a_long_output_is_said_and_not_replaced_by_other_bytes(kit, monkeypatch):
    made = functools.partial(CapturedOutput, head=100, tail=100, most=1000)
    monkeypatch.setattr(supervisor, "CapturedOutput", made)
    start(kit, "for i in $(seq 1000 3000); do echo $i; done; sleep 100")
    total = 5 * 2001
    assert until(lambda: kit.call("job", {"action": "output", "id": 1}).data["total"] == total)
    first = kit.call("job", {"action": "output", "id": 1})
    gap = re.search(r"Bytes (\d+) to (\d+) of the output were dropped: it is too long\.", first.text)
    assert gap, first.text
    start_of_gap, last = map(int, gap.groups())
    assert first.data["next"] == last + 1
    refused = kit.call("job", {"action": "output", "id": 1, "offset": start_of_gap + 1})
    assert refused.text == (
        f"The output has nothing at `offset` {start_of_gap + 1}: bytes {start_of_gap} to {last} were dropped, for it is "
        f"too long. There are 0 to {start_of_gap - 1}, and {last + 1} to {total - 1}."
    )
    assert kit.call("job", {"action": "output", "id": 1, "offset": last + 1}).data["output"].endswith("2999\n3000\n")
