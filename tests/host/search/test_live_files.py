"""What is kept between searches never changes an answer: the same rows as without, whatever happens to the files."""

from __future__ import annotations

import os
import random
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest

from tests.launchers import LAUNCHER
from tests.waiting import closed_again, descriptors
from toolroll.host.files.root import Root
from toolroll.host.search import grep
from toolroll.host.search.search import GrepRow, Query, Scope, Search
from toolroll.policy.limits import Limits

WORDS = [
    *("alpha", "beta", "gamma", "needle", "Needle", "self.value", "def run(self):", "return None", "import os"),
    *(
        "x = 1",
        "föö bär",
        "naïve",
        "\u017ftraße",
        "\u212a elvin",
        "kelvin",
        "a.b.c",
        "[list]",
        "tab\there",
        "end$",
        "^start",
    ),
    *("raise ValueError('no')", "# comment", "UPPER CASE", "upper case", "123456", "0xdeadbeef", "漢字仮名"),
]
NAMES = ["a.py", "b.py", "c.txt", "d.log", "e.md", "ü.py", ".hid.py", "Makefile", "n l.txt"]
FOLDERS = ["src", "lib", "build", ".conf", "deep er", "é", "node"]
RULES = ["*.log", "build/", "/lib", "!a.py", "*.txt", "src/*.py", "**/node", "!build/"]
SCOPES = [
    *(Scope(), Scope(), Scope(), Scope(include=("*.py",)), Scope(exclude=("src",)), Scope(depth=2)),
    *(Scope(include=("src/**",)), Scope(skip=("lib",)), Scope(hidden=True), Scope(ignored=True)),
]
SHAPES: list[Callable[[random.Random, str], str]] = [
    lambda _, word: word,
    lambda _, word: rf"\b{word}",
    lambda _, word: f"^{word}$",
    lambda chance, word: f"{word}|{chance.choice(PLAIN)}",
    lambda chance, word: f"({word}|{chance.choice(PLAIN)})( |$)",
    lambda chance, word: f"{word}.*{chance.choice(PLAIN)}",
    lambda _, word: f"(?:{word})+",
    lambda _, word: f"x?{word}y*",
    lambda _, word: f"[A-Za-z]{word[1:]}",
    lambda _, word: f"{word[:2]}[^ ]{word[3:]}",
    lambda _, word: rf"{word[:4]}\w+",
    lambda _, word: f"(?i){word}",
    lambda _, word: f"{word[:3]}{{1,2}}",
    lambda chance, word: rf"{word}\n{chance.choice(PLAIN)}",
    lambda _, word: word[:2],
]
PLAIN = [word for word in WORDS if not set(word) & set(".[]()^$#'")]


def write(path: Path, chance: random.Random) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    end = chance.choice(["\n", "\n", "\r\n"])
    text = end.join(chance.choices(WORDS, k=chance.randint(0, 25))).encode()
    kind = chance.random()
    data = text.decode().encode("utf-16") if kind < 0.05 else text + b"\0" + text if kind < 0.12 else text
    path.write_bytes(data)
    age = chance.randint(1, 10**9)
    os.utime(path, (age, age))


def place(top: Path, chance: random.Random) -> Path:
    return top.joinpath(*chance.choices(FOLDERS, k=chance.randint(0, 4)), chance.choice(NAMES))


def change(top: Path, chance: random.Random) -> None:
    """One of all the things that happen to files."""
    every = [path for path in top.rglob("*") if not path.is_symlink()]
    files, folders = [path for path in every if path.is_file()], [path for path in every if path.is_dir()]
    one, other = chance.choice(files), place(top, chance)
    free = not other.is_dir() and not blocked(other)
    number = chance.randrange(1000)

    def move() -> None:
        other.parent.mkdir(parents=True, exist_ok=True)
        one.rename(other)

    def append() -> None:
        with one.open("ab") as file:
            file.write(chance.choice(WORDS).encode())

    rules = chance.choice([top, *folders]) / chance.choice([".gitignore", ".gitignore", ".ignore"])
    ways: list[tuple[bool, Callable[[], object]]] = [
        (len(files) > 80, one.unlink),
        (free, move),
        (bool(folders), lambda: chance.choice(folders).rename(top / f"moved{number}")),
        (True, lambda: rules.write_text("\n".join(chance.sample(RULES, chance.randint(0, 2))))),
        (len(files) > 100, lambda: shutil.rmtree(chance.choice(folders))),
        (True, append),
        (bool(folders), lambda: (top / f"link{number}").symlink_to(chance.choice(folders))),
        *[(free, lambda: write(other, chance))] * 3,
    ]
    possible, way = chance.choice(ways)
    if possible and not any(os.path.lexists(top / f"{name}{number}") for name in ("moved", "link")):
        way()


def blocked(path: Path) -> bool:
    return any(above.is_file() or above.is_symlink() for above in path.parents)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grep, "_MIN_PROBED", 10)


