"""`toolroll watch`: a line for each call, as wide as the terminal."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import until
from toolroll import Kit
from toolroll.cli.live.watch import format_call
from toolroll.control.server import ControlServer

PROCESS: dict[str, Any] = {"pid": 7, "kind": "mcp", "client": "", "workspace": "/home/me/shop"}
CALL: dict[str, Any] = {"client": "cursor", "tool": "read", "arguments": {"path": "a.txt"}, "status": "success"}
CALL |= {"code": "", "started": 0.0, "seconds": 0.25, "tokens": 1_234}


@pytest.mark.parametrize(
    ("process", "call", "options", "line"),
    [
        ({}, {}, {}, ' cursor[7] read  path="a.txt"  success 0.25s 1,234t'),
        ({}, {"client": ""}, {"with_folder": True}, ' shop mcp[7] read  path="a.txt"  success 0.25s 1,234t'),
        ({}, {"status": "error", "code": "NotFound"}, {}, ' cursor[7] read  path="a.txt"  error NotFound 0.25s 1,234t'),
        ({}, {"arguments": {"a": "x" * 99}}, {"width": 60}, ' cursor[7] read  a="xxxxxxx...  success 0.25s 1,234t'),
        ({}, {}, {"width": 20}, " cursor[7] r"),
        ({}, {"tool": "\x1b[2J\u202e", "arguments": {}}, {}, " cursor[7] ?[2J?    success 0.25s 1,234t"),
    ],
)
def test_a_line(process: dict[str, Any], call: dict[str, Any], options: dict[str, Any], line: str) -> None:
    given = {"with_folder": False, "width": None, **options}
    shown = format_call(PROCESS | process, CALL | call, **given)
    assert shown[8:] == line
    assert given["width"] in (None, len(shown))


def test_calls_are_shown_as_they_end(ws: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", env["XDG_STATE_HOME"])
    with Kit(ws) as kit, ControlServer(kit, "mcp", client="tester") as server:
        kit.call("ls", {})  # before
        words = [sys.executable, "-m", "toolroll", "watch", "--json"]
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen(words, cwd=ws, env=env, **pipes) as watching:
            assert f"Waiting for calls in {ws}.".encode() in watching.stderr.readline()  # type: ignore[union-attr]  # it is a pipe
            until(lambda: server.has_subscriber("call"))
            kit.call("read", {"path": "none.txt"})
            shown = json.loads(watching.stdout.readline())  # type: ignore[union-attr]  # it is a pipe
            watching.send_signal(signal.SIGINT)
            assert watching.wait(20) == 0
    assert (shown["tool"], shown["status"], shown["process"]) == ("read", "error", server.hands.id)
