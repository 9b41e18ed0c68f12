"""Both engines, on trees made by hand. That they agree on everything else is shown in test_search_engines.py."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.launchers import LAUNCHER, UNCONFINED
from tests.waiting import closed_again, descriptors, until
from toolroll.host.files.root import Root
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.search.search import FileEntry, GrepRow, Query, Scope, Search, Survey
from toolroll.policy.limits import Limits
from toolroll.result import ErrorCode, ToolError

Make = Callable[..., Search]
FILES = {
    "a.py": "import os\nneedle = 1\n",
    "src/b.py": "# the needle\nNeedle()\n",
    "src/deep/c.txt": "one\ntwo needle three\nfour\n",
    ".gitignore": "*.log\n/build/\n",
    "x.log": "needle in a log\n",
    "build/gen.py": "needle\nneedle\n",
    "build/deep/d.log": "needle\n",
    ".env": "KEY=needle\n",
    ".conf/e.py": "needle\n",
    "bin.dat": "needle\n\0needle\n",
}


@pytest.fixture(params=["auto", None], ids=["ripgrep", "python"])
def search(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Makes the search of `tmp_path/ws`, each file a day older than the one before it."""
    before, others = descriptors(), set(children())
    roots = []

    def make(files: dict[str, str | bytes] | None = None, **limits: float) -> Search:
        top = tmp_path / "ws"
        for age, (path, text) in enumerate((FILES if files is None else files).items()):
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            (top / path).write_bytes(text if isinstance(text, bytes) else text.encode())
            os.utime(top / path, ns=(0, (100 - age) * 10**9))
        roots.append(Root(str(top)))
        # A launcher that confines has threads that keep rights which a test may have given up.
        launcher = UNCONFINED if "file_modes" in request.fixturenames else LAUNCHER
        return Search(roots[-1], limits=Limits(**limits), launcher=launcher, program=request.param)  # type: ignore[arg-type]

    yield make
    for root in roots:
        root.close()
    assert closed_again(before)
    assert until(lambda: set(children()) <= others)


def children() -> list[str]:
    """What this process has started and not ended."""
    found: list[str] = []
    for thread in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError):  # it has ended just now
            found += (thread / "children").read_text().split()
    return found


def lines(search: Search, query: Query, scope: Scope = Scope()) -> list[str]:  # noqa: B008
    return [f"{row.path}:{row.line}:{row.column}:{row.text}" for row in search.grep(query, scope, sort="path").rows]


def paths(search: Search, pattern: str, scope: Scope = Scope(), **options: str) -> list[str]:  # noqa: B008
    return [entry.path for entry in search.find(pattern, scope, **options).entries]  # type: ignore[arg-type]


