from __future__ import annotations

import random

import pytest

from toolroll.host.query import BINARY, Query, Scope
from toolroll.host.ripgrep import query_args, read_counts, read_rows, scope_args, whole_lines

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


def test_nothing_written_is_no_rows() -> None:
    assert list(read_rows([])) == list(read_counts([])) == []


def test_of_a_monstrous_line_the_start_is_kept() -> None:
    piece = b"x" * (1 << 20)
    blocks = list(whole_lines([b"./a\x001:1:", *[piece] * 50, b"end\n./b\x001:1:y\n"]))
    assert len(blocks) == 1
    assert len(blocks[0]) < 10 << 20
    assert [name for name, *_ in read_rows(blocks)] == [b"./a", b"./b"]


@pytest.mark.parametrize(
    ("query", "args"),
    [
        (Query("a"), ["--crlf", "--regexp=a"]),
        (Query("-P"), ["--crlf", "--regexp=-P"]),
        (Query("a.b", literal=True), ["--crlf", r"--regexp=a\.b"]),
        (
            Query("a", ignore_case=True, whole_word=True),
            ["--crlf", "--ignore-case", "--word-regexp", "--regexp=a"],
        ),
        (Query(r"a\nb"), ["--crlf", "--multiline", r"--regexp=a(?:\r?\n)b"]),
        (Query(r"a\r"), [r"--regexp=a\r"]),
    ],
)
def test_what_to_look_for(query: Query, args: list[str]) -> None:
    assert query_args(query) == ["--regex-size-limit=4M", "--no-mmap", *args]


IGNORING = ["--no-require-git", "--no-ignore-global", "--no-ignore-parent", "--no-ignore-exclude"]
TYPED = ["--type-add=toolroll:*.ts", "--type-add=toolroll:*.tsx", "--type=toolroll"]


@pytest.mark.parametrize(
    ("scope", "args", "include", "exclude"),
    [
        (Scope(), ["--glob=!.*", *IGNORING], 0, 0),
        (Scope(hidden=True), ["--glob=!.git/", *IGNORING], 0, 0),
        (Scope(ignored=True, skip=("x",)), ["--glob=!.*", "--no-ignore", "--glob=!x/"], 0, 0),
        (Scope(depth=3), ["--glob=!.*", "--max-depth=3", *IGNORING], 0, 0),
        (Scope(skip=("a b", "!x")), ["--glob=!.*", *IGNORING, r"--glob=!a\ b/", r"--glob=!\!x/"], 0, 0),
        (Scope(include=("*.{ts,tsx}",)), ["--glob=!.*", *IGNORING, *TYPED], 0, 0),
        (Scope(include=("**/*.ts", "*.tsx")), ["--glob=!.*", *IGNORING, *TYPED], 0, 0),
        (Scope(include=("src/*.ts",)), ["--glob=!.*", *IGNORING], 1, 0),
        (Scope(include=("*.ts", "a:b")), ["--glob=!.*", *IGNORING], 2, 0),
        (
            Scope(exclude=("*.js", "src/x", "a/", "[x]", "b?")),
            ["--glob=!.*", *IGNORING, "--glob=!*.js", "--glob=!/src/x", "--glob=!**/a/**"],
            0,
            2,
        ),
    ],
)
def test_where_to_look(scope: Scope, args: list[str], include: int, exclude: int) -> None:
    given, rest = scope_args(scope)
    assert given == args
    assert (len(rest.include), len(rest.exclude)) == (include, exclude)
