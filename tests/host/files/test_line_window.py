"""Where the lines of large files are: right at every line, kept while the file stays the same, never longer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.values import assert_values
from toolroll.host.files import line_window
from toolroll.host.files import line_window as window
from toolroll.host.files.line_window import LineIndex, LineIndexCache
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.text.encoding import UTF8

BLOCK = 64
TEXTS = {
    "ended": b"".join(b"%d " % n + b"x" * (n % 9) + b"\n" for n in range(200)),
    "open": b"a\n" * 50 + b"no end",
    "whole blocks": (b"x" * 63 + b"\n") * 4,
    "whole blocks, open": (b"x" * 63 + b"\n") * 3 + b"y" * 64,
    "blank lines": b"\n" * 300,
    "one long line": b"x" * 1000,
    "long lines": (b"x" * 200 + b"\n") * 5 + b"z",
}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(line_window, "BLOCK", BLOCK)


@pytest.fixture
def opened(tmp_path):
    """Opens a file with this content, as old as if it had not been touched for long."""
    fds = []

    def make(data):
        path = tmp_path / "f"
        path.write_bytes(data)
        fds.append(os.open(path, os.O_RDONLY))
        return fds[-1]

    yield make
    for fd in fds:
        os.close(fd)


def settled(fd):
    """Its state, once its times tell of the next change."""
    time.sleep(0.12)
    return os.fstat(fd)


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("order", ["forwards", "backwards", "anew"])
def test_every_window_of_every_text(opened, name, order):
    data = TEXTS[name]
    fd = opened(data)
    lines = data.decode().removesuffix("\n").split("\n")
    starts = range(1, len(lines) + 3)
    known = LineIndex()
    for start in starts if order != "backwards" else reversed(starts):
        known = LineIndex() if order == "anew" else known
        found = window.window_of_file(fd, start, 3, UTF8, CancelToken(), known)
        assert (found.lines, found.total) == (tuple(lines[start - 1 : start + 2]), len(lines))


def test_lines_before_a_milestone_are_not_read_again(opened):
    fd = opened(TEXTS["ended"])
    known = LineIndex()
    place = known.after(fd, 150, CancelToken())
    assert TEXTS["ended"][:place].count(b"\n") == 150
    os.pwrite(again := os.open(f"/proc/self/fd/{fd}", os.O_WRONLY), b"\n" * BLOCK, 0)
    os.close(again)
    assert known.after(fd, 150, CancelToken()) == place  # a scan from the start would find it earlier
    assert LineIndex().after(fd, 150, CancelToken()) < place


def test_what_was_learned_is_kept_for_this_state_only(opened, tmp_path):
    fd = opened(TEXTS["ended"])
    known, status = LineIndexCache(), settled(fd)
    learned = known.of(status)
    learned.count(fd, CancelToken())
    known.keep(fd, status, learned)
    assert known.of(status).total == 200
    assert list(known.of(status).before) == list(learned.before) != [0]

    (tmp_path / "f").write_bytes(b"\n" * len(TEXTS["ended"]))  # as long as before
    assert os.fstat(fd).st_ino == status.st_ino
    os.utime(fd, ns=(status.st_atime_ns, status.st_mtime_ns))  # and as old, as far as that can be pretended
    assert known.of(os.fstat(fd)) == LineIndex(settled=False)


def test_what_changed_meanwhile_is_not_kept(opened):
    fd = opened(TEXTS["ended"])
    known, status = LineIndexCache(), settled(fd)
    learned = known.of(status)
    learned.count(fd, CancelToken())
    os.utime(fd)
    known.keep(fd, status, learned)
    assert known.of(status).total is None


def test_a_file_just_written_is_not_trusted(opened):
    fd = opened(TEXTS["ended"])
    known, status = LineIndexCache(), os.fstat(fd)
    learned = known.of(status)
    learned.count(fd, CancelToken())
    known.keep(fd, status, learned)
    assert known.of(status).total is None


def test_what_was_handed_out_is_nobody_elses(opened):
    fd = opened(TEXTS["ended"])
    known, status = LineIndexCache(), settled(fd)
    learned = known.of(status)
    learned.after(fd, 20, CancelToken())
    known.keep(fd, status, learned)
    mine = known.of(status)
    mine.count(fd, CancelToken())
    assert known.of(status).total is None


def test_no_more_is_held_than_fits(opened, tmp_path, monkeypatch):
    monkeypatch.setattr(line_window, "_MOST_FILES", 2)
    monkeypatch.setattr(line_window, "_MOST_BLOCKS", 100)
    fds = [opened(TEXTS["ended"])]
    for name in "gh":
        (tmp_path / name).write_bytes(TEXTS["ended"] * (1 if name == "g" else 9))
        fds.append(os.open(tmp_path / name, os.O_RDONLY))
    known, states = LineIndexCache(), [settled(fd) for fd in fds]
    for fd, status in zip(fds, states, strict=True):
        learned = known.of(status)
        learned.count(fd, CancelToken())
        known.keep(fd, status, learned)
        held = [known.of(one).total for one in states]
    assert held == [None, None, None]  # the last takes more than all may
    for fd in fds[1:]:
        os.close(fd)


def test_files_and_blocks_up_to_the_most_are_held(opened, tmp_path, monkeypatch):
    fds = [opened(TEXTS["ended"])]
    (tmp_path / "g").write_bytes(TEXTS["ended"])
    fds.append(os.open(tmp_path / "g", os.O_RDONLY))
    states = [settled(fd) for fd in fds]
    blocks = len(TEXTS["ended"]) // BLOCK + 1

    def held(files: int, most: int) -> list[int | None]:
        monkeypatch.setattr(line_window, "_MOST_FILES", files)
        monkeypatch.setattr(line_window, "_MOST_BLOCKS", most)
        known = LineIndexCache()
        for fd, status in zip(fds, states, strict=True):
            learned = known.of(status)
            assert learned.count(fd, CancelToken()) == 200
            known.keep(fd, status, learned)
        return [known.of(status).total for status in states]

    assert held(2, 2 * blocks) == [200, 200]
    assert held(2, 2 * blocks - 1) == held(1, 2 * blocks) == [None, 200]
    os.close(fds[1])


@pytest.mark.parametrize(("counted", "count", "total"), [(0, 3, 200), (1, 3, None), (1, 201, 200)])
def test_the_lines_behind_a_window_are_counted_in_files_up_to_a_size(opened, monkeypatch, counted, count, total):
    monkeypatch.setattr(line_window, "_COUNTED", len(TEXTS["ended"]) - counted)
    found = window.window_of_file(opened(TEXTS["ended"]), 1, count, UTF8, CancelToken(), LineIndex())
    assert (len(found.lines), found.total, found.ended) == (min(count, 200), total, False)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("x" * 9, "x" * 9),
        ("x" * 10, "x" * 10),
        ("x" * 11, "x" * 10),
        ("x" * 9 + "é", "x" * 9),
        ("x" * 8 + "éx", "x" * 8),
        ("x" * 7 + "éx", "x" * 7 + "éx"),
        ("x" * 7 + "\N{GRINNING FACE}", "x" * 7),
        ("x" * 50, "x" * 10),
    ],
)
def test_a_long_line_is_cut_between_characters(opened, monkeypatch, line, shown):
    monkeypatch.setattr(line_window, "_LINE", 10)
    monkeypatch.setattr(line_window, "_SHOWN", 8)
    found = window.window_of_file(opened(f"{line}\nb\n".encode()), 1, 5, UTF8, CancelToken(), LineIndex())
    assert found.lines == (shown, "b")


HOLE = 65_536


@pytest.fixture
def holes(opened, tmp_path):
    """A file with text, a hole, text and a hole."""
    fd = opened(b"a\nb")
    with (tmp_path / "f").open("r+b") as file:
        file.seek(HOLE)
        file.write(b"\nc\nd")
        file.truncate(2 * HOLE)
    if os.lseek(fd, 4096, os.SEEK_DATA) != HOLE:
        pytest.skip("this file system has no holes")
    return fd


def test_holes_are_passed_over(holes):
    places = [0, 10, 4096, HOLE - 1, HOLE, HOLE + 4096, 2 * HOLE, 3 * HOLE]
    found = [window.next_data(holes, place) for place in places]
    assert found == [0, 10, HOLE, HOLE, HOLE, 2 * HOLE, 2 * HOLE, 3 * HOLE]
    text, zeros = b"x" * BLOCK, b"\0" * BLOCK
    blocks = [(0, text), (0, zeros), (63, text), (63, zeros), (63, zeros[1:]), (1023, zeros), (1100, zeros)]
    assert [window._next(holes, at, data) for at, data in blocks] == [1, 1, 64, 1024, 64, 1024, 2048]


@pytest.mark.parametrize("longest", [10, 5_000, 100_000])
def test_the_lines_of_a_file_with_holes(holes, monkeypatch, longest):
    monkeypatch.setattr(line_window, "_LINE", longest)
    monkeypatch.setattr(line_window, "_SHOWN", 1_000)
    lines = os.pread(holes, 2 * HOLE, 0).decode().split("\n")
    known = LineIndex()
    for start in (1, 2, 3, 4):
        found = window.window_of_file(holes, start, 9, UTF8, CancelToken(), known)
        assert (found.lines, found.total) == (tuple(line[:longest] for line in lines[start - 1 :]), 4)
    assert known.settled is False


SIZE = 1 << 40
_CALL = """
import json, os, resource, sys
from toolroll import Kit
resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30))
with Kit(sys.argv[1], state_dir=sys.argv[2]) as kit:
    for name, arguments in json.loads(sys.argv[3]):
        found = kit.call(name, arguments)
        print(json.dumps([name, found.status, found.error.code if found.error else "", found.text[:300]]))
