from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.launchers import LAUNCHER, beneath
from toolroll.host.search.query import BINARY, Query, Scope, SearchRoot, TooManyRowsError
from toolroll.host.search.ripgrep import Ripgrep
from toolroll.host.search.ripgrep_output import (
    FILES_SEARCHED,
    join_chunks,
    read_counts,
    read_log,
    read_rows,
    whole_lines,
)
from toolroll.policy.limits import Limits

WRITTEN = (
    b"./a.py\x003:5:foo: 12-3:4:\n./a.py\x004-after\n./a.py\x009:1:\n"
    b"./bin\x001:1:foo\n"
    b'./bin: WARNING: stopped searching binary file after match (found "\\0" byte around offset 70000)\n'
    b"./b\nin: WARNING: x\x001:1:foo\r\n"
    b"./last\x002:7:\xff foo\n"
    b'./last: WARNING: stopped searching binary file after match (found "\\0" byte around offset 9)\n'
)
ROWS = [
    (b"./a.py", 3, 5, b"foo: 12-3:4:"),
    (b"./a.py", 4, 0, b"after"),
    (b"./a.py", 9, 1, b""),
    (b"./bin", 1, 1, b"foo"),
    (b"./bin", BINARY, 0, b""),
    (b"./b\nin: WARNING: x", 1, 1, b"foo\r"),
    (b"./last", 2, 7, b"\xff foo"),
    (b"./last", BINARY, 0, b""),
]


def cut(data: bytes, seed: int) -> list[bytes]:
    """The bytes as a pipe may give them."""
    chance = random.Random(seed)
    at = sorted(chance.choices(range(len(data)), k=chance.randint(0, 40)))
    return [data[start:end] for start, end in zip([0, *at], [*at, len(data)], strict=True) if end > start]


@pytest.mark.parametrize("seed", range(50))
def test_rows_are_read_however_they_arrive(seed: int) -> None:
    assert list(read_rows(cut(WRITTEN, seed))) == ROWS


@pytest.mark.parametrize("seed", range(20))
def test_counts_are_read_however_they_arrive(seed: int) -> None:
    written = b"./a\x000\n./b\nc\x0012\r\n./d: 3\n4\x005\n"
    assert list(read_counts(cut(written, seed))) == [(b"./a", 0), (b"./b\nc", 12), (b"./d: 3\n4", 5)]


def test_an_empty_match_at_the_end_of_a_line_has_its_column() -> None:
    assert list(read_rows([b"./a\x002:100%\r\n./b\x003:x\n"])) == [(b"./a", 2, 5, b"100%\r"), (b"./b", 3, 2, b"x")]


def test_nothing_written_is_no_rows() -> None:
    assert list(read_rows([])) == list(read_counts([])) == []


def test_of_a_monstrous_line_the_start_is_kept() -> None:
    piece = b"x" * (1 << 20)
    blocks = list(whole_lines([b"./a\x001:1:", *[piece] * 50, b"end\n./b\x001:1:y\n"]))
    assert len(blocks) == 1
    assert len(blocks[0]) < 10 << 20
    assert [name for name, *_ in read_rows(blocks)] == [b"./a", b"./b"]


STATS = (
    b"\n3 matches\n2 matched lines\n1 files contained matches\n57 files searched\n0 bytes printed\n"
    b"9 bytes searched\n0.000004 seconds spent searching\n0.001853 seconds total\n"
)


@pytest.mark.parametrize("seed", range(20))
def test_how_many_files_were_searched_comes_last(seed: int) -> None:
    plain = b"./a.py\x003:5:foo\n"
    assert list(read_rows(cut(plain + STATS, seed))) == [
        (b"./a.py", 3, 5, b"foo"),
        (b"./a.py", FILES_SEARCHED, 57, b""),
    ]
    assert list(read_rows(cut(WRITTEN + STATS, seed))) == [*ROWS, (b"./last", FILES_SEARCHED, 57, b"")]
    assert list(read_rows(cut(STATS, seed))) == [(b"", FILES_SEARCHED, 57, b"")]