def test_grep(search: Make) -> None:
    found = search().grep(Query("needle"))
    assert found.rows == [  # newest file first
        GrepRow("a.py", 2, 1, "needle = 1"),
        GrepRow("src/b.py", 1, 7, "# the needle"),
        GrepRow("src/deep/c.txt", 2, 5, "two needle three"),
    ]
    assert (found.matches, found.files, found.complete, found.stopped, found.survey) == (
        3,
        3,
        True,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("query", "scope", "rows"),
    [
        (
            Query("NEEDLE", ignore_case=True),
            Scope("src", depth=1),
            ["src/b.py:1:7:# the needle", "src/b.py:2:1:Needle()"],
        ),
        (Query("Needle()", literal=True), Scope(), ["src/b.py:2:1:Needle()"]),
        (Query("eedle", whole_word=True), Scope(), []),
        (Query("needle", whole_word=True), Scope("a.py"), ["a.py:2:1:needle = 1"]),
        (Query(r"^(one|four)$"), Scope(), ["src/deep/c.txt:1:1:one", "src/deep/c.txt:3:1:four"]),
        (
            Query("needle three", before=1, after=1),
            Scope(),
            ["src/deep/c.txt:1:0:one", "src/deep/c.txt:2:5:two needle three", "src/deep/c.txt:3:0:four"],
        ),
        (
            Query("three\nfour", literal=True),
            Scope(),
            ["src/deep/c.txt:2:12:two needle three", "src/deep/c.txt:3:1:four"],
        ),
        (Query("^two.*four", multiline=True), Scope(), []),
        (Query("(?s)^two.*four", multiline=True), Scope("src/deep"), None),
        (Query("needle"), Scope(include=("*.txt",)), ["src/deep/c.txt:2:5:two needle three"]),
        (Query("needle"), Scope(include=("src/*",)), ["src/b.py:1:7:# the needle"]),
        (Query("needle"), Scope("src", include=("deep/*",)), ["src/deep/c.txt:2:5:two needle three"]),
        (Query("needle"), Scope(exclude=("src",)), ["a.py:2:1:needle = 1"]),
        (Query("needle"), Scope(depth=1), ["a.py:2:1:needle = 1"]),
        (Query("needle"), Scope(skip=("src",)), ["a.py:2:1:needle = 1"]),
        (Query("KEY"), Scope(hidden=True), [".env:1:1:KEY=needle"]),
        (
            Query("KEY"),
            Scope(include=(".env",)),
            [".env:1:1:KEY=needle"],
        ),  # who names a dot wants hidden files
        (Query("in a log"), Scope(ignored=True), ["x.log:1:8:needle in a log"]),
        (Query("in a log"), Scope(include=("*.log",)), []),  # a pattern does not bring ignored files back
        (Query("needle"), Scope("x.log"), ["x.log:1:1:needle in a log"]),  # but a path does
        (Query("needle"), Scope("build"), ["build/gen.py:1:1:needle", "build/gen.py:2:1:needle"]),
        (Query("needle"), Scope(".conf"), [".conf/e.py:1:1:needle"]),
        (Query("needle"), Scope("./src/../a.py"), ["a.py:2:1:needle = 1"]),
    ],
)
def test_what_is_found_where(query: Query, scope: Scope, rows: list[str] | None, search: Make) -> None:
    expected = ["src/deep/c.txt:2:1:two needle three", "src/deep/c.txt:3:1:four"] if rows is None else rows
    assert lines(search(), query, scope) == expected


@pytest.mark.parametrize(
    ("files", "query", "rows"),
    [
        ({"a": "föö bär\n"}, Query("bär"), ["a:1:5:föö bär"]),
        ({"a": b"\xff\xff\xfe bad\n"}, Query("bad"), [r"a:1:14:\xff\xff\xfe bad"]),
        ({"a": "one\r\ntwo\r\n"}, Query("^one$"), ["a:1:1:one"]),
        ({"a": "one\r\ntwo\r\n"}, Query("one\ntwo", literal=True), ["a:1:1:one", "a:2:1:two"]),
        ({"a": "one\r\ntwo\n"}, Query(r"e\r$"), ["a:1:3:one"]),
        ({"a": "no line end"}, Query("end$"), ["a:1:9:no line end"]),
        ({"a": "a:1:b\n1-2\n"}, Query("^1", before=1), ["a:1:0:a:1:b", "a:2:1:1-2"]),
        (
            {"n\nl": "x\n", "-n": "x\n", ": WARNING": "x\n"},
            Query("x"),
            ["-n:1:1:x", ": WARNING:1:1:x", "n\nl:1:1:x"],
        ),
        ({"a": "--files\n"}, Query("--files"), ["a:1:1:--files"]),
        ({"-e/-f": "x\n"}, Query("x"), ["-e/-f:1:1:x"]),
        ({"a": "漢字 x\n".encode("utf-16")}, Query("x"), ["a:1:4:漢字 x"]),
        ({"a": b"\xef\xbb\xbfx\n"}, Query("^x"), ["a:1:1:x"]),
        ({"é/ü.txt": "x\n"}, Query("x"), ["é/ü.txt:1:1:x"]),
        (
            {"a": b"x\n" + b"y" * 200_000 + b"\0"},
            Query("x"),
            [],
        ),  # binary, though the first match comes early
    ],
)
def test_strange_files(files: dict[str, str | bytes], query: Query, rows: list[str], search: Make) -> None:
    assert lines(search(files), query) == rows