status = open("/proc/self/status").read()  # the peak in rusage is also that of the process which started us
print(json.dumps([sum(os.times()[:4]), int(status.partition("VmHWM:")[2].split()[0]) // 1024]))
"""
CALLS = [
    [
        ("read", {"path": "big.py"}),
        ("read", {"path": "big.py", "offset": 9_000_000, "limit": 2}),
        ("read", {"path": "big.py", "offset": 8_002, "limit": 3}),
        ("read", {"path": "none.bin"}),
        ("stat", {"path": "big.py"}),
        ("ls", {}),
        ("find", {"pattern": "*"}),
    ],
    [
        ("grep", {"pattern": "needle"}),
        ("grep", {"pattern": "absent"}),
        ("grep", {"pattern": "needle", "path": "big.py"}),
        ("references", {"symbol": "needle"}),
        ("repo_map", {}),
    ],
    [
        ("write", {"path": "big.py", "content": "x"}),
        ("edit", {"path": "big.py", "old": "needle", "new": "x"}),
        ("insert", {"path": "big.py", "line": 1, "text": "x"}),
        ("copy", {"source": "big.py", "target": "c"}),
        ("move", {"source": "big.py", "target": "c"}),
        ("delete", {"path": "big.py"}),
        ("multiedit", {"pattern": "*.py", "find": "needle", "replace": "x"}),
        ("patch", {"patch": "--- a/big.py\n+++ b/big.py\n@@ -1 +1 @@\n-needle\n+x\n"}),
    ],
    [
        ("outline", {}),
        ("outline", {"path": "big.py"}),
        ("symbols", {}),
        ("rag", {"action": "add_document", "path": "big.md"}),
        ("note", {"action": "list"}),
    ],
]


@pytest.fixture
def sparse(tmp_path: Path) -> Path:
    ws = tmp_path / "ws"
    (ws / ".toolroll/notes").mkdir(parents=True)
    for name in ("big.py", "big.md", "package.json", ".gitignore", ".toolroll/notes/n.md"):
        (ws / name).write_bytes(b"x = 1  # needle\n" * 8_000)
    (ws / "none.bin").touch()
    for path in ws.rglob("*"):
        if path.is_file():
            try:
                os.truncate(path, SIZE)
            except OSError:
                pytest.skip("this file system holds no sparse file of 1 TiB")
    (ws / "small.py").write_text("needle()\n")
    return ws


@pytest.mark.skipif(sys.platform != "linux", reason="it bounds the memory of a process")
@pytest.mark.parametrize("calls", CALLS, ids=["looking", "searching", "writing", "understanding"])
def test_a_sparse_file_takes_neither_its_size_nor_long(sparse: Path, tmp_path: Path, calls: list[object]) -> None:
    words = [sys.executable, "-c", _CALL, str(sparse), str(tmp_path / "state"), json.dumps(calls)]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=100, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    *answers, (seconds, megabytes) = map(json.loads, ran.stdout.splitlines())
    assert len(answers) == len(calls)
    assert megabytes < 256
    assert seconds < 40


def test_values_stay_as_they_are() -> None:
    assert_values(line_window, "LineIndex")
