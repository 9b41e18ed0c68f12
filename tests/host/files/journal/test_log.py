"""The journal on disk."""

from __future__ import annotations

import os
import random
import stat
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from tests.values import assert_values
from tests.waiting import closed_again, descriptors
from toolroll import Kit, ToolError
from toolroll.host.files.journal import log as module
from toolroll.host.files.journal.entry import NOT_KEPT, JournalEntry, PathChange, PathState
from toolroll.host.files.journal.log import Blobs, JournalLog, PendingSteps, _is_free, _last_line, _runs, undone_numbers
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


def test_a_changed_entry_breaks_the_chain(kit, log_file):
    lines = log_file.read_text().splitlines(keepends=True)
    lines[1] = lines[1].replace('"tool":"write"', '"tool":"wrote"')
    log_file.write_text("".join(lines))
    with pytest.raises(ToolError, match="entry 2"):
        kit.journal.entries()
    assert kit.call("undo").error.code == "IOError"


def test_a_removed_entry_breaks_the_chain(kit, log_file):
    lines = log_file.read_text().splitlines(keepends=True)
    log_file.write_text(lines[0] + lines[2])
    with pytest.raises(ToolError, match="entry 3"):
        kit.journal.entries()


def test_half_a_line_of_a_killed_process_is_passed_over(kit, log_file):
    with log_file.open("ab") as file:
        file.write(b'{"above":"')
    assert [entry.number for entry in kit.journal.entries()] == [1, 2, 3]
    assert kit.call("write", {"path": "a.txt", "content": "4"}).ok
    assert [entry.number for entry in kit.journal.entries()] == [1, 2, 3, 4]


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
        ((call, name),) = log.cut_off()
    assert (call.steps, name) == ([step], record.name)
    assert record.stat().st_size > 0


def test_nobody_uses_a_record_while_it_is_looked_at(log, tmp_path):
    step = PathChange("a", None, None)
    with log.under_way({}) as pending:
        pending.about_to(step)
    for _, name in log.cut_off():
        with log.under_way({}) as pending:
            pending.about_to(step)
            assert sorted(one.stat().st_size for one in (tmp_path / "state/journal/pending").iterdir())[0] == 0
        log.forget(name)
        assert name not in os.listdir(tmp_path / "state/journal/pending")
    assert len(os.listdir(tmp_path / "state/journal/pending")) == 1


LARGE = 200_000


@pytest.fixture
def kept(tmp_path):
    state = State(str(tmp_path / "state"))
    yield Blobs(state)
    state.close()


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "state/journal/blobs"