def test_a_name_that_is_not_utf8_can_be_shown(search: Make, tmp_path: Path) -> None:
    made = search({"a": ""})
    (tmp_path / "ws" / os.fsdecode(b"caf\xe9")).write_text("x\n")
    assert lines(made, Query("x")) == [r"caf\xe9:1:1:x"]
    assert paths(made, "caf*") == [r"caf\xe9"]


def test_a_long_line_is_cut_around_the_match(search: Make) -> None:
    found = search({"a": b"." * 3_000_000 + b"needle" + b"." * 2_000_000}, line_chars=40).grep(Query("needle"))
    (row,) = found.rows
    assert (row.line, row.column, len(row.text)) == (1, 3_000_001, 40)
    assert row.text == "…" + "." * 9 + "needle" + "." * 23 + "…"


def test_lines_are_cut_at_their_ends_only_where_something_is_missing(search: Make) -> None:
    made = search({"a": "needle" + "." * 50 + "\n" + "." * 50 + "needle\n" + "." * 40 + "\n"}, line_chars=20)
    assert [row.text for row in made.grep(Query(r"needle|^\.{40}$")).rows] == [
        *("needle" + "." * 12 + "…", "…" + "." * 12 + "needle", "." * 18 + "…")
    ]


@pytest.mark.parametrize(
    ("query", "scope", "survey"),
    [
        (Query("in a log"), Scope(), Survey(5, {"ignored": 3, "hidden": 3}, {"ignored": 1})),
        (Query("KEY"), Scope(), Survey(5, {"ignored": 3, "hidden": 3}, {"hidden": 1})),
        (Query("needle"), Scope("bin.dat"), Survey(1, {}, {"binary": 2})),
        (Query("needle"), Scope(include=("*.dat",)), Survey(1, {}, {"binary": 2})),
        (Query("needle"), Scope(include=("*.log",)), Survey(0, {"ignored": 2}, {"ignored": 2})),
        (Query("needle"), Scope(exclude=("*.*", "plain")), Survey(0, {}, {})),
        (
            Query("needle"),
            Scope("src", skip=("deep",), exclude=("*.py",)),
            Survey(0, {"ignored": 1}, {"ignored": 1}),
        ),
        (Query("nowhere"), Scope("src"), Survey(2, {}, {})),
        (Query("nowhere"), Scope(hidden=True, ignored=True), Survey(11, {}, {})),
    ],
)
def test_an_empty_answer_says_what_was_not_searched(query: Query, scope: Scope, survey: Survey, search: Make) -> None:
    files = FILES | {"plain": "nothing\n"}
    found = search(files).grep(query, scope)
    assert (found.rows, found.complete) == ([], True)
    assert found.survey == survey


def test_hidden_is_whatever_has_a_dot_on_its_way(search: Make) -> None:
    found = search({"a/.b/c": "needle\n", ".gitignore": "d\n", "d/.e": "needle\n"}).grep(Query("needle"))
    assert found.survey == Survey(0, {"hidden": 3}, {"hidden": 2})


def test_a_file_that_is_too_big_is_counted_unless_it_is_named(search: Make) -> None:
    made = search({"big": "needle\n" * 200, "small": "x\n"}, search_bytes=1000)
    assert made.grep(Query("needle")).survey == Survey(1, {"too big": 1}, {})
    if made.engine().name == "ripgrep":
        assert made.grep(Query("needle"), Scope("big")).matches == 200
    else:
        with pytest.raises(ToolError, match="at most 1000 can be searched") as caught:
            made.grep(Query("needle"), Scope("big"))
        assert caught.value.code is ErrorCode.TOO_LARGE


@pytest.mark.usefixtures("file_modes")
def test_what_cannot_be_read_is_counted(search: Make, tmp_path: Path) -> None:
    made = search({"a": "needle\n", "b": "needle\n", "d/c": "needle\n"})
    (tmp_path / "ws/b").chmod(0)
    (tmp_path / "ws/d").chmod(0)
    found = made.grep(Query("needle"))
    assert (found.rows, found.unreadable) == ([GrepRow("a", 1, 1, "needle")], 2)
    assert made.grep(Query("nowhere")).survey == Survey(1, {"unreadable": 1, "unreadable folders": 1}, {})
    assert made.find("*").unreadable == 1
    assert made.find("nowhere").survey == Survey(2, {"unreadable folders": 1}, {})
    (tmp_path / "ws/d").chmod(0o700)


