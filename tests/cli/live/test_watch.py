"""`toolroll watch`: a line for each call, as wide as the terminal."""

import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import until
from toolroll import Kit
from toolroll.cli.live.watch import Trace, format_call
from toolroll.control.client import find_processes
from toolroll.control.server import ControlServer

Run = Callable[..., tuple[int, str, str]]
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


@pytest.mark.parametrize("as_json", [True, False])
def test_calls_are_shown_as_they_end(ws: Path, quick: Run, capsys: pytest.CaptureFixture[str], as_json: bool) -> None:
    with Kit(ws) as kit, ControlServer(kit, "mcp", client="tester") as server:
        kit.call("ls", {})  # before
        until(find_processes)
        trace = Trace(str(ws), as_json=as_json)
        trace.follow_new()
        until(lambda: server.has_subscriber("call"))
        kit.call("read", {"path": "none.txt"})
        server.calls.amend(2, "another text")
        lines: list[str] = []
        while not lines:
            trace.show_until(time.monotonic() + 0.1)
            lines += capsys.readouterr().out.splitlines()
    [line] = lines
    if as_json:
        shown = json.loads(line)
        assert (shown["tool"], shown["status"], shown["text"]) == ("read", "error", "another text")
        assert (shown["process"], shown["workspace"]) == (server.hands.id, str(ws))
    else:
        assert re.search(rf' tester\[{os.getpid()}\] read  path="none.txt"  error NotFound \d\.\d\ds 3t$', line)


def test_ctrl_c_ends_it(quick: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_trace: Trace) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Trace, "follow_new", interrupt)
    assert quick("watch", "--all") == (0, "", "Waiting for calls in every workspace. Ctrl-C ends this.\n")
    assert "Cannot open the workspace 'none'" in quick("watch", "-C", "none")[2]
