"""Calls of one message: each path is in the entry of the call that changed it, and all of it can be taken back."""

import random
import shutil
import threading
from pathlib import Path

import pytest

from toolroll import Kit
from toolroll.host.capture import capture as capture_module
from toolroll.host.capture.under_way import CaptureWatch
from toolroll.host.files import atomic
from toolroll.host.files.openat import WriteTurn

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="runs commands")


@pytest.fixture
def kit(tmp_path):
    top = tmp_path / "ws"
    top.mkdir()
    (top / "a.txt").write_text("old\n")
    with Kit(top, state_dir=tmp_path / "state") as kit:
        assert kit.call("bash", {"command": "true"}).ok
        yield kit


def change(kit, recorder, path, data):
    with kit._services.root.place(path) as place, recorder.writing(place, data, None, None):
        atomic.write(place, data, stage=None)


def changed(kit):
    return [entry.paths() for entry in kit.journal.entries()]


def test_a_command_that_ends_within_a_call_has_nothing_of_it(kit):
    with kit.journal.entry("write", "", "") as recorder:
        change(kit, recorder, "a.txt", b"new\n")
        change(kit, recorder, "made.txt", b"made\n")
        assert kit.call("bash", {"command": "echo > b.txt"}).text == "(no output)\nChanged 1 file: b.txt (new)."
    assert kit.call("bash", {"command": "echo > c.txt"}).ok
    assert changed(kit) == [["b.txt"], ["a.txt", "made.txt"], ["c.txt"]]
    assert kit.rewind(0).ok
    assert {one.name: one.read_text() for one in Path(kit.workspace).iterdir()} == {"a.txt": "old\n"}


def test_a_call_that_fails_beside_a_command_is_in_no_entry(kit):
    def fail():
        with kit.journal.entry("write", "", "") as recorder:
            change(kit, recorder, "a.txt", b"new\n")
            change(kit, recorder, "made.txt", b"made\n")
            assert kit.call("bash", {"command": "echo > b.txt"}).ok
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert kit.call("bash", {"command": "echo > c.txt"}).ok
    assert changed(kit) == [["b.txt"], ["c.txt"]], [one.changes for one in kit.journal.entries()]
    assert kit.rewind(0).ok
    assert {one.name: one.read_text() for one in Path(kit.workspace).iterdir()} == {"a.txt": "old\n"}


def test_a_command_that_begins_within_a_call_knows_what_was_there(kit):
    """Its baseline is taken while the file has the new text, and the call fails."""
    capture, watch = kit._services.capture, None

    def fail():
        nonlocal watch
        with kit.journal.entry("write", "", "") as recorder:
            change(kit, recorder, "a.txt", b"new\n")
            watch = CaptureWatch(capture, kit.context().call, "a command")
            watch.begin()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    watch.end()
    assert changed(kit) == [], [one.changes for one in kit.journal.entries()]
    assert kit.call("bash", {"command": "echo more >> a.txt"}).ok
    assert kit.undo().ok
    assert Path(kit.workspace, "a.txt").read_text() == "old\n"


@pytest.fixture
def other(kit):
    """Another kit on the same workspace and state, as another process has it."""
    with Kit(kit.workspace, state_dir=Path(kit.state_dir)) as other:
        assert other.call("bash", {"command": "true"}).ok
        yield other


def test_what_another_kit_has_made_and_a_command_removes_is_in_both_entries(kit, other):
    top = Path(kit.workspace)
    watch = CaptureWatch(kit._services.capture, kit.context().call, "rm made")
    watch.begin()
    assert other.call("bash", {"command": "echo > made; mkdir folder"}).ok
    (top / "made").unlink()
    (top / "folder").rmdir()
    watch.end()
    assert changed(kit) == [["folder", "made"], ["folder", "made"]]
    assert kit.undo().ok
    assert sorted(one.name for one in top.iterdir()) == ["a.txt", "folder", "made"]
    assert kit.rewind(0).ok
    assert [one.name for one in top.iterdir()] == ["a.txt"]


def test_two_undos_at_once_undo_two_entries(kit, other):
    for text in ("1\n", "2\n", "3\n"):
        assert kit.call("write", {"path": "a.txt", "content": text}).ok
    with WriteTurn(kit._services.root) as turn:
        turn.take()
        both = [threading.Thread(target=one.undo) for one in (kit, other)]
        for one in both:
            one.start()
    for one in both:
        one.join()
    assert [entry.undoes for entry in kit.journal.entries()[3:]] == [(3,), (2,)]
    assert Path(kit.workspace, "a.txt").read_text() == "1\n"


def test_what_a_kit_could_not_record_before_it_was_closed_is_recorded_by_the_next(kit, other, monkeypatch):
    monkeypatch.setattr(capture_module, "_PATIENCE_S", 0)
    with other.journal.entry("write", "", "") as recorder:
        change(other, recorder, "a.txt", b"new\n")
        assert kit.call("bash", {"command": "echo more >> a.txt"}).ok
        kit.close()
    with Kit(kit.workspace, state_dir=Path(kit.state_dir)) as later:
        assert [(one.tool, one.paths()) for one in later.journal.entries()] == [
            ("write", ["a.txt"]),
            ("bash", ["a.txt"]),
        ]
        assert later.rewind(0).ok
        assert Path(kit.workspace, "a.txt").read_text() == "old\n"


@pytest.mark.parametrize("seed", range(2))
def test_random_calls_of_two_threads_in_two_kits_can_be_taken_back(kit, other, seed):
    names, kits = [f"m{n}.txt" for n in range(4)], (kit, other)
    for name in names:
        Path(kit.workspace, name).write_text("0101\n")

    def work(own):
        chance, kit = random.Random(seed * 4 + own), kits[own % 2]
        for _ in range(6):
            text = str(chance.random())
            kind = chance.randrange(3)
            if kind == 0:
                kit.call("write", {"path": f"w{chance.randrange(3)}.txt", "content": text})
            elif kind == 1:
                kit.call(
                    "multiedit", {"pattern": "m*.txt", "find": chance.choice("01"), "replace": chance.choice("01")}
                )
            else:
                command = f"echo {text} > b{chance.randrange(3)}.txt; rm -f b{chance.randrange(3)}.txt"
                kit.call("bash", {"command": command})

    threads = [threading.Thread(target=work, args=(own,)) for own in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    said = kit.rewind(0)
    assert said.ok, said.text
    left = {one.name: one.read_text() for one in Path(kit.workspace).iterdir()}
    assert left == {"a.txt": "old\n"} | dict.fromkeys(names, "0101\n")
