"""Rows collected by file, and the paths and the order in which they are shown."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolroll.host.search.grep import HitCollector
from toolroll.host.search.query import BINARY, FileEntry, GrepRow, SearchRoot
from toolroll.host.search.search import sort_entries, sort_paths
from toolroll.policy.limits import Limits


@pytest.fixture
def root(tmp_path: Path) -> Iterator[SearchRoot]:
    fd = os.open(tmp_path, os.O_RDONLY)
    yield SearchRoot(fd, fd, ("src", "d"), False, [], None, float("inf"))
    os.close(fd)


def test_rows_are_collected_by_file(root: SearchRoot) -> None:
    collector = HitCollector(root, Limits())
    assert collector.take([("b", 2, 0, b"before\r"), ("b", 3, 5, b"the needle"), ("a", 1, 1, b"needle")])
    assert collector.matches == 2
    assert collector.hits == {
        "b": [GrepRow("src/d/b", 2, 0, "before"), GrepRow("src/d/b", 3, 5, "the needle")],
        "a": [GrepRow("src/d/a", 1, 1, "needle")],
    }


def test_a_binary_file_loses_its_rows(root: SearchRoot) -> None:
    collector = HitCollector(root, Limits())
    assert collector.take([("a", 1, 1, b"x"), ("b", 1, 1, b"x"), ("a", BINARY, 0, b""), ("b", 2, 1, b"y")])
    assert {path: len(rows) for path, rows in collector.hits.items()} == {"b": 2}


@pytest.mark.parametrize(
    ("matches", "context", "max_matches", "fits"),
    [
        *((3, 0, None, True), (4, 0, None, False), (2, 0, 2, True), (3, 0, 2, False), (4, 0, 9, False)),
        *((1, 14, None, True), (1, 15, None, False)),
    ],
)
def test_more_than_the_limit_is_not_kept(
    root: SearchRoot, matches: int, context: int, max_matches: int | None, fits: bool
) -> None:
    rows = [("a", line, int(line <= matches), b"x") for line in range(1, matches + context + 1)]
    collector = HitCollector(root, Limits(search_rows=3), max_matches)
    assert collector.take(rows) == fits
    assert len(collector.hits["a"]) <= 15


@pytest.mark.parametrize(
    ("raw", "byte", "text", "column"),
    [
        ("ä needle".encode(), 4, "ä needle", 3),
        (b"bad \xff needle", 7, "bad \\xff needle", 10),
        (b"x" * 30, 1, "x" * 18 + "…", 1),
        (b"a" * 30 + b"needle" + b"b" * 30, 31, "…aaaaneedlebbbbbbbb…", 31),
        (b"a" * 30 + b"needle", 31, "…aaaaaaaaaaaaneedle", 31),
    ],
)
def test_a_long_line_is_cut_around_the_match(root: SearchRoot, raw: bytes, byte: int, text: str, column: int) -> None:
    collector = HitCollector(root, Limits(line_chars=20))
    collector.take([("a", 1, byte, raw)])
    assert collector.hits["a"] == [GrepRow("src/d/a", 1, column, text)]


def test_paths_can_always_be_written(root: SearchRoot) -> None:
    assert root.shown("a/b") == "src/d/a/b"
    assert root.shown("") == "src/d"
    assert root.shown("\udcff ä") == "src/d/\\xff ä"


def test_files_are_sorted_newest_first_or_by_path(root: SearchRoot, tmp_path: Path) -> None:
    for name, age in (("a", 1), ("b", 3), ("c", 2)):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (age, age))
    assert sort_paths(root, ["a", "b", "c", "gone"], "modified") == ["b", "c", "a", "gone"]
    root.ages["a"] = -9_000_000_000
    assert sort_paths(root, ["a", "b", "c"], "modified") == ["a", "b", "c"], "a search has noted the age"
    assert sort_paths(root, ["c", "b"], "path") == ["b", "c"]
    assert root.stat("gone") is None


def test_entries_are_sorted_as_asked() -> None:
    entries = [FileEntry("z/a", "file", 5, 1), FileEntry("b", "file", 9, 3), FileEntry("a", "file", 5, 3)]
    order = {
        "modified": ["a", "b", "z/a"],
        "size": ["b", "a", "z/a"],
        "name": ["a", "z/a", "b"],
        "path": ["a", "b", "z/a"],
    }
    assert {sort: [one.path for one in sort_entries(entries, sort)] for sort in order} == order
