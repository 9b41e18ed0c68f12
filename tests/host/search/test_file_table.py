"""The table is always what a walk would find."""

from __future__ import annotations

import os
import random
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.waiting import closed_again, descriptors
from toolroll.host.files.root import Root
from toolroll.host.files.walk import Walk
from toolroll.host.runtime.inotify import FolderWatch
from toolroll.host.search import file_table as module
from toolroll.host.search.file_table import FileTable, UntrackableTreeError
from toolroll.host.search.query import FileEntry

NAMES = ["a", "b.py", "c/d", "c/e/f", "g/h", ".gitignore", "c/.gitignore", "g/a", "c/e/g/h/i", ".hid/x", "c/.x"]


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    (tmp_path / "ws").mkdir()
    with Root(str(tmp_path / "ws")) as made:
        yield made


def walked(root: Root) -> dict[str, int]:
    return {seen.path: seen.stat().st_mtime_ns for seen in Walk(root.fd) if seen.kind == "file"}


@pytest.mark.parametrize("moves", [500, 1])  # with few, all is often put in order again
def test_whatever_happens_it_is_what_a_walk_finds(moves: int, root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_MOVES", moves)
    chance, top = random.Random(4), Path(root.path)
    table = FileTable(root, threading.Event())
    seen = 0
    for _ in range(400):
        path = top / chance.choice(NAMES)
        folders = [one for one in top.rglob("*") if one.is_dir()]
        if path.is_file() and chance.random() < 0.4:
            path.unlink()
        elif folders and chance.random() < 0.15:
            shutil.rmtree(chance.choice(folders))
        elif len(folders) > 1 and chance.random() < 0.15:
            one, other = chance.sample(folders, 2)
            if one not in other.parents and other not in one.parents:  # they change places
                one.rename(top / "passing")
                other.rename(one)
                (top / "passing").rename(other)
        elif not path.is_dir() and not any(above.is_file() for above in path.parents):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(chance.choice(["a\n", "e\n", "*.py\n", "", "g/\n", "!g\n"]))
        if chance.random() < 0.5:
            table.refresh()
            files = walked(root)
            assert {path: stamp[3] for path, stamp in table.files().items()} == files
            aged = sorted((-modified, path) for path, modified in files.items())
            assert table.newest() == aged
            order = table.order("inner", lambda path: path.startswith("c/"))
            inner = [one for one in aged if one[1].startswith("c/")]
            assert order.aged == inner
            assert order.paths(2) == [path[2:] for _, path in inner]
            assert order.lines(1, 3) == "\n".join(path for _, path in inner[1:3])
            known = table.files()
            every = [FileEntry(path, "file", known[path][2], known[path][3]) for _, path in inner]
            assert [list(order.first(count, known)) for count in (None, 2, 1)] == [every, every[:2], every[:1]]
            assert order.first(1, known) is order.first(1, known)
            seen += len(files)
    table.close()
    assert seen > 300


def test_reading_is_no_change(root: Root) -> None:
    top = Path(root.path)
    (top / "a").write_text("x")
    watch = FolderWatch()
    number = watch.add(root.fd, os.fstat(root.fd).st_dev)
    (top / "a").read_text()
    list(top.iterdir())
    assert watch.take() == {}
    (top / "a").write_text("y")
    assert watch.take() == {number: {b"a": False}}
    (top / "b").touch()
    assert watch.take() == {number: {b"b": True}}
    watch.close()


def test_a_tree_that_is_too_large_is_not_kept(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ENTRIES", 5)
    for number in range(10):
        (Path(root.path) / f"d{number}").mkdir()
    before = descriptors()
    with pytest.raises(UntrackableTreeError):
        FileTable(root, threading.Event())
    assert closed_again(before)


def test_it_stops_when_it_is_told_to(root: Root) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(UntrackableTreeError):
        FileTable(root, stop)


def test_where_the_network_can_change_files_there_is_no_watch() -> None:
    watch, proc = FolderWatch(), os.open("/proc", os.O_RDONLY)
    with pytest.raises(OSError, match="from other machines"):
        watch.add(proc, os.fstat(proc).st_dev)
    os.close(proc)
    watch.close()


def test_few_orders_are_kept(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_ORDERS", 2)
    (Path(root.path) / "a").write_text("x")
    table = FileTable(root, threading.Event())
    first, second = (table.order(key, lambda _: True) for key in (1, 2))
    assert table.order(1, lambda _: True) is first
    table.order(3, lambda _: True)
    assert table.order(2, lambda _: True) is second
    assert table.order(1, lambda _: True) is not first
    assert table.newest() == first.aged
    table.close()
