"""A swift search takes every file for small text; what that is wrong for is found out, and searched with more care."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.launchers import LAUNCHER, beneath
from toolroll.host.files.root import Root
from toolroll.host.runtime import processes
from toolroll.host.search import ripgrep
from toolroll.host.search.query import AGAIN, Ground, Query, Scope
from toolroll.host.search.ripgrep import Ripgrep
from toolroll.host.search.ripgrep_output import PlentyError
from toolroll.host.search.search import Search, Survey
from toolroll.policy.limits import Limits

pytestmark = pytest.mark.skipif(not processes.BOUNDED, reason="the memory of a program cannot be bounded here")

FILES = {
    "a.txt": b"needle one\n",
    "b.txt": b"two\nneedle two\n",
    "bin": b"needle\nneedle \0 needle\n",
    "wide": "needle three\n".encode("utf-16"),
    "wide.bin": "needle\0\n".encode("utf-16"),
    "big": b"needle\n" * 100,
    ".hidden": b"needle\n",
}
ROWS = [
    ("a.txt", 1, 1, b"needle one"),
    ("b.txt", 2, 1, b"needle two"),
    ("wide", 1, 1, b"needle three"),
]


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    for path, data in FILES.items():
        (tmp_path / path).write_bytes(data)
    return tmp_path


@pytest.fixture
def ground(ws: Path) -> Iterator[Ground]:
    with Root(str(ws)) as root:
        yield Ground(root.fd, root.fd, (), False, [], None, float("inf"), opener=root.opener)


@pytest.fixture
def engine(ground: Ground) -> Ripgrep:
    program = LAUNCHER.find("rg")
    assert program is not None
    return Ripgrep(program, Limits(search_bytes=500), LAUNCHER, beneath(ground.folder))


def test_only_text_is_shown_and_the_rest_is_counted(engine: Ripgrep, ground: Ground) -> None:
    assert sorted(engine.rows(ground, Query("needle"), Scope())) == ROWS
    assert (ground.passed, ground.binary) == ({"text": 3, "binary": 2, "too big": 1}, 3)


def test_after_nothing_but_binary_files_it_is_told_what_was_searched(engine: Ripgrep, ground: Ground) -> None:
    assert list(engine.rows(ground, Query(r"needle \x00"), Scope())) == []
    assert (ground.searched, ground.binary, b".hidden" in ground.log) == (6, 1, True)


def test_a_search_that_takes_too_long_is_begun_again_with_care(
    engine: Ripgrep, ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ripgrep, "_PATIENCE", 0.0)
    first, *rest = engine.rows(ground, Query("needle"), Scope())
    assert first == ("", AGAIN, 0, b"")
    assert sorted(rest) == ROWS
    assert sorted(engine.rows(ground, Query("needle"), Scope())) == ROWS  # at once: this folder is known for it


def test_a_line_without_end(ws: Path, ground: Ground, engine: Ripgrep, monkeypatch: pytest.MonkeyPatch) -> None:
    (ws / "endless").touch()
    os.truncate(ws / "endless", 1 << 27)
    monkeypatch.setattr(ripgrep, "_MEMORY", 1 << 26)
    found = list(engine.rows(ground, Query("needle"), Scope()))
    again = ("", AGAIN, 0, b"")
    assert sorted(found[found.index(again) + 1 :] if again in found else found) == ROWS
    assert not list(ws.glob("core*"))


@pytest.mark.parametrize("careful", [False, True])
def test_the_answer_is_the_same_with_care(ws: Path, monkeypatch: pytest.MonkeyPatch, careful: bool) -> None:
    if careful:
        monkeypatch.setattr(ripgrep, "_PATIENCE", 0.0)
    with Root(str(ws)) as root:
        search = Search(root, limits=Limits(search_bytes=500), launcher=LAUNCHER)
        found = search.grep(Query("needle"), sort="path")
        assert [(row.path, row.line, row.column, row.text.encode()) for row in found.rows] == ROWS
        (ws / "a.txt").unlink()
        (ws / "b.txt").unlink()
        (ws / "wide").unlink()
        assert search.grep(Query("needle")).survey == Survey(2, {"too big": 1, "hidden": 1}, {"binary": 3, "hidden": 1})


def test_more_lines_than_are_wanted_are_not_read(engine: Ripgrep, ground: Ground) -> None:
    assert sorted(engine.rows(ground, Query("needle", literal=True), Scope(exclude=("big",)), most=50)) == ROWS
    with pytest.raises(PlentyError):
        list(engine.rows(ground, Query("needle", literal=True), Scope(), most=50))
