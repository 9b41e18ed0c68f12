"""The files of the running console: one console at a time, for the user alone, and none left behind."""

import os
from pathlib import Path

import pytest

from toolroll.host.runtime import console_record
from toolroll.host.runtime.console_record import ConsoleRecord, claim_console, find_console, publish_console

RECORD = ConsoleRecord(8400, "the-token", os.getpid())


@pytest.fixture(autouse=True)
def run_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(console_record, "_WAIT_S", 0.1)
    return tmp_path / "toolroll" / "run"


def test_one_console_at_a_time(run_folder):
    assert find_console() is None
    with claim_console() as claimed:
        assert claimed
        assert find_console() is None  # it is just starting
        publish_console(RECORD)
        assert find_console() == RECORD
        with claim_console() as again:
            assert not again
        assert find_console() == RECORD
    assert find_console() is None
    assert sorted(os.listdir(run_folder)) == ["console.lock"]


def test_files_are_for_the_user_alone_whatever_the_umask_and_never_go_through_a_link(run_folder, tmp_path):
    before = os.umask(0)
    try:
        with claim_console():
            other = tmp_path / "other"
            other.write_text("kept")
            for name in ("console.json", "console.html", f"console.json.{os.getpid()}"):
                (run_folder / name).symlink_to(other)
            publish_console(RECORD)
            files = [run_folder / name for name in ("console.json", "console.html", "console.lock")]
            assert [(one.is_symlink(), oct(one.stat().st_mode & 0o777)) for one in files] == [(False, "0o600")] * 3
            assert other.read_text() == "kept"
            assert f'url={RECORD.link}"' in (run_folder / "console.html").read_text()
    finally:
        os.umask(before)


@pytest.mark.parametrize("left", ["", "{", "[]", '{"port": 1}', '{"port": 1, "token": "old", "pid": 1}'])
def test_the_file_of_a_console_that_was_killed_is_not_believed(run_folder, left):
    with claim_console():
        pass
    (run_folder / "console.json").write_text(left)
    assert find_console() is None
    with claim_console():
        assert not (run_folder / "console.json").exists()
