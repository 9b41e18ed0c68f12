"""The journal on disk."""

from __future__ import annotations

import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.waiting import closed_again, descriptors
from toolroll import Kit
from toolroll.host.files.journal import log as module
from toolroll.host.files.journal.entry import UNKNOWN, JournalEntry, PathChange, PathState
from toolroll.host.files.journal.log import JournalLog, undone_numbers
from toolroll.host.runtime.state import State


@pytest.fixture
def log_file(kit):
    kit.call("write", {"path": "a.txt", "content": "1"})
    kit.call("write", {"path": "a.txt", "content": "2"})
    kit.call("write", {"path": "a.txt", "content": "3"})
    return Path(kit.state_dir, "journal", "log.jsonl")


@pytest.fixture
def log(tmp_path):
    state = State(str(tmp_path / "state"))
    yield JournalLog(state)
    state.close()


def test_entries_say_who_did_what(open_kit):
    kit = open_kit(session="s1")
    kit.call("write", {"path": "x/a.txt", "content": "1"}, message="m1")
    (entry,) = kit.journal.entries()
    assert (entry.number, entry.tool, entry.session, entry.message) == (1, "write", "s1", "m1")
    assert entry.paths() == ["x", "x/a.txt"]
    assert [(one.before, one.after.kind) for one in entry.changes] == [(None, "directory"), (None, "file")]


@pytest.mark.parametrize("first_bytes", [1, 7, 100, 5_000, 1 << 16])
def test_entries_are_read_from_the_end(log, tmp_path, monkeypatch, first_bytes):
    assert list(log.newest_first()) == []
    for size in (10, 3_000, 1, 200):
        log.append(JournalEntry(0, 1.0, "write", "s", "m" * size, ()))
    with (tmp_path / "state" / "journal" / "log.jsonl").open("ab") as file:
        file.write(b'{"above": "cut')
    monkeypatch.setattr(module, "_BACK_BYTES", first_bytes)
    assert list(log.newest_first()) == log.entries()[::-1]
    assert next(log.newest_first()).number == 4


def test_two_kits_write_one_chain(ws, tmp_path):
    kits = [Kit(ws, state_dir=tmp_path / "state") for _ in range(3)]
    start = threading.Barrier(3)

    def work(number):
        start.wait()
        for n in range(20):
            assert kits[number].call("write", {"path": f"f{number}-{n}", "content": "x"}).ok

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))
    assert [entry.number for entry in kits[0].journal.entries()] == list(range(1, 61))
    for kit in kits:
        kit.close()


def test_the_journal_is_private(kit, log_file):
    for folder, _, names in os.walk(kit.state_dir):
        assert os.stat(folder).st_mode & 0o077 == 0, folder
        for name in names:
            assert os.stat(os.path.join(folder, name)).st_mode & 0o077 == 0, name


def test_new_files_are_synced_before_their_names_and_folders_once_after_the_last(kit, ws, monkeypatch):
    """The calls go through; only their order is noted, since a power cut cannot be had in a test."""
    (ws / "sub").mkdir()
    files = [ws / name for name in ("a.txt", "b.txt", "sub/c.txt", "sub/d.txt")]
    for path in files:
        path.write_text("old\n")
    top, sub = (os.stat(folder).st_ino for folder in (ws, ws / "sub"))
    calls: list[tuple[str, int]] = []
    fsync, rename = os.fsync, os.rename

    def synced(fd):
        status = os.fstat(fd)
        calls.append(("sync folder" if stat.S_ISDIR(status.st_mode) else "sync file", status.st_ino))
        fsync(fd)

    def renamed(source, target, **options):
        rename(source, target, **options)
        if options["dst_dir_fd"] is not None and target.endswith(".txt"):
            calls.append(("name", os.stat(target, dir_fd=options["dst_dir_fd"]).st_ino))

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "rename", renamed)
    result = kit.call("multiedit", {"pattern": "**/*.txt", "find": "old", "replace": "new"})
    assert [path.read_text() for path in files] == ["new\n"] * 4, result.text
    new = [path.stat().st_ino for path in files]
    assert calls[:-2] == [("sync file", one) for one in new] + [("name", one) for one in new]
    assert sorted(calls[-2:]) == sorted([("sync folder", top), ("sync folder", sub)])


def test_a_call_that_fails_leaves_no_folder_open(kit, ws):
    for name in ("a.txt", "b.txt"):
        (ws / name).write_text("old\n")
    right = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-old\n+new\n"
    wrong = "--- /dev/null\n+++ b/b.txt/c\n@@ -0,0 +1 @@\n+x\n"
    opened = set()
    for _ in range(3):
        assert kit.call("patch", {"patch": right + wrong}).error.message == "Not a directory: 'b.txt/c'."
        opened = opened or descriptors()
    assert (ws / "a.txt").read_text() == "old\n"
    assert closed_again(opened)


def test_old_contents_go_after_so_many_entries(log, tmp_path, monkeypatch):
    monkeypatch.setattr("toolroll.host.files.journal.log._SWEEP_EVERY", 2)
    monkeypatch.setattr("toolroll.host.files.journal.contents._MOST_BYTES", 0)
    assert log.entries() == []
    kept = []
    for _ in range(4):
        log.blobs.keep(b"content")
        number = log.append(JournalEntry(0, 0.0, "write", "", "", (), ())).number
        kept.append((number, len(os.listdir(tmp_path / "state/journal/blobs"))))
    assert kept == [(1, 1), (2, 0), (3, 1), (4, 0)]
    assert [entry.number for entry in log.entries()] == [1, 2, 3, 4]