def edits(count, spread=5_000):
    """A content, and what becomes of it by small changes that are not far apart."""
    chance = random.Random(1)
    data = chance.randbytes(LARGE)
    yield data
    for _ in range(count):
        at, gone = chance.randrange(LARGE // 2, LARGE // 2 + spread), chance.choice((0, 1, 30))
        data = data[:at] + chance.randbytes(chance.randrange(1, 40)) + data[at + gone :]
        yield data


def keep_all(kept, contents):
    names, like = [], None
    for data in contents:
        names.append(kept.keep(data, None, like))
        like = (names[-1], data)
    return names


def sizes(folder):
    return {one.name: one.stat().st_size for one in folder.iterdir()}


@pytest.mark.parametrize(("spread", "most"), [(5_000, 2), (LARGE // 2, 41)])
def test_every_content_comes_back(kept, folder, spread, most):
    contents = list(edits(40, spread))
    names = keep_all(kept, contents)
    assert [kept.content(name) for name in names] == contents
    assert sum(sizes(folder).values()) < most * LARGE


def test_changes_at_both_ends_are_kept_whole(kept, folder):
    data = bytes(LARGE)
    other = b"1" + data[1:-1] + b"1"
    names = keep_all(kept, [data, other])
    assert (kept.content(names[0]), kept.content(names[1])) == (data, other)
    assert sorted(sizes(folder)) == sorted(names)


def test_a_small_content_is_kept_whole(kept, folder):
    names = keep_all(kept, [b"a" * 1000, b"a" * 999 + b"b"])
    assert sorted(sizes(folder)) == sorted(names)


@pytest.mark.parametrize(
    ("size", "changed", "difference"),
    [(65_536, 8_192, True), (65_535, 1, False), (65_536, 8_193, False)],
)
def test_only_a_large_content_that_changed_in_an_eighth_is_kept_as_a_difference(
    kept, folder, size, changed, difference
):
    _, name = keep_all(kept, [b"a" * size, b"a" * (size - changed) + b"b" * changed])
    assert (f"{name}.delta" in sizes(folder)) is difference
    assert kept.content(name).count(b"b") == changed


@pytest.mark.parametrize("made", [b"", b"x" * LARGE, b"x" * (LARGE - 7), b"x" * (LARGE + 7), b"y" + b"x" * LARGE])
def test_texts_that_repeat_themselves(kept, made):
    old = b"x" * LARGE
    names = keep_all(kept, [old, made, old])
    assert [kept.content(name) for name in names] == [old, made, old]


def test_without_its_root_a_difference_is_lost_and_kept_anew(kept, folder):
    first, second = edits(1)
    names = keep_all(kept, [first, second])
    assert sorted(sizes(folder)) == sorted([names[0], f"{names[1]}.delta"])
    (folder / names[0]).unlink()
    with pytest.raises(ToolError, match="no longer keeps"):
        kept.content(names[1])
    assert kept.keep(second) == names[1]
    assert kept.content(names[1]) == second


@pytest.mark.parametrize("spoil", [lambda data: data[:-1], lambda data: b"?" + data[1:], lambda _: b""])
def test_a_spoilt_content_is_not_given_out(kept, folder, spoil):
    first, second = edits(1)
    names = keep_all(kept, [first, second])
    (folder / names[0]).write_bytes(spoil(first))
    for name in names:
        with pytest.raises(ToolError, match="no longer keeps"):
            kept.content(name)


def test_the_oldest_go_first_and_a_root_not_before_what_hangs_on_it(kept, folder, monkeypatch):
    old = bytes(range(256)) * 10
    names = [kept.keep(old), *keep_all(kept, edits(3))]
    os.utime(folder / names[0], (1, 1))
    for at, name in enumerate(names[2:], 2):
        os.utime(folder / f"{name}.delta", (at, at))
    monkeypatch.setattr(
        "toolroll.host.files.journal.log._MOST_BYTES", LARGE + sum(sizes(folder)[f"{name}.delta"] for name in names[3:])
    )
    kept.sweep()
    assert sorted(sizes(folder)) == sorted([names[1], *(f"{name}.delta" for name in names[3:])])


def test_what_is_kept_again_counts_as_new(kept, folder):
    first, second = edits(1)
    names = keep_all(kept, [first, second])
    files = {one.stat().st_ino for one in folder.iterdir()}
    for one in folder.iterdir():
        os.utime(one, (1, 1))
    kept.keep(first)
    kept.keep(second)
    assert {one.stat().st_ino for one in folder.iterdir()} == files  # not written again
    assert {one.name: one.stat().st_mtime > 1 for one in folder.iterdir()} == {
        names[0]: True,
        f"{names[1]}.delta": True,
    }


def test_a_difference_stays_as_it_was_made():
    assert_values(module)


def test_old_contents_go_after_so_many_entries(log, folder, monkeypatch):
    monkeypatch.setattr("toolroll.host.files.journal.log._SWEEP_EVERY", 2)
    monkeypatch.setattr("toolroll.host.files.journal.log._MOST_BYTES", 0)
    assert log.entries() == []
    kept = []
    for _ in range(4):
        log.blobs.keep(b"content")
        number = log.append(JournalEntry(0, 0.0, "write", "", "", (), ())).number
        kept.append((number, len(sizes(folder))))
    assert kept == [(1, 1), (2, 0), (3, 1), (4, 0)]
    assert [entry.number for entry in log.entries()] == [1, 2, 3, 4]


def test_whether_the_process_of_a_record_runs():
    with subprocess.Popen(["true"]) as ended:
        pass
    assert [_runs(process) for process in (str(os.getpid()), "of an older version", str(ended.pid))] == [
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
    monkeypatch.setattr("toolroll.host.files.journal.log._LET_GO_S", let_go)
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


def test_an_undoing_that_is_undone_brings_its_entry_back():
    def entry(number: int, *undoes: int) -> JournalEntry:
        return JournalEntry(number, 0.0, "write", "", "", (), undoes)

    entries = [entry(1), entry(2), entry(3, 1, 2), entry(4, 3), entry(5, 4)]
    assert [undone_numbers(entries[:count]) for count in (2, 3, 4, 5)] == [set(), {1, 2}, {3}, {1, 2, 4}]


@pytest.mark.parametrize("torn", [b"", b"{", b'{"hash": "x"', b"y" * 5_000])
@pytest.mark.parametrize("sizes", [(), (10,), (10, 10), (9_000,), (10, 9_000), (9_000, 10), (40_000, 3)])
def test_the_last_whole_line_is_found_and_what_follows_it_cut_off(tmp_path, sizes, torn):
    lines = [
        msgspec.json.encode({"hash": f"h{number}", "entry": {"number": number, "x": "x" * size}}) + b"\n"
        for number, size in enumerate(sizes, 1)
    ]
    path = tmp_path / "log"
    path.write_bytes(b"".join(lines) + torn)
    fd = os.open(path, os.O_RDWR)
    found = _last_line(fd)
    os.close(fd)
    assert (found and (found.hash, found.entry.number)) == (None if not sizes else (f"h{len(sizes)}", len(sizes)))
    assert path.read_bytes() == b"".join(lines)


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
    (((found, others, _), name),) = log.cut_off()
    assert (tuple(found), others, name) == ((*steps, steps[0]), {"x": "/x"}, record.name)
    log.append(JournalEntry(0, 0.0, "move", "", "", steps, ()))
    assert log.entries()[0].changes == steps
    log.forget(record.name)
    log.forget(record.name)
    assert list(log.cut_off()) == []


def test_what_can_be_put_back(kept):
    first, second = edits(1)
    names = keep_all(kept, [first, second])
    states = [PathState("file", 0o644, name) for name in (*names, "00", f"{NOT_KEPT}1.2")]
    assert [kept.keeps(state) for state in states] == [True, True, False, False]
    others = [PathState("directory", 0o755), PathState("link", 0, "x"), PathState("ignored", 0), PathState("other", 0)]
    assert [kept.keeps(state) for state in others] == [True, True, False, False]


def test_a_content_that_is_needed_stays_however_old_it_is(kept, folder, monkeypatch):
    names = [kept.keep(bytes([number])) for number in range(3)]
    for at, name in enumerate(names, 1):
        os.utime(folder / name, (at, at))
    monkeypatch.setattr("toolroll.host.files.journal.log._MOST_BYTES", 2)
    kept.needed = lambda: {names[0]}
    kept.sweep()
    assert sorted(sizes(folder)) == sorted([names[0], names[2]])
    kept.sweep()
    assert len(sizes(folder)) == 2