@pytest.mark.parametrize("scope", [Scope(), Scope("s")])
def test_ignore_files_are_read_as_git_does(scope: Scope, search: Make) -> None:
    """ripgrep takes braces for choices, and reads no further than to a byte that is not UTF-8."""
    names = ("a.log", "b.tmp", "x{1}", "cafe")
    rules = b"*.{log,tmp}\nx{1}\n# caf\xe9\n/s/caf\xe9\n*.tmp\n"
    made = search({**{f"s/{name}": "needle\n" for name in names}, ".gitignore": rules})
    found = made.grep(Query("need[l]e"), scope)
    assert [row.path for row in found.rows] == ["s/a.log", "s/cafe"]
    assert made.grep(Query("nowher[e]"), Scope("s")).survey == Survey(2, {"ignored": 2}, {})


def test_too_many_rows_stop_the_search(search: Make) -> None:
    made = search({"a": "needle\n" * 50, ".h": "needle\n"}, search_rows=10)
    found = made.grep(Query("needle"))
    assert (len(found.rows), found.matches, found.complete, found.stopped) == (10, 10, False, "rows")
    assert found.survey == Survey(1, {"hidden": 1}, {"hidden": 1})
    assert made.grep(Query("needle"), Scope(".h")).stopped is None


def test_as_many_rows_as_allowed_are_complete(search: Make) -> None:
    found = search({"a": "needle\n" * 10}, search_rows=10).grep(Query("needle", after=3))
    assert (found.matches, found.stopped) == (10, None)


@pytest.mark.timeout(60)
def test_no_time_is_a_partial_answer_not_an_error(search: Make) -> None:
    made = search({f"{n}/{m}": "needle\n" * 5 for n in range(20) for m in range(50)}, answer_seconds=0.0)
    found = made.grep(Query("needle"))
    assert (found.complete, found.stopped) == (False, "time")
    assert found.survey is not None
    listing = made.find("*")
    assert (listing.complete, listing.stopped) == (False, "time")


@pytest.mark.timeout(60)
def test_a_pipe_in_place_of_an_ignore_file_does_not_hang(search: Make, tmp_path: Path) -> None:
    made = search({"a": "needle\n"}, answer_seconds=0.5)
    os.mkfifo(tmp_path / "ws" / ".gitignore")
    found = made.grep(Query("needle"))
    assert (found.rows == [GrepRow("a", 1, 1, "needle")]) == found.complete
    assert found.stopped in (None, "time")


@pytest.mark.timeout(60)
def test_cancelling_ends_it(search: Make) -> None:
    made = search({f"{n}/{m}": "needle\n" * 5 for n in range(20) for m in range(50)})
    token = CancelToken()
    token.cancel()
    for ask in (lambda: made.grep(Query("needle"), token=token), lambda: made.find("*", token=token)):
        with pytest.raises(ToolError) as caught:
            ask()
        assert caught.value.code is ErrorCode.CANCELLED


@pytest.mark.timeout(60)
def test_a_call_that_is_short_of_time_still_answers(search: Make, tmp_path: Path) -> None:
    made = search({"a": "needle\n"})
    os.mkfifo(tmp_path / "ws" / ".gitignore")  # ripgrep waits for it
    assert made.grep(Query("needle"), token=CancelToken(seconds=1.0)).stopped in (None, "time")


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "pattern", [r"(a+)+$", r"(a|aa)+$", r"(.*)*b", r"(a*)*c", r"([a-z]+)*\d", r"(x+x+)+y", r".*.*.*=.*"]
)
def test_no_pattern_is_slow(pattern: str, search: Make) -> None:
    assert search({"a": "a" * 20_000 + "!\n", "b": "x" * 20_000 + "\n"}).grep(Query(pattern)).complete


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(unclosed", "not a valid regular expression"),
        ("[z-a]", "not a valid regular expression"),
        (r"\q", "set `literal` to true"),
        ("*", "not a valid regular expression"),
        ("a(?=b)", "look-around"),
        (r"(a)\1", "back-reference"),
        (r"\p{L}{1000}\p{L}{1000}", "not a valid regular expression"),
        ("", "empty"),
    ],
)
def test_a_bad_pattern_says_what_to_do(pattern: str, reason: str, search: Make) -> None:
    for scope in (Scope(), Scope("a.py")):
        with pytest.raises(ToolError, match=reason) as caught:
            search().grep(Query(pattern), scope)
        assert caught.value.code is ErrorCode.VALIDATION


