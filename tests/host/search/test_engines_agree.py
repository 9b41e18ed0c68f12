"""ripgrep and the Python engine give the same answers, on random trees full of special cases."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.launchers import LAUNCHER
from toolroll.host.files.root import Root
from toolroll.host.search.search import GrepResult, Query, Scope, Search
from toolroll.policy.limits import Limits

NAMES = [
    "a.py",
    "b.py",
    "c.txt",
    "d.log",
    "ünï.py",
    "-x.py",
    "[q].py",
    "sp ace.txt",
    "n\nl.txt",
    ".hid.py",
    "Makefile",
]
FOLDERS = ["src", "lib", "build", "gen", ".conf", "node_modules", "-d", "é", "deep er"]
RULES = [
    *(
        "*.log",
        "build/",
        "/gen",
        "gen/",
        "src/*.py",
        "**/lib",
        "lib/**",
        "!a.py",
        "!keep.log",
        "*.txt",
        "!c.txt",
    ),
    *(
        "/src/**/b.py",
        "a.*",
        "[ab].py",
        "*",
        "!*/",
        "!*.py",
        "# comment",
        "",
        "c.txt  ",
        r"\[q\].py",
        "sp\\ ace.txt",
    ),
    *(
        "é",
        "/*",
        "!/src",
        "src/lib/",
        "**/gen/**",
        "/build/**/c.txt",
        "!build/",
        "d.lo?",
        "?.py",
        "node_modules",
    ),
]
LINES = [
    *(
        b"foo bar",
        b"Foo(bar)",
        b"foobar",
        b"foo_bar",
        b"",
        b"   indented foo",
        b"x = 'f\xc3\xb6\xc3\xb6 foo'",
        b"123 456",
    ),
    *(
        b"tab\tfoo\t",
        b"bad \xff\xfe foo",
        b"a:b:c foo 1:2:",
        b"12-34-foo",
        b"end foo",
        b"\xe6\xbc\xa2\xe5\xad\x97 foo",
    ),
]
QUERIES = [
    *(Query("foo"), Query("foo", ignore_case=True), Query("foo", whole_word=True), Query(r"^foo.*r$")),
    *(
        Query(r"\bfoo\b"),
        Query(r"foo$"),
        Query(r"^\s*$"),
        Query(r"\d+"),
        Query("foo(", literal=True),
        Query("o(o|b)"),
    ),
    *(
        Query("foo", before=1, after=2),
        Query(r"foo\nfoo"),
        Query(r"foo bar\s+foo"),
        Query("f.*\n.*r", multiline=True),
    ),
    *(
        Query("föö"),
        Query(r"\w+ foo", whole_word=True),
        Query("[^a-z ]foo"),
        Query("-e"),
        Query("nothing like it"),
    ),
]
SCOPES = [
    *(Scope(), Scope(hidden=True), Scope(ignored=True), Scope(hidden=True, ignored=True), Scope(depth=1)),
    *(Scope(depth=2), Scope(skip=("node_modules", "-d", "deep er")), Scope(include=("*.py",))),
    *(Scope(include=("*.{py,txt}",)), Scope(include=("src/**/*.py", "*.log")), Scope(include=(".*.py",))),
    *(Scope(include=("?.py", "[m-z]*")), Scope(exclude=("*.py",)), Scope(exclude=("src", "lib/"))),
    *(
        Scope(exclude=("src/**/*.py",)),
        Scope(exclude=("[ab].*", "/build")),
        Scope(include=("*.py",), exclude=("b*",)),
    ),
]
PATTERNS = [
    "*",
    "*.py",
    "**/*.py",
    "src/*",
    "src/**",
    "lib/",
    "{a,c}.{py,txt}",
    ".*",
    "**/.conf/**",
    "[!a]*",
    "**/lib/**/*",
]

LIMITS = Limits()


def grow(folder: Path, chance: random.Random, depth: int = 0) -> None:
    """A random tree with ignore files, links, and files of all sorts."""
    folder.mkdir(exist_ok=True)
    for name in chance.sample(NAMES, chance.randint(1, 5)):
        (folder / name).write_bytes(content(chance))
    for name in (".gitignore", ".ignore"):
        if chance.random() < 0.3:
            rules = chance.sample(RULES, chance.randint(1, 5))
            (folder / name).write_bytes(chance.choice(["\n", "\r\n"]).join(rules).encode())
    if chance.random() < 0.3:
        (folder / "link.py").symlink_to(chance.choice(["a.py", ".", "missing", "/etc/passwd"]))
    for name in chance.sample(FOLDERS, chance.randint(0, 3) if depth < 3 else 0):
        grow(folder / name, chance, depth + 1)


def content(chance: random.Random) -> bytes:
    end = chance.choice([b"\n", b"\n", b"\r\n"])
    text = end.join(chance.choices(LINES, k=chance.randint(0, 8))) + chance.choice([b"", end])
    kind = chance.random()
    if kind < 0.1:
        return text + b"\0" + text
    if kind < 0.15:
        return b"\xef\xbb\xbf" + text
    if kind < 0.2:
        return text.decode(errors="replace").encode("utf-16")
    return text


@pytest.fixture(
    scope="module", params=[range(6), pytest.param(range(6, 40), marks=pytest.mark.slow)], ids=["few", "many"]
)
def trees(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    made = []
    for seed in request.param:
        chance = random.Random(seed)
        top = tmp_path_factory.mktemp("tree")
        grow(top, chance)
        if seed % 3 == 0:
            (top / ".git" / "info").mkdir(parents=True)
            (top / ".git" / "a.py").write_text("foo\n")
            (top / ".git" / "info" / "exclude").write_text("\n".join(chance.sample(RULES, 2)))
        made.append(top)
    return made


def pairs(trees: list[Path], limits: Limits = LIMITS) -> Iterator[tuple[random.Random, list[str], Search, Search]]:
    """For each tree: its folders, and both engines."""
    for seed, top in enumerate(trees):
        folders = [os.path.relpath(where, top) for where, _, _ in os.walk(top) if ".git" not in where]
        with Root(str(top)) as root:
            yield (
                random.Random(seed),
                folders,
                Search(root, limits=limits, launcher=LAUNCHER),
                Search(root, limits=limits, launcher=LAUNCHER, program=None),
            )


def spans(query: Query) -> bool:
    return query.multiline or r"\n" in query.pattern


def comparable(found: GrepResult, query: Query) -> GrepResult:
    """Without what may differ: ripgrep does not tell where each of several matches over line ends starts."""
    if spans(query):
        rows = [replace(row, column=min(row.column, 1)) for row in found.rows]
        survey = found.survey and replace(found.survey, elsewhere=set(found.survey.elsewhere))
        return replace(found, rows=rows, survey=survey)
    return found


def test_both_engines_are_there(tmp_path: Path) -> None:
    assert LAUNCHER.find("rg") is not None
    with Root(str(tmp_path)) as root:
        assert Search(root, limits=Limits(), launcher=LAUNCHER).engine().name == "ripgrep"
        assert Search(root, limits=Limits(), launcher=LAUNCHER, program=None).engine().name == "python"


def test_grep(trees: list[Path]) -> None:
    seen = 0
    for chance, folders, fast, plain in pairs(trees):
        for query, scope in zip(QUERIES, chance.sample(SCOPES * 2, len(QUERIES)), strict=True):
            where = replace(scope, path=chance.choice([".", ".", *folders]))
            a, b = fast.grep(query, where, sort="path"), plain.grep(query, where, sort="path")
            assert comparable(a, query) == comparable(b, query), (query, where)
            seen += a.matches
    assert seen > 50 * len(trees)  # or the trees prove nothing


def test_grep_of_a_single_file(trees: list[Path]) -> None:
    for chance, _, fast, plain in pairs(trees):
        files = [entry.path for entry in fast.find("**", Scope(hidden=True, ignored=True)).entries]
        for path in chance.sample(files, min(4, len(files))):
            query = chance.choice(QUERIES)
            a, b = fast.grep(query, Scope(path)), plain.grep(query, Scope(path))
            assert comparable(a, query) == comparable(b, query), (query, path)


def test_find(trees: list[Path]) -> None:
    seen = 0
    for chance, folders, fast, plain in pairs(trees):
        for pattern in PATTERNS:
            where = replace(chance.choice(SCOPES), path=chance.choice([".", *folders]))
            for kind in ("file", "both", "directory"):
                a, b = fast.find(pattern, where, kind=kind), plain.find(pattern, where, kind=kind)
                assert a == b, (pattern, where, kind)
                seen += a.total
    assert seen > 20 * len(trees)


def test_surveys(trees: list[Path]) -> None:
    for chance, folders, fast, plain in pairs(
        trees, Limits(search_bytes=100, search_rows=0)
    ):  # so that each answer is cut
        for query in chance.sample([query for query in QUERIES if not spans(query)], 3):
            where = replace(chance.choice(SCOPES), path=chance.choice([".", *folders]))
            assert fast.grep(query, where).survey == plain.grep(query, where).survey, (query, where)
