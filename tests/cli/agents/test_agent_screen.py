"""What a terminal shows while an agent works."""

import io
import os
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from tests.terminals import at_terminal
from toolroll.agent.transcript import AssistantRecord, RecordedCall, ToolRecord
from toolroll.cli.agents import agent_screen
from toolroll.cli.agents.agent_screen import AgentScreen, cost, format_record
from toolroll.control.prompt import ApprovalPrompt
from toolroll.host.approval.request import CannotAskError
from toolroll.host.runtime.cancellation import CancelToken


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    made = Terminal()
    monkeypatch.setattr(agent_screen, "sys", SimpleNamespace(stderr=made))
    monkeypatch.setattr(agent_screen.shutil, "get_terminal_size", lambda: os.terminal_size((50, 24)))
    return made


def test_the_line_with_the_state_is_below_all_that_is_written_and_gone_at_the_end(terminal: Terminal) -> None:
    with AgentScreen((10, 100)) as screen:
        screen.write("I look")
        screen.show(AssistantRecord("I look", [RecordedCall("1", "ls", "{}")], input_tokens=1000, output_tokens=100))
        screen.show(ToolRecord("1", "ls", "success", "a.txt"))
    shown = terminal.getvalue()
    assert shown.startswith("I look\n\x1b[2m-> ls {}\x1b[0m\n\r\x1b[K\x1b[36m1 step, 1,100 tokens, $0.0200, 0:00  ls")
    assert shown.endswith("\r\x1b[K")
    assert (
        "\x1b[2m<- ls success: a.txt\x1b[0m\n\r\x1b[K\x1b[36m1 step, 1,100 tokens, $0.0200, 0:00  waiting for" in shown
    )


def test_lines_are_as_wide_as_the_terminal_and_a_diff_is_whole(terminal: Terminal) -> None:
    long = format_record(ToolRecord("1", "read", "success", "x" * 200))
    assert [len(line) for line in long] == [50 + len("\x1b[2m\x1b[0m")]
    lines = format_record(ToolRecord("1", "edit", "success", "Edited a.\n@@ -1 +1 @@\n-\x1b[31m\n+y"))
    assert lines == [
        "\x1b[2m<- edit Edited a.\x1b[0m",
        "\x1b[36m@@ -1 +1 @@\x1b[0m",
        "\x1b[31m-\\x1b[31m\x1b[0m",
        "\x1b[32m+y\x1b[0m",
    ]
    many = format_record(ToolRecord("1", "edit", "success", "Edited a.\n@@ -1 +1 @@\n" + "+y\n" * 100))
    assert "[41 more lines]" in many[-1]


def test_the_whole_question_is_on_the_terminal(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("s\n"))
    asked = ApprovalPrompt("write: needs approval\n\npath: a\\u202e.txt\ncontent: x", diff="a\n@@ -1,0 +1,1 @@\n+x")
    screen = AgentScreen()
    assert screen.ask(asked, CancelToken()) == "s\n"
    assert capsys.readouterr().err == (
        "\nwrite: needs approval\n\npath: a\\u202e.txt\ncontent: x\na\n@@ -1,0 +1,1 @@\n+x\n"
        "Allow? [y]es, [n]o, for this [s]ession, [a]lways: "
    )
    with pytest.raises(CannotAskError, match="terminal was closed"):
        screen.ask(asked, CancelToken())


def test_a_question_that_was_answered_elsewhere() -> None:
    withdrawn = CancelToken()
    withdrawn.cancel()
    with at_terminal([]) as person, pytest.raises(CannotAskError, match="answered elsewhere"):
        AgentScreen().ask(ApprovalPrompt("write: needs approval"), withdrawn)
    assert "lways: \r\nIt was answered elsewhere, or its call has ended." in person.seen


def test_only_keys_after_the_last_row_count() -> None:
    with at_terminal([("lways: ", "n")], early="y\n"):
        assert AgentScreen().ask(ApprovalPrompt("write: needs approval"), CancelToken()) == "n\n"


def test_the_cost_is_that_of_both_kinds_of_tokens() -> None:
    assert cost((3, 15), 1_000_000, 200_000) == 6