def test_ignore_files_above_the_searched_folder_count(search: Make) -> None:
    files = {
        ".gitignore": "/pkg/gen/\nnode_modules\n/pkg/*.tmp\n",
        "pkg/.gitignore": "web/x.py\n!web/keep.tmp\n",
        "pkg/web/a.py": "needle\n",
        "pkg/web/x.py": "needle\n",
        "pkg/web/node_modules/m.js": "needle\n",
        "pkg/web/b.tmp": "needle\n",
        "pkg/gen/g.py": "needle\n",
    }
    made = search(files)
    assert lines(made, Query("needle")) == ["pkg/web/a.py:1:1:needle", "pkg/web/b.tmp:1:1:needle"]
    assert lines(made, Query("needle"), Scope("pkg/web")) == [
        "pkg/web/a.py:1:1:needle",
        "pkg/web/b.tmp:1:1:needle",
    ]
    assert lines(made, Query("needle"), Scope("pkg/gen")) == ["pkg/gen/g.py:1:1:needle"]


def test_ignore_files_above_the_workspace_do_not_count(search: Make, tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*\n")
    assert search().grep(Query("needle")).matches == 3


def test_links_are_not_followed_and_nothing_outside_is_named(search: Make, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/s.py").write_text("needle\n")
    made = search({"a.py": "needle\n", "d/b.py": "needle\n"})
    for name, target in {
        "out": "../secret",
        "abs": str(tmp_path),
        "f.py": "../secret/s.py",
        "in": "d",
    }.items():
        (tmp_path / "ws" / name).symlink_to(target)
    everything = Scope(hidden=True, ignored=True)
    assert lines(made, Query("needle"), everything) == ["a.py:1:1:needle", "d/b.py:1:1:needle"]
    assert paths(made, "**", everything, sort="path") == ["a.py", "d/b.py"]
    assert paths(made, "**", everything, kind="both", sort="path") == [
        *("a.py", "abs", "d", "d/b.py", "f.py", "in", "out")
    ]
    assert lines(made, Query("needle"), Scope("in")) == ["d/b.py:1:1:needle"]  # a link inside, by its real name
    for path in ("out", "abs", "f.py", "..", "/etc", str(tmp_path)):
        with pytest.raises(ToolError) as caught:
            made.grep(Query("needle"), Scope(path))
        assert caught.value.code is ErrorCode.SECURITY


def test_a_missing_path_is_not_an_empty_answer(search: Make) -> None:
    with pytest.raises(FileNotFoundError):
        search().grep(Query("needle"), Scope("nowhere"))
    with pytest.raises(NotADirectoryError):
        search().find("*", Scope("a.py"))


def test_find(search: Make) -> None:
    listing = search().find("**/*.py")
    assert listing.entries == [
        FileEntry("a.py", "file", 21, 100 * 10**9),
        FileEntry("src/b.py", "file", 22, 99 * 10**9),
    ]
    assert (listing.total, listing.complete, listing.stopped, listing.survey) == (2, True, None, None)


@pytest.mark.parametrize(
    ("pattern", "scope", "options", "found"),
    [
        ("*.py", Scope(), {"sort": "name"}, ["a.py", "src/b.py"]),
        ("*", Scope(), {"sort": "size"}, ["src/deep/c.txt", "src/b.py", "a.py", "bin.dat"]),
        ("*", Scope(), {"sort": "path", "kind": "directory"}, ["src", "src/deep"]),
        ("*", Scope("src"), {"sort": "path", "kind": "both"}, ["src/b.py", "src/deep", "src/deep/c.txt"]),
        ("deep/*", Scope("src"), {}, ["src/deep/c.txt"]),
        ("src/**", Scope(), {"sort": "path"}, ["src/b.py", "src/deep/c.txt"]),
        ("{a,b,z}.{py,txt}", Scope(), {}, ["a.py", "src/b.py"]),
        (".env", Scope(), {}, [".env"]),
        ("**/.conf/**", Scope(), {}, [".conf/e.py"]),
        ("*.log", Scope(), {}, []),
        ("*.log", Scope(ignored=True), {}, ["x.log", "build/deep/d.log"]),
        ("*.py", Scope("build"), {}, ["build/gen.py"]),
        ("*.py", Scope(exclude=("src/",)), {}, ["a.py"]),
        ("*b*", Scope(include=("*.py", "*.dat")), {"sort": "path"}, ["bin.dat", "src/b.py"]),
        ("-*", Scope(), {}, []),
    ],
)
def test_what_names_are_found(
    pattern: str, scope: Scope, options: dict[str, str], found: list[str], search: Make
) -> None:
    assert paths(search(), pattern, scope, **options) == found


def test_find_sees_empty_folders(search: Make, tmp_path: Path) -> None:
    made = search()
    (tmp_path / "ws/empty").mkdir()
    assert paths(made, "empty", kind="directory") == ["empty"]


@pytest.mark.parametrize(
    ("pattern", "scope", "survey"),
    [
        ("*.log", Scope(), Survey(4, {"ignored": 3, "hidden": 3}, {"ignored": 2})),
        ("e.py", Scope(), Survey(4, {"ignored": 3, "hidden": 3}, {"hidden": 1})),
        ("nowhere", Scope("src"), Survey(2, {}, {})),
    ],
)
def test_an_empty_listing_says_what_was_not_looked_at(pattern: str, scope: Scope, survey: Survey, search: Make) -> None:
    assert search().find(pattern, scope).survey == survey


def test_the_newest_are_the_newest_of_all(search: Make) -> None:
    listing = search({f"{n}.py": "" for n in reversed(range(50))}, search_rows=3).find("*.py")
    assert [entry.path for entry in listing.entries] == ["49.py", "48.py", "47.py"]
    assert (listing.total, listing.complete, listing.stopped) == (50, False, "rows")


def test_a_pattern_with_the_whole_path(search: Make, tmp_path: Path) -> None:
    made = search()
    assert paths(made, f"{tmp_path}/ws/*.py") == ["a.py"]
    assert paths(made, f"{tmp_path}/ws/src/**") == ["src/b.py", "src/deep/c.txt"]
    assert paths(made, f"{tmp_path}/ws/src/deep/*", Scope("src")) == ["src/deep/c.txt"]
    with pytest.raises(ToolError, match="not in the searched folder 'src'"):
        made.find(f"{tmp_path}/ws/*.py", Scope("src"))


@pytest.mark.parametrize("pattern", ["../*", "src/../../*", "/etc/*", "{a,../b}", "**/../../x", "/"])
def test_a_pattern_that_leads_out_is_refused(pattern: str, search: Make) -> None:
    with pytest.raises(ToolError, match="outside the workspace") as caught:
        search().find(pattern)
    assert caught.value.code is ErrorCode.SECURITY


def test_a_filter_that_leads_out_is_refused(search: Make) -> None:
    with pytest.raises(ToolError, match="outside the workspace"):
        search().grep(Query("x"), Scope(include=("../*.py",)))


def test_several_threads_may_search_at_a_time(search: Make) -> None:
    made = search()
    counts: list[int] = []
    threads = [threading.Thread(target=lambda: counts.append(made.grep(Query("needle")).matches)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [3] * 8


def test_the_program_is_found_beside_python() -> None:
    program = LAUNCHER.find("rg")
    assert program is not None
    assert os.access(program, os.X_OK)
