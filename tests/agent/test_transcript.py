from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.test_loop import BROKEN, FIXED
from tests.host.models.chat.served import KEY, Say, Served, call
from toolroll.agent import PRESETS, Agent
from toolroll.agent.transcript import (
    AssistantRecord,
    EndRecord,
    Record,
    ReplayModel,
    StartRecord,
    ToolRecord,
    Transcript,
    describe_record,
    read_records,
)
from toolroll.policy.secrets import Redaction

Serve = Callable[..., Served]


def test_every_message_is_kept_without_secrets_and_can_be_replayed(
    serve: Serve, agent_at: Any, put: Any, ws: Path, open_kit: Any
) -> None:
    put({**BROKEN, ".env": f"OPENAI_API_KEY={KEY}\n"})
    server = serve(
        "openai",
        Say(f"Looking, not at {KEY}.", (("read", {"path": ".env"}), ("raed", {}))),
        call("edit", path="shop.py", old="+ discount", new="- discount"),
        call("finish", result="Mended."),
    )
    lines: list[str] = []
    agent, told = agent_at(server)
    agent._watch = (*agent._watch, Transcript(lines.append, Redaction(server.environment)))
    first = agent.run("Mend it.")
    assert first.finished
    assert (ws / "shop.py").read_text() == FIXED
    assert KEY in str(told)
    assert KEY not in "".join(lines)
    kinds = [json.loads(line)["type"] for line in lines]
    assert kinds == ["start", "assistant", "tool", "tool", "assistant", "tool", "assistant", "tool", "end"]
    records = read_records(lines)
    said = [one for one in records if isinstance(one, AssistantRecord)]
    assert said[0].text == "Looking, not at [redacted]."
    assert (said[0].input_tokens, said[0].output_tokens) == (100, 10)
    assert records[-1] == told[-1]

    put(BROKEN)
    asked = len(server.asked)
    again: list[Record] = []
    done = Agent(open_kit(), ReplayModel(records), PRESETS["native"], watch=[again.append]).run("Mend it.")
    assert done == first
    assert (ws / "shop.py").read_text() == FIXED
    assert len(server.asked) == asked
    results = [[one.status for one in run if isinstance(one, ToolRecord)] for run in (records, again)]
    assert results[0] == results[1] == ["success", "error", "success", "success"]


def test_replay_of_a_run_that_was_broken_off(open_kit: Any) -> None:
    records = [StartRecord("x", "m", "native", "native", "functions", []), AssistantRecord("hm", stop="end")]
    done = Agent(open_kit(), ReplayModel(records)).run("x")
    assert (done.finished, done.reason, done.steps) == (False, "model", 1)
    assert done.text == "The transcript ends here. Run the task with a model to go on."


START = '{"type":"start","task":"x","model":"m","preset":"p","dialect":"d","style":"functions","tools":[]}\n'
WRONG = [
    ([], "not a transcript"),
    (["\n"], "not a transcript"),
    (['{"type":"user","text":"x"}\n'], "does not begin with the start"),
    ([START, "{broken\n", "\n"], "Line 2 of the transcript cannot be read"),
    ([START, '{"type":"nothing"}\n'], "Line 2"),
    ([START, '{"type":"user","text":5}\n'], "Line 2"),
]


@pytest.mark.parametrize(("lines", "message"), WRONG)
def test_what_is_no_transcript(lines: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_records(lines)


def test_a_last_line_that_was_torn_is_passed_over() -> None:
    assert len(read_records([START, '{"type":"user","te'])) == 1


def test_records_for_people() -> None:
    assert (
        describe_record(EndRecord(False, "loop", "why", 3, 10, 5)) == "stopped: loop after 3 steps and 15 tokens: why"
    )
    assert (
        describe_record(ToolRecord("1", "read", "error", "x" * 700, "NotFound"))
        == f"<- read NotFound: {'x' * 600} [...]"
    )