def test_all_at_once_or_not_at_all() -> None:
    assert list(join_chunks([b"a\nb", b"\nc\n"], 3)) == [b"a\nb\nc\n"]
    much = [bytes(5 << 20)] * 5  # a line that goes on and on
    assert list(map(len, join_chunks(much, 3))) == [10 << 20, 10 << 20, 5 << 20]
    with pytest.raises(TooManyRowsError):
        list(join_chunks([b"a\nb", b"\nc\n"], 2))


def test_what_came_before_the_time_was_up_is_kept() -> None:
    def late() -> Iterator[bytes]:
        yield b"a\n"
        yield b"b\n"
        raise TimeoutError

    found = join_chunks(late(), 3)
    assert next(found) == b"a\nb\n"
    with pytest.raises(TimeoutError):
        next(found)


FILES = {
    ".gitignore": b"*.log\nout/\n",
    ".hidden/x": b"foo\n",
    ".git/config": b"foo\n",
    "a: b.log": b"foo\n",
    "out/o": b"foo\n",
    "src/bin": b"\0foo\n",
    "src/big": b"x\n" * 100,
    "plain": b"nothing\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Iterator[SearchRoot]:
    for path, data in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(data)
    (tmp_path / "link").symlink_to("plain")
    (tmp_path / "away").symlink_to("/")
    fd = os.open(tmp_path, os.O_RDONLY)
    yield SearchRoot(fd, fd, (), False, [], None, float("inf"))
    os.close(fd)


def run_search(root: SearchRoot, scope: Scope = Scope(), *, careful: bool = False) -> Ripgrep:  # noqa: B008
    program = LAUNCHER.find("rg")
    assert program is not None
    engine = Ripgrep(program, Limits(search_bytes=150), LAUNCHER, beneath(root.folder))
    list(engine.rows(root, Query("foo", multiline=careful), scope))
    return engine


@pytest.mark.parametrize("careful", [True, False])
def test_the_log_names_all_skipped_files(root: SearchRoot, careful: bool) -> None:
    assert run_search(root, careful=careful).has_known_log(root)
    found = read_log(root.log, root)
    assert found is not None
    assert sorted(found.left_out) == [
        (".gitignore", "file"),
        (".hidden", "directory"),
        ("a: b.log", "file"),
        ("out", "directory"),
    ]
    if careful:
        assert (found.binary, found.too_big, root.searched, root.binary) == (["src/bin"], 1, 2, 0)
    else:
        assert (found.binary, found.too_big, root.searched, root.binary) == ([], 0, 3, 1)


def test_a_search_that_finds_something_keeps_no_log(root: SearchRoot, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("foo\n")
    run_search(root)
    assert root.log == b""


def test_a_search_of_some_files_keeps_no_log(root: SearchRoot) -> None:
    run_search(root, Scope(include=("*.py",)))
    assert root.log == b""


@pytest.mark.parametrize("name", [b".a\nb", b".\xff"])
def test_a_log_with_an_uncertain_name_is_not_used(name: bytes, root: SearchRoot, tmp_path: Path) -> None:
    at = os.path.join(os.fsencode(tmp_path), name)
    os.makedirs(os.path.dirname(at), exist_ok=True)
    with open(at, "wb"):
        run_search(root)
    assert root.log
    assert read_log(root.log, root) is None


@pytest.mark.parametrize(
    "line",
    [
        "ignoring ./link/x: Ignore(IgnoreMatch(Hidden))",
        "ignoring ./away/x: found binary data at offset 1",
        "ignoring ./../x: found binary data at offset 1",
        "ignoring ./src/../../x: Ignore(IgnoreMatch(Hidden))",
        "whitelisting ./.a: Whitelist(x)",
    ],
)
def test_a_log_with_a_forged_or_unknown_line_is_not_used(line: str, root: SearchRoot) -> None:
    assert read_log(f"rg: DEBUG|ignore::walk|walk.rs:1: {line}\n".encode(), root) is None
    assert read_log(b"rg: DEBUG|other|x.rs:1: something\n", root) is not None
