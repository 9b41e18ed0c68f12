"""The log of daemons: lines with the time and the process, and never more than its bound."""

import os
from pathlib import Path

import pytest

from toolroll.host.daemon import log


def test_of_a_full_log_the_newer_half_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(log, "_MAX_BYTES", 1_000)
    for number in range(100):
        log.write_log(f"line {number}\x1b[31m")
    path = Path(log.log_path())
    lines = path.read_text().splitlines()
    assert path.stat().st_size < 1_100
    assert all(f"process {os.getpid()}: line" in line for line in lines)
    assert lines[-1].endswith("line 99\x1b[31m")
    assert not lines[0].endswith("line 0\x1b[31m")


def test_a_log_that_cannot_be_written_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "toolroll").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    log.write_log("ended")
