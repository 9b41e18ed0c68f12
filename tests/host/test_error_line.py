"""Lines that reach a terminal from any thread."""

import os
import sys

import pytest

from toolroll.host.error_line import write_error_line


def test_what_controls_or_hides_is_written_as_escapes(capfd: pytest.CaptureFixture[str]) -> None:
    write_error_line("toolroll", "a\x1b[2J\u202eb\r\U000e0041 \ud800\nc")
    assert capfd.readouterr().err == "toolroll: a\\x1b[2J\\u202eb\\r\\U000e0041 \\ud800\nc\n"


def test_a_closed_stderr_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with open(os.devnull, "w") as closed:
        pass
    for stream in (None, closed):
        monkeypatch.setattr(sys, "stderr", stream)
        write_error_line("toolroll", "x")
