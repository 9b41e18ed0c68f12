"""The steps of calls under way."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import msgspec
import pytest

from toolroll import Kit
from toolroll.host.files.journal.entry import PathChange, PathState
from toolroll.host.files.journal.log import JournalLog
from toolroll.host.files.journal.pending import PendingSteps, _is_free, is_running
from toolroll.host.runtime.state import State


@pytest.fixture
def log(tmp_path):
    state = State(str(tmp_path / "state"))
    yield JournalLog(state)
    state.close()


def test_the_record_of_a_call_is_used_again_and_swept_by_the_next_start(kit, ws, tmp_path):
    pending = Path(kit.state_dir, "journal/pending")
    for n in range(3):
        assert kit.call("write", {"path": "a.txt", "content": str(n)}).ok
    (first,) = pending.iterdir()
    assert first.stat().st_size == 0
    with Kit(ws, state_dir=kit.state_dir):
        assert list(pending.iterdir()) == []
    assert kit.call("write", {"path": "a.txt", "content": "swept"}).ok
    assert [one.stat().st_size for one in pending.iterdir()] == [0]


def test_a_record_that_another_left_its_steps_in_or_holds_is_not_used(log, tmp_path):
    step = PathChange("a", None, None)
    with log.under_way({}) as pending:
        pending.about_to(step)
    (record,) = (tmp_path / "state/journal/pending").iterdir()
    record.write_bytes(msgspec.json.encode(step) + b"\n")  # as a process does that was forked from this one
    with log.under_way({}) as pending:
        pending.about_to(PathChange("b", None, None))
        ((call, name),) = log.unfinished()
    assert (call.steps, name) == ([step], record.name)
    assert record.stat().st_size > 0


def test_nobody_uses_a_record_while_it_is_looked_at(log, tmp_path):
    step = PathChange("a", None, None)
    with log.under_way({}) as pending:
        pending.about_to(step)
    for _, name in log.unfinished():
        with log.under_way({}) as pending:
            pending.about_to(step)
            assert sorted(one.stat().st_size for one in (tmp_path / "state/journal/pending").iterdir())[0] == 0
        log.pending.forget(name)
        assert name not in os.listdir(tmp_path / "state/journal/pending")
    assert len(os.listdir(tmp_path / "state/journal/pending")) == 1


def test_whether_the_process_of_a_record_runs():
    with subprocess.Popen(["true"]) as ended:
        pass
    assert [is_running(process) for process in (str(os.getpid()), "of an older version", str(ended.pid))] == [
        True,
        True,
        False,
    ]


def test_a_record_is_free_unless_locked_swept_or_full(tmp_path):
    (record := tmp_path / "record").write_bytes(b"")
    with record.open("a") as one, record.open("a") as other:
        assert _is_free(one.fileno()) is True
        assert _is_free(other.fileno()) is False  # locked
        one.write("step\n")
        one.flush()
        assert _is_free(one.fileno()) is False
        one.truncate(0)
        assert _is_free(one.fileno()) is True
        record.unlink()
        assert _is_free(one.fileno()) is False


@pytest.mark.parametrize(("runs", "let_go", "least"), [(True, 60.0, 0.0), (False, 0.1, 0.1)])
def test_only_for_the_lock_of_a_process_that_ended_one_waits(log, tmp_path, monkeypatch, runs, let_go, least):
    monkeypatch.setattr("toolroll.host.files.journal.pending._LET_GO_S", let_go)
    with subprocess.Popen(["true"]) as ended:
        pass
    record = tmp_path / f"1-2-{os.getpid() if runs else ended.pid}"
    with record.open("wb") as file:
        assert _is_free(file.fileno())
        folder = os.open(tmp_path, os.O_RDONLY)
        begun = time.monotonic()
        with pytest.raises(BlockingIOError), PendingSteps.left(folder, record.name):
            pass
        os.close(folder)
    assert least <= time.monotonic() - begun < least + 30


@pytest.mark.parametrize("line", range(3))
def test_a_damaged_line_costs_one_step(log, tmp_path, line):
    steps = [PathChange(name, None, PathState("link", 0, name)) for name in "ab"]
    with log.under_way({"x": "/x"}) as pending:
        pending.about_to(*steps)
        pending.is_kept = True
    (record,) = (tmp_path / "state/journal/pending").iterdir()
    lines = record.read_bytes().splitlines(keepends=True)
    lines[line] = b"\0" * (len(lines[line]) - 1) + b"\n"
    record.write_bytes(b"".join(lines))
    ((call, _),) = log.unfinished()
    assert (call.steps, call.damaged) == ([one for at, one in enumerate(steps, 1) if at != line], 1)