def test_an_undoing_that_is_undone_brings_its_entry_back():
    def entry(number: int, *undoes: int) -> JournalEntry:
        return JournalEntry(number, 0.0, "write", "", "", (), undoes)

    entries = [entry(1), entry(2), entry(3, 1, 2), entry(4, 3), entry(5, 4)]
    assert [undone_numbers(entries[:count]) for count in (2, 3, 4, 5)] == [set(), {1, 2}, {3}, {1, 2, 4}]


def test_what_was_added_since_the_log_had_a_size(log):
    assert log.size() == 0
    sizes = []
    for number in range(3):
        log.append(JournalEntry(0, float(number), "write", "", "", (), ()))
        sizes.append(log.size())
    assert sizes[0] > 0
    found = [[one.number for one in log.entries_from(size)] for size in (0, *sizes)]
    assert found == [[1, 2, 3], [2, 3], [3], []]


def test_names_that_are_no_text_come_back_as_they_were(log):
    odd = PathState("link", 0, "to-\udcff")
    steps = (
        PathChange("\udcff", None, odd),
        PathChange("ü", odd, PathState("file", 0o644, "00")),
        PathChange("a", None, None, source="\udc80/b"),
        PathChange("plain", odd, None),
        PathChange("a", None, PathState("file", 0o644, "00"), source="b"),
    )
    with log.under_way({"x": "/x"}) as pending:
        pending.about_to(*steps)
        pending.about_to(steps[0])
        record = Path(log._state.path, "journal/pending", pending._name)
        begun = record.read_bytes()
    record.write_bytes(begun + b'{"torn')
    (((found, others, _, _), name),) = log.unfinished()
    assert (tuple(found), others, name) == ((*steps, steps[0]), {"x": "/x"}, record.name)
    log.append(JournalEntry(0, 0.0, "move", "", "", steps, ()))
    assert log.entries()[0].changes == steps
    log.pending.forget(record.name)
    log.pending.forget(record.name)
    assert list(log.unfinished()) == []


COUNT = 6


def names_lost(entries):
    return [one.number for one in entries if UNKNOWN in one.note]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damage_costs_the_entries_that_it_hits_and_they_are_named(tmp_path_factory, data):
    """Flipped bits, lost and garbled lines, at any place: both ways of reading agree, and the next entry fits in."""
    state = State(str(tmp_path_factory.mktemp("state")))
    log, file = JournalLog(state), Path(state.path, "journal/log.jsonl")
    made = [log.append(JournalEntry(0, float(at), "write", "s", "m" * at, ())) for at in range(COUNT)]
    whole = file.read_bytes()
    starts = [0, *(at + 1 for at, byte in enumerate(whole) if byte == 10)]
    kind = data.draw(st.sampled_from(["flip", "zeros", "remove", "insert", "cut"]))
    at = data.draw(st.integers(0, len(whole) - 1))
    line = next(number for number in range(COUNT) if starts[number + 1] > at)
    spoilt = bytearray(whole)
    if kind == "flip":
        spoilt[at] ^= 1 << data.draw(st.integers(0, 7))
    elif kind == "zeros":
        spoilt[starts[line] : starts[line + 1] - 1] = bytes(starts[line + 1] - 1 - starts[line])
    elif kind == "remove":
        del spoilt[starts[line] : starts[line + 1]]
    elif kind == "insert":
        spoilt[starts[line] : starts[line]] = bytes(50) + b"\n"
    else:
        del spoilt[at:]
    file.write_bytes(spoilt)
    found = log.entries()
    assert list(log.newest_first()) == found[::-1]
    good = [one for one in found if UNKNOWN not in one.note]
    assert [one for one in good if one not in made] == []
    hit = {"insert": 0, "cut": COUNT - line}.get(kind, 1)
    assert len(good) >= COUNT - hit
    if kind in ("flip", "zeros") and line < COUNT - 1:
        assert [one.number for one in found] == list(range(1, COUNT + 1))
        assert names_lost(found) in ([], [line + 1])
    added = log.append(JournalEntry(0, 9.0, "write", "", "", ()))
    again = log.entries()
    assert again[-1] == added
    assert [one for one in again if one in good] == good
    assert list(log.newest_first()) == again[::-1]
    assert [one.number for one in again] == sorted({one.number for one in again})
    state.close()


def test_what_a_damaged_entry_changed_is_not_undone_unseen(kit, ws, log_file):
    assert kit.call("write", {"path": "b.txt", "content": "b"}).ok
    lines = log_file.read_bytes().split(b"\n")
    lines[2] = b"\0" * len(lines[2])
    log_file.write_bytes(b"\n".join(lines))
    assert kit.undo().ok
    said = kit.undo()
    assert said.error.message.startswith("Entry 3 (unknown) cannot be undone: its record in the journal is damaged.")
    assert "entry 3, unknown (its record in the journal is damaged)" in kit.rewind(0).text
    assert "its record in the journal is damaged" in kit.call("history", {}).text
    assert kit.undo(entry=2).error.code == "Conflict"
    (ws / "a.txt").write_text("2")
    assert kit.undo(entry=2).ok
    assert (ws / "a.txt").read_text() == "1"


def test_a_state_folder_that_is_deleted_meanwhile_is_made_again(kit, ws):
    import shutil

    assert kit.call("write", {"path": "a.txt", "content": "1"}).ok
    assert kit.call("bash", {"command": "true"}).ok
    shutil.rmtree(kit.state_dir)
    assert kit.call("write", {"path": "a.txt", "content": "2"}).ok
    assert kit.call("bash", {"command": "echo b > b.txt"}).ok
    assert kit.undo(steps=2).ok
    assert ((ws / "a.txt").read_text(), (ws / "b.txt").exists()) == ("1", False)
