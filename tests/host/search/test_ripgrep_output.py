from __future__ import annotations

import random

import pytest

from toolroll.host.search.query import BINARY
from toolroll.host.search.ripgrep import read_counts, read_rows, whole_lines

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
