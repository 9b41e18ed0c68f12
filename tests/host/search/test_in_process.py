"""The in-process engine finds what ripgrep finds, line by line; what may differ is left to ripgrep."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.launchers import LAUNCHER, beneath
from toolroll.host.files.root import Root
from toolroll.host.search.in_process import (
    FileKind,
    InProcess,
    LineMatcher,
    classify_file,
    compile_matcher,
    is_binary,
    is_text,
    read_text,
)
from toolroll.host.search.query import Candidates, Hit, Query, Scope, SearchRoot, SkippedFiles
from toolroll.host.search.ripgrep import Ripgrep
from toolroll.policy.limits import Limits

WORDS = [
    *("foo", "Foo", "foo_bar", "def get_x(self):", "x = 1", "", "a.b(c)", "tab\there", "föö", "éfoo", "foo\u212a"),
    *("ke\u017fs", "Kelvin key", "漢foo", "foo foo", "  foo", "[x]", "100%", "end$", "\u200dfoo", "Ⓐfoo", "b\x0bc"),
]
PATTERNS = [
    *("foo", "o", r"fo+", r"^foo$", r"\bfoo\b", r"\w+_\w+", r"def (get|set)_\w+\(self", r"[a-z]+ = \d", r"^$", r"x*"),
    *(
        r"\s+foo",
        r"[^a-z]foo",
        r".foo",
        r"^.foo",
        r"foo.$",
        r"\Wfoo",
        r"foo\S",
        r"f(o|ö)o",
        r"[\w.]+\(",
        r"o{2}",
        r"k\w",
    ),
    *(
        r"(foo|x)?$",
        r"a\.b",
        r"\[x\]",
        r"\d+%",
        r"^\s*$",
        r"\D\d",
        "é",
        r"foo|key",
        r"f.*o",
        r"\w{2,3} ",
        r"b\sc",
        r"b[\s.]c",
        r"b\Sc",
    ),
]
ENDS = [b"\n", b"\n", b"\n", b"\r\n", b"\r"]


@pytest.fixture
def root(tmp_path: Path) -> Iterator[SearchRoot]:
    fd = os.open(tmp_path, os.O_RDONLY)
    yield SearchRoot(fd, fd, (), False, [], None, float("inf"))
    os.close(fd)


def content(chance: random.Random) -> bytes:
    words = [word for word in WORDS if chance.random() < 0.8 or word.isascii()]
    end = chance.choice(ENDS)
    text = b"".join(chance.choice(words).encode() + end for _ in range(chance.randint(0, 12)))
    kind = chance.random()
    if kind < 0.1:
        return b"\xef\xbb\xbf" + text
    if kind < 0.2:
        return text.decode().encode("utf-16")
    return text.removesuffix(end) if kind < 0.5 else text + b"bad \xff foo\n" if kind < 0.6 else text


class LeftFiles:
    """An engine that finds nothing and keeps the names of the files that it is given."""

    def __init__(self) -> None:
        self.files: list[str] = []

    def rows(self, *given: Any) -> Generator[Hit, None, None]:
        _, _, _, candidates, _ = given
        self.files += candidates.files if candidates is not None else ["everything"]
        yield from ()


def search(
    matcher: LineMatcher, root: SearchRoot, names: list[str], stop_after: int = 1000
) -> tuple[list[Hit], list[str]]:
    """The hits, and the files that are left to the other engine."""
    left = LeftFiles()
    engine = InProcess(matcher, lambda: left, Limits().search_bytes)
    return list(engine.rows(root, Query(""), Scope(), Candidates(names, True), stop_after)), left.files


def engine(root: SearchRoot) -> Ripgrep:
    program = LAUNCHER.find("rg")
    assert program is not None
    return Ripgrep(program, Limits(), LAUNCHER, beneath(root.folder))


@pytest.mark.parametrize("seed", range(3))
def test_it_is_what_ripgrep_finds(seed: int, root: SearchRoot, tmp_path: Path) -> None:
    chance = random.Random(seed)
    names = [f"f{number}" for number in range(40)]
    for name in names:
        (tmp_path / name).write_bytes(content(chance))
    searched = seen = 0
    for pattern in PATTERNS:
        query = Query(pattern, chance.random() < 0.3, chance.random() < 0.3)
        query = replace(query, before=chance.choice([0, 0, 2]), after=chance.choice([0, 0, 1]))
        made = compile_matcher(query)
        if made is None:
            continue
        hits, left = search(made, root, names)
        mine = [name for name in names if name not in left]
        wanted = sorted(
            (p, n, c, raw.removesuffix(b"\r"))
            for p, n, c, raw in engine(root).rows(root, query, Scope(), Candidates(mine, True, all_text=True))
        )
        assert sorted((p, n, c, raw.removesuffix(b"\r")) for p, n, c, raw in hits) == wanted, query
        searched += len(mine)
        seen += len(wanted)
    assert searched > 500  # or nothing is shown
    assert seen > 200


@pytest.mark.parametrize(
    "query",
    [
        *(Query("foo", whole_word=True), Query("a", multiline=True), Query("a\nb", literal=True), Query(r"a\r")),
        *(Query("é", ignore_case=True), Query("a\0b", literal=True), Query(r"\p{L}"), Query("(?i)a"), Query("[a&&b]")),
        *(
            Query("(a"),
            Query("[z-a]"),
            Query("a**"),
            Query("a{,3}"),
            Query(r"\w{99}"),
            Query("[[:alpha:]]"),
            Query("ö+"),
        ),
        *(Query("\\<a"), Query("x" * 300 + "+"), Query("a{3}{2}"), Query("^*"), Query(r"\b+")),
    ],
)
def test_what_is_for_ripgrep_alone(query: Query) -> None:
    assert compile_matcher(query) is None


@pytest.mark.parametrize(
    ("data", "query", "is_left"),
    [
        ("foo é\n".encode(), Query(r"o \w"), True),
        ("foo é\nfoo e\n".encode(), Query(r"o [a-z]"), False),
        (b"foo\rfoo\n", Query("foo"), True),
        (b"foo\r\n", Query("foo"), False),
        (b"foo\r\n", Query("fo+"), True),
        ("\u212aey\n".encode(), Query("key", ignore_case=True), True),
        (b"x" * 1_000_001, Query("x"), True),
        ("foo\n".encode("utf-16"), Query("foo"), True),
        (b"foo\0", Query("foo"), False),
    ],
)
def test_which_files_are_left(data: bytes, query: Query, is_left: bool, root: SearchRoot, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(data)
    made = compile_matcher(query)
    assert made is not None
    hits, left = search(made, root, ["f"])
    assert (left == ["f"]) == is_left
    assert bool(hits) == (not is_left and b"\0" not in data)


def test_no_link_is_followed_and_what_is_gone_is_left(root: SearchRoot, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("foo\n" * 5)
    (tmp_path / "link").symlink_to("f")
    os.mkfifo(tmp_path / "pipe")
    made = compile_matcher(Query("foo"))
    assert made is not None
    hits, left = search(made, root, ["link", "pipe", "gone", "f"], stop_after=2)
    assert hits == [("f", 1, 1, b"foo"), ("f", 2, 1, b"foo")]
    assert left == ["link", "pipe", "gone"]


@pytest.mark.parametrize("kernel", [True, False])
def test_a_folder_that_was_swapped_for_a_link_is_not_looked_into(ws: Path, tmp_path: Path, kernel: bool) -> None:
    """The index may name a file below a folder that is a link by now."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text("SECRET\n")
    (ws / "d").symlink_to(outside)
    with Root(str(ws), kernel=kernel) as root:
        base = SearchRoot(root.fd, root.fd, (), False, [], None, float("inf"), opener=root.opener)
        assert os.path.exists(f"{ws}/d/a.txt")
        assert read_text(base, "d/a.txt", 1_000) is None
        assert not is_text(base, "d/a.txt", 1_000)


