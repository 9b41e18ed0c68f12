from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.agents.test_agent import sleeping
from tests.host.http.web import Asked, reply
from tests.host.models.chat.served import Served

Run = Callable[..., tuple[int, str, str]]


def parts(**said: list[Any]) -> Callable[[Asked], bytes]:
    """A model that says to each worker what is for its part: a call, or its report."""

    def answer(asked: Asked) -> bytes:
        body = json.loads(asked.body)
        system = body["messages"][0]["content"]
        steps = next(steps for part, steps in said.items() if f"Your part is {part.replace('_', ' ')}" in system)
        turn = sum(one["role"] == "assistant" for one in body["messages"])
        step = steps[min(turn, len(steps) - 1)]
        if isinstance(step, str):
            delta: dict[str, Any] = {"content": step}
        else:
            delta = {
                "tool_calls": [
                    {"index": 0, "id": f"c{turn}", "function": {"name": step[0], "arguments": json.dumps(step[1])}}
                ]
            }
        event = {
            "choices": [{"index": 0, "delta": delta, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 1},
        }
        return reply(f"data: {json.dumps(event)}\n\ndata: [DONE]\n\n", content_type="text/event-stream")

    return answer


def test_a_swarm_from_the_command_line(toolroll: Run, ws: Path, tmp_path: Path) -> None:
    (ws / "a.txt").write_text("one\n")
    (tmp_path / "tmp").mkdir()
    edit = ("file", {"action": "edit", "path": "a.txt", "old_string": "one", "new_string": "two"})
    with Served("openai", parts(review=["Fine."], a_bug=[edit, "Mended."])) as server:
        environment = {**server.environment, "TMPDIR": str(tmp_path / "tmp")}
        status, out, err = toolroll("swarm", "Look.", "--workers", "review,debug", **environment)
    assert status == 0, err
    assert out.startswith(
        "# Look.\n\n## review (finished, 1 steps, 11 tokens)\n\nFine.\n\n## debug (finished, 2 steps, 22 tokens)\n\nMended.\n"
    )
    assert "-one\n+two\n" in out
    assert (ws / "a.txt").read_text() == "one\n"
    assert [path.name for path in ws.iterdir()] == ["a.txt"]
    assert list((tmp_path / "tmp").iterdir()) == []
    patch = out.partition("git apply ")[2].partition("`")[0]
    subprocess.run(["git", "apply", patch], cwd=ws, check=True)
    assert (ws / "a.txt").read_text() == "two\n"
    assert "debug -> file " in err


@pytest.mark.parametrize(("number", "expected"), [(signal.SIGTERM, 143)])
def test_a_signal_ends_all_workers(ws: Path, env: dict[str, str], tmp_path: Path, number: int, expected: int) -> None:
    (ws / "a.txt").write_text("one\n")
    (tmp_path / "tmp").mkdir()
    marks = [f"{5000 + time.time_ns() % 100000 + at}.25" for at in range(2)]
    waits = [("code_exec", {"action": "shell", "code": f"sleep {mark}", "timeout": 60}) for mark in marks]
    with Served("openai", parts(tests=[waits[0]], a_bug=[waits[1]])) as server:
        words = [sys.executable, "-m", "toolroll", "swarm", "Wait.", "--workers", "test,debug"]
        environment = {**env, **server.environment, "TMPDIR": str(tmp_path / "tmp")}
        running = subprocess.Popen(
            words, cwd=ws, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        while not all(map(sleeping, marks)):
            assert running.poll() is None, running.communicate()
            time.sleep(0.05)
        assert os.listdir(tmp_path / "tmp") != []
        running.send_signal(number)
        assert running.communicate(timeout=30)[0] == b""
        assert running.returncode == expected
    assert not any(map(sleeping, marks))
    assert os.listdir(tmp_path / "tmp") == []