@pytest.fixture
def searches(tmp_path: Path) -> Iterator[Callable[..., tuple[Path, Search, Search]]]:
    """Makes a tree, and a search that keeps what it knows beside one that does not."""
    made: list[Search] = []
    roots: list[Root] = []

    def make(seed: int = 0, files: int = 120) -> tuple[Path, Search, Search]:
        top, chance = tmp_path / "ws", random.Random(seed)
        top.mkdir(exist_ok=True)
        while sum(1 for path in top.rglob("*") if path.is_file()) < files:
            other = place(top, chance)
            if not other.is_dir() and not blocked(other):
                write(other, chance)
        roots.append(Root(str(top)))
        made.append(Search(roots[-1], limits=Limits(), launcher=LAUNCHER, watch=True))
        return top, made[-1], Search(roots[-1], limits=Limits(), launcher=LAUNCHER)

    before = descriptors()
    yield make
    for search in made:
        search.close()
    for root in roots:
        root.close()
    assert closed_again(before)


def known(search: Search) -> Search:
    search.find("*")
    assert search.files is not None
    assert search.files.wait_until_ready(60)
    return search


def question(chance: random.Random, top: Path) -> tuple[Query, Scope]:
    word = chance.choice(WORDS)
    literal = chance.random() < 0.3
    pattern = word if literal else chance.choice(SHAPES)(chance, chance.choice(PLAIN))
    query = Query(pattern, literal, chance.random() < 0.3, chance.random() < 0.1, before=chance.choice([0, 0, 1]))
    folders = [str(path.relative_to(top)) for path in top.rglob("*") if path.is_dir() and not path.is_symlink()]
    scope = chance.choice(SCOPES)
    where = chance.choice(folders) if folders and chance.random() < 0.3 else "."
    return query, Scope(where, scope.include, scope.exclude, scope.hidden, scope.ignored, scope.skip, scope.depth)


def compared(seed: int, questions: int, searches: Callable[..., tuple[Path, Search, Search]]) -> tuple[int, int]:
    """Ask both, with changes in between; how many rows there were, and how often the files were known."""
    chance = random.Random(seed)
    top, fast, plain = searches(seed)
    known(fast)
    assert fast.files is not None
    rows = used = 0
    for number in range(questions):
        for _ in range(chance.choice([0, 0, 0, 1, 3])):
            change(top, chance)
        if number % 25 == 24:
            time.sleep(0.12)
            known(fast)
        query, scope = question(chance, top)
        found, wanted = fast.grep(query, scope), plain.grep(query, scope)
        assert found == wanted, (query, scope)
        if not query.before:
            assert fast.grep(query, scope, limit=5).rows[:5] == wanted.rows[:5], (query, scope)
        pattern = chance.choice(["*", "*.py", "**/*.{py,txt}", "src/**", "*e*"])
        assert fast.find(pattern, scope) == plain.find(pattern, scope), (pattern, scope)
        candidates = fast.files.candidates(scope, () if scope.path == "." else tuple(scope.path.split("/")))
        rows += found.matches
        used += candidates is not None
    return rows, used


def test_the_answers_are_those_of_a_search_that_knows_nothing(
    searches: Callable[..., tuple[Path, Search, Search]],
) -> None:
    rows, used = compared(1, 24, searches)
    assert rows > 50
    assert used > 4


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(10, 14))
def test_the_same_for_many_more(seed: int, searches: Callable[..., tuple[Path, Search, Search]]) -> None:
    rows, used = compared(seed, 150, searches)
    assert rows > 200
    assert used > 30


Make = Callable[..., tuple[Path, Search, Search]]