def test_without_re2_regular_expressions_are_for_ripgrep(monkeypatch: pytest.MonkeyPatch) -> None:
    assert compile_matcher(Query("fo+")) is not None
    monkeypatch.setitem(sys.modules, "re2", None)
    assert compile_matcher(Query("fo+")) is None
    assert compile_matcher(Query("foo")) is not None


def test_binary_files_are_noted_and_no_file_is_begun_when_there_are_enough(root: SearchRoot, tmp_path: Path) -> None:
    for name, data in {"bin": b"foo\0", "a": b"foo\nfoo\n", "b": b"foo\n", "c": b"\0"}.items():
        (tmp_path / name).write_bytes(data)
    matcher, left, skipped = compile_matcher(Query("foo")), LeftFiles(), SkippedFiles(4)
    assert matcher is not None
    files = Candidates(["bin", "a", "b", "c"], True, skipped=skipped)
    hits = list(InProcess(matcher, lambda: left, 1_000).rows(root, Query("foo"), Scope(), files, stop_after=2))
    assert hits == [("a", 1, 1, b"foo"), ("a", 2, 1, b"foo")]
    assert (skipped.binary, left.files) == (["bin"], [])
    assert (
        list(InProcess(matcher, lambda: left, 3).rows(root, Query("foo"), Scope(), Candidates(["a", "b"], True))) == []
    )
    assert left.files == ["a", "b"], "each is larger than three bytes"


