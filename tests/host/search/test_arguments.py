from __future__ import annotations

import pytest

from toolroll.host.search.arguments import query_args, scope_args
from toolroll.host.search.query import Query, Scope


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
