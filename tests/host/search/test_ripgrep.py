"""Arguments for ripgrep, and the rows that it gives."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.launchers import LAUNCHER, beneath
from toolroll.host.files.root import Root
from toolroll.host.search import ripgrep
from toolroll.host.search.query import BINARY, Candidates, Query, Scope, SearchRoot
from toolroll.host.search.ripgrep import Ripgrep, query_args, scope_args
from toolroll.host.search.search import Search, Survey
from toolroll.policy.limits import Limits
from toolroll.result import ToolError

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
def root(ws: Path) -> Iterator[SearchRoot]:
    with Root(str(ws)) as base:
        yield SearchRoot(base.fd, base.fd, (), False, [], None, float("inf"), opener=base.opener)


@pytest.fixture
def engine(root: SearchRoot) -> Ripgrep:
    program = LAUNCHER.find("rg")
    assert program is not None
    return Ripgrep(program, Limits(search_bytes=500), LAUNCHER, beneath(root.folder))


def shown(engine: Ripgrep, root: SearchRoot) -> list[tuple[str, int, int, bytes]]:
    """The rows without those of files that turn out to be binary."""
    rows = list(engine.rows(root, Query("needle"), Scope()))
    binary = {path for path, line, _, _ in rows if line == BINARY}
    return sorted(row for row in rows if row[0] not in binary)


def test_only_text_is_shown(engine: Ripgrep, root: SearchRoot) -> None:
    assert shown(engine, root) == ROWS


def test_a_line_without_end(ws: Path, root: SearchRoot, engine: Ripgrep, monkeypatch: pytest.MonkeyPatch) -> None:
    (ws / "endless").touch()
    os.truncate(ws / "endless", 1 << 27)
    monkeypatch.setattr(ripgrep, "_MAX_MEMORY_BYTES", 1 << 26)
    assert shown(engine, root) == ROWS
    assert not list(ws.glob("core*"))


def test_the_report_of_an_empty_answer(ws: Path) -> None:
    with Root(str(ws)) as root:
        search = Search(root, limits=Limits(search_bytes=500), launcher=LAUNCHER)
        found = search.grep(Query("needle"), sort="path")
        assert [(row.path, row.line, row.column, row.text.encode()) for row in found.rows] == ROWS
        (ws / "a.txt").unlink()
        (ws / "b.txt").unlink()
        (ws / "wide").unlink()
        assert search.grep(Query("needle")).survey == Survey(2, {"too big": 1, "hidden": 1}, {"binary": 3, "hidden": 1})


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
        (Scope(), IGNORING, 0, 0),
        (Scope(hidden=True), ["--hidden", "--glob=!.git/", *IGNORING], 0, 0),
        (Scope(ignored=True, skip=("x",)), ["--no-ignore", "--glob=!x/"], 0, 0),
        (Scope(depth=3), ["--max-depth=3", *IGNORING], 0, 0),
        (Scope(skip=("a b", "!x")), [*IGNORING, r"--glob=!a\ b/", r"--glob=!\!x/"], 0, 0),
        (Scope(include=("*.{ts,tsx}",)), [*IGNORING, *TYPED], 0, 0),
        (Scope(include=("**/*.ts", "*.tsx")), [*IGNORING, *TYPED], 0, 0),
        (Scope(include=("src/*.ts",)), IGNORING, 1, 0),
        (Scope(include=("*.ts", "a:b")), IGNORING, 2, 0),
        (
            Scope(exclude=("*.js", "src/x", "a/", "[x]", "b?")),
            [*IGNORING, "--glob=!*.js", "--glob=!/src/x", "--glob=!**/a/**"],
            0,
            2,
        ),
    ],
)
def test_where_to_look(scope: Scope, args: list[str], include: int, exclude: int) -> None:
    given, rest = scope_args(scope)
    assert given == args
    assert (len(rest.include), len(rest.exclude)) == (include, exclude)


def test_named_files_are_checked(engine: Ripgrep, root: SearchRoot) -> None:
    unchecked = Candidates(["a.txt", "bin", "big", "wide.bin", "gone"])
    assert list(engine.rows(root, Query("needle"), Scope(), unchecked)) == [("a.txt", 1, 1, b"needle one")]


def test_without_files_the_pattern_is_checked(engine: Ripgrep, root: SearchRoot) -> None:
    assert list(engine.rows(root, Query("needle"), Scope(), Candidates([]))) == []
    assert list(engine.rows(root, Query("(a"), Scope(), Candidates(["bin"]))) == [], "no file is left to search"
    with pytest.raises(ToolError, match="not a valid regular expression"):
        list(engine.rows(root, Query("(a"), Scope(), Candidates([])))