def test_a_search_of_the_whole_tree_is_left(root: SearchRoot) -> None:
    matcher, left = compile_matcher(Query("foo")), LeftFiles()
    assert matcher is not None
    assert list(InProcess(matcher, lambda: left, 1_000).rows(root, Query("foo"), Scope())) == []
    assert left.files == ["everything"]


@pytest.mark.parametrize(
    ("data", "sort"),
    [
        (b"", "text"),
        (b"plain\n", "text"),
        (b"\xff odd", "text"),
        (b"with a \0 in it", "binary"),
        (b"x" * 3_000_000 + b"\0", "binary"),
        (b"x" * 3_000_001, "too big"),
        ("wide\n".encode("utf-16"), "text"),
        (b"\xfe\xff" + "wide\n".encode("utf-16-be"), "text"),
        ("wide\0".encode("utf-16"), "binary"),
        (b"\xff\xfe" + "\u0100\u0001".encode("utf-16-le") * 700_000, "text"),  # two bytes that only look like a NUL
        (b"\xff\xfex\0" * 700_000 + b"\0\0", "binary"),
    ],
)
def test_what_a_file_is(data: bytes, sort: FileKind, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(data)
    with Root(str(tmp_path)) as root:
        ground = SearchRoot(root.fd, root.fd, (), False, [], None, float("inf"), opener=root.opener)
        assert classify_file(ground, "f", 3_000_001 - (sort == "too big")) == sort
        assert is_text(ground, "f", 3_000_001 - (sort == "too big")) == (sort == "text")
        assert ground.ages == {"f": -(tmp_path / "f").stat().st_mtime_ns}


@pytest.mark.parametrize("size", [0, 1, 2, 5, 100, 1 << 20, 1 << 21])
def test_a_file_that_has_grown_meanwhile(size: int, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes("wide\n\0".encode("utf-16"))
    (tmp_path / "g").write_bytes("wide\n\n".encode("utf-16"))
    for name, binary in (("f", True), ("g", False)):
        fd = os.open(tmp_path / name, os.O_RDONLY)
        assert is_binary(fd, size) == binary
        os.close(fd)


def test_what_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "out").write_text("x")
    (tmp_path / "ws" / "link").symlink_to("../out")
    with Root(str(tmp_path / "ws")) as root:
        ground = SearchRoot(root.fd, root.fd, (), False, [], None, float("inf"), opener=root.opener)
        assert [classify_file(ground, path, 100) for path in ("none", "link", "../out")] == ["gone"] * 3