CHANGES: dict[str, Callable[[Path], object]] = {
    "written in place": lambda top: (top / "f").write_text("a needlepoint\n"),
    "written over": lambda top: ((top / "n").write_text("a needlepoint\n"), (top / "n").rename(top / "f")),
    "new": lambda top: (top / "g").write_text("a needlepoint\n"),
    "new, in a new folder": lambda top: (
        (top / "x/y").mkdir(parents=True),
        (top / "x/y/g").write_text("needlepoint\n"),
    ),
    "no more ignored": lambda top: (top / ".gitignore").write_text(""),
    "moved in": lambda top: (top / ".hidden/h").rename(top / "h"),
    "a folder moved in": lambda top: (top / ".hidden").rename(top / "shown"),
    "under another name of the file": lambda top: (top.parent / "outside").write_text("a needlepoint\n"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_has_just_changed_is_found(what: str, searches: Make, tmp_path: Path) -> None:
    top, fast, plain = searches(files=0)
    for path in ("f", ".hidden/h", "out/o", "linked"):
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text("a needlepoint\n" if path in (".hidden/h", "out/o") else "nothing\n")
    (top / ".gitignore").write_text("out/\n")
    os.link(top / "linked", tmp_path / "outside")
    time.sleep(0.12)
    query = Query("needlepoint", literal=True)
    before = known(fast).grep(query)
    assert (before.rows, before == plain.grep(query)) == ([], True)
    CHANGES[what](top)
    found = fast.grep(query)
    assert found == plain.grep(query)
    assert found.matches == 1


def test_a_file_that_gets_another_name_is_found_under_both(searches: Make) -> None:
    top, fast, plain = searches(files=0)
    (top / "f").write_text("nothing\n")
    time.sleep(0.12)
    query = Query("needlepoint", literal=True)
    assert known(fast).grep(query).rows == []
    os.link(top / "f", top / "g")
    assert fast.grep(query).rows == []
    (top / "g").write_text("needlepoint\n")
    found = fast.grep(query)
    assert found == plain.grep(query)
    assert [row.path for row in found.rows] == ["f", "g"]


def test_an_edit_that_hides_itself_is_found(searches: Make) -> None:
    top, fast, _ = searches(files=0)
    (top / "f").write_text("one thing\n")
    time.sleep(0.12)
    assert known(fast).grep(Query("two thing", literal=True)).rows == []
    old = os.stat(top / "f")
    (top / "f").write_text("two thing\n")
    os.utime(top / "f", ns=(old.st_atime_ns, old.st_mtime_ns))
    assert fast.grep(Query("two thing", literal=True)).rows == [GrepRow("f", 1, 1, "two thing")]


def test_more_changes_than_the_kernel_keeps(searches: Make) -> None:
    top, fast, plain = searches(files=0)
    for name in "fg":
        (top / name).write_text("nothing\n")
    time.sleep(0.12)
    known(fast)
    (top / "h").write_text("needlepoint\n")
    (top / "h").unlink()
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if most > 100_000:
        pytest.skip("the kernel keeps too many events here")
    for _ in range(most // 2 + 10):
        os.utime(top / "f")
        os.utime(top / "g")
    (top / "i").write_text("needlepoint\n")
    assert fast.grep(Query("needlepoint")) == plain.grep(Query("needlepoint"))
    assert fast.grep(Query("needlepoint")).matches == 1


def test_few_rows_are_the_newest(searches: Make) -> None:
    top, fast, plain = searches(files=0)
    for number in range(80):
        (top / f"f{number}").write_text("needlepoint\n" * 7)
        os.utime(top / f"f{number}", (number, number))
    time.sleep(0.12)
    query = Query("needlepoint", literal=True)
    found = known(fast).grep(query, limit=10)
    assert found.stopped == "limit"
    assert found.rows[:10] == plain.grep(query).rows[:10]
    assert 10 < found.matches < 560
    assert found.survey is None
    assert fast.grep(query) == plain.grep(query)  # who wants all gets all
    assert fast.grep(query, limit=560) == plain.grep(query)


def test_letters_that_fold_to_others(searches: Make) -> None:
    top, fast, plain = searches(files=0)
    (top / "f").write_text("the \u017fecret \u212aey\n")
    time.sleep(0.12)
    known(fast)
    for word in ("secret", "KEY"):
        query = Query(word, literal=True, ignore_case=True)
        assert fast.grep(query) == plain.grep(query)
        assert fast.grep(query).matches == 1


def test_a_bad_pattern_is_told_though_no_file_can_match(searches: Make) -> None:
    _, fast, _ = searches(files=5)
    with pytest.raises(Exception, match="not a valid regular expression"):
        known(fast).grep(Query(r"zqxjzqxj\q"))


def test_nothing_is_left_running(searches: Make) -> None:
    _, fast, _ = searches(files=20)
    fast.find("*")
    fast.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "toolroll tree"]


def test_an_empty_answer_names_what_was_left_out(searches: Make) -> None:
    top, fast, plain = searches(3, 40)
    (top / "binary").write_bytes(b"\0zebra crossing\r\n\rzebra\n")
    (top / "wide").write_bytes("zebra\0".encode("utf-16"))
    (top / ".secret").write_text("zebra crossing\nzebra crossing\n")
    (top / "upper").write_text("ZEBRA CROSSING\n")
    (top / "huge").write_text("zebra crossing\n")
    os.truncate(top / "huge", Limits().search_bytes + 1)
    known(fast)
    for word, scope in product(("zebra crossing", "not there at all"), (Scope(), Scope(exclude=("*.py",)), Scope("."))):
        query = Query(word, literal=True)
        assert fast.grep(query, scope) == plain.grep(query, scope)
    survey = plain.grep(Query("zebra crossing")).survey
    assert survey is not None
    assert (survey.skipped.keys() >= {"too big", "hidden"}, survey.other_case) == (True, True)
    assert survey.elsewhere == {"binary": 1, "hidden": 2}


def test_an_empty_answer_costs_one_more_scan(searches: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files beside the answer, other case and binary files are found by the same scan."""
    _, _, plain = searches(3, 40)
    engine, scans = plain.engine(), list[object]()
    counts = engine.counts
    monkeypatch.setattr(engine, "counts", lambda *given, **how: (scans.append(how), counts(*given, **how))[1])
    assert plain.grep(Query("not there at all", literal=True)).rows == []
    assert scans == [{"binary": True}]
