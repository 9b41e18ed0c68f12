"""Calls of one message: each path is in the entry of the call that changed it, and all of it can be taken back."""

import random
import shutil
import threading
from pathlib import Path

import pytest

from toolroll import Kit
from toolroll.host.capture.under_way import CaptureWatch
from toolroll.host.files import atomic

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


@pytest.mark.parametrize("seed", range(2))
def test_random_calls_of_two_threads_can_be_taken_back(kit, seed):
    names = [f"m{n}.txt" for n in range(4)]
    for name in names:
        Path(kit.workspace, name).write_text("0101\n")

    def work(own):
        chance = random.Random(seed * 2 + own)
        for _ in range(10):
            text = str(chance.random())
            kind = chance.randrange(3)
            if kind == 0:
                kit.call("write", {"path": f"w{chance.randrange(3)}.txt", "content": text})
            elif kind == 1:
                kit.call(
                    "multiedit", {"pattern": "m*.txt", "find": chance.choice("01"), "replace": chance.choice("01")}
                )
            else:
                command = f"echo {text} > b{chance.randrange(3)}.txt; sed -i s/0/1/ {chance.choice(names)}"
                kit.call("bash", {"command": command})

    threads = [threading.Thread(target=work, args=(own,)) for own in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    said = kit.rewind(0)
    assert said.ok, said.text
    left = {one.name: one.read_text() for one in Path(kit.workspace).iterdir()}
    assert left == {"a.txt": "old\n"} | dict.fromkeys(names, "0101\n")
