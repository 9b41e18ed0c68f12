"""What is kept between searches never changes an answer: the same rows as without, whatever happens to the files."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import product
from pathlib import Path

import pytest

from tests.launchers import LAUNCHER
from tests.waiting import closed_again, descriptors, gone
from toolroll.host.files.root import Root
from toolroll.host.runtime.state import State
from toolroll.host.search import grep, list_files
from toolroll.host.search.index import live as module
from toolroll.host.search.index.live import index_path
from toolroll.host.search.search import GrepResult, GrepRow, Query, Scope, Search
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
    monkeypatch.setattr(module, "MIN_FILES", 1)
    monkeypatch.setattr(grep, "_MIN_PROBED", 10)


@pytest.fixture
def searches(tmp_path: Path) -> Iterator[Callable[..., tuple[Path, Search, Search]]]:
    """Makes a tree, and a search that keeps what it knows beside one that does not."""
    made: list[Search] = []
    roots: list[Root] = []
    states: list[State] = []

    def make(seed: int = 0, files: int = 120) -> tuple[Path, Search, Search]:
        top, chance = tmp_path / "ws", random.Random(seed)
        top.mkdir(exist_ok=True)
        while sum(1 for path in top.rglob("*") if path.is_file()) < files:
            other = place(top, chance)
            if not other.is_dir() and not blocked(other):
                write(other, chance)
        roots.append(Root(str(top)))
        states.append(State(str(tmp_path / "state")))
        made.append(Search(roots[-1], limits=Limits(), launcher=LAUNCHER, state=states[-1]))
        return top, made[-1], Search(roots[-1], limits=Limits(), launcher=LAUNCHER)

    before = descriptors()
    yield make
    for search in made:
        search.close()
    for root in roots:
        root.close()
    for state in states:
        state.close()
    assert closed_again(before)


def known(search: Search, *, indexed: bool = True) -> Search:
    search.find("*")
    assert search.index is not None
    assert search.index.wait_until_ready(60, indexed=indexed)
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
    """Ask both, with changes in between; how many rows there were, and how often the index was of use."""
    chance = random.Random(seed)
    top, fast, plain = searches(seed)
    known(fast)
    assert fast.index is not None
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
        candidates = fast.index.candidates(query, scope, () if scope.path == "." else tuple(scope.path.split("/")))
        rows += found.matches
        used += candidates is not None and candidates.complete
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


@pytest.mark.parametrize("pattern", ["needles?point", "needle(s|)point", "needlex{0}point", "(needlez)*needlep"])
def test_what_may_be_missing_is_not_asked_for(pattern: str, searches: Make) -> None:
    top, fast, _ = searches(files=0)
    (top / "f").write_text("needlepoint\n")
    time.sleep(0.12)
    assert known(fast).grep(Query(pattern)).matches == 1


def test_a_bad_pattern_is_told_though_no_file_can_match(searches: Make) -> None:
    _, fast, _ = searches(files=5)
    with pytest.raises(Exception, match="not a valid regular expression"):
        known(fast).grep(Query(r"zqxjzqxj\q"))


def test_a_broken_index_is_made_anew(searches: Make, tmp_path: Path) -> None:
    top, fast, _ = searches(files=5)
    where = Path(index_path(State(str(tmp_path / "state")), str(top)))
    where.parent.mkdir(parents=True)
    where.write_bytes(b"no database at all" * 1000)
    (top / "f").write_text("needlepoint\n")
    time.sleep(0.12)
    assert known(fast).grep(Query("needlepoint", literal=True)).matches == 1
    assert where.read_bytes()[:6] == b"SQLite"


def test_an_index_with_damage_in_its_middle_is_made_anew(searches: Make, tmp_path: Path) -> None:
    top, fast, _ = searches()
    where = Path(index_path(State(str(tmp_path / "state")), str(top)))
    known(fast).close()
    data = where.read_bytes()
    where.write_bytes(data[:8192] + b"\xff" * (len(data) - 8192))
    (top / "f").write_text("needlepoint\n")
    _, again, plain = searches()
    query = Query("needlepoint", literal=True)
    assert again.grep(query) == plain.grep(query)
    assert known(again).grep(query) == plain.grep(query)
    assert again.grep(query).matches == 1


def test_two_may_use_it_at_once(searches: Make) -> None:
    top, first, plain = searches(files=40)
    _, second, _ = searches(files=40)
    known(first)
    known(second)
    stop = threading.Event()

    def stir() -> None:
        chance = random.Random(5)
        while not stop.is_set():
            write(top / "src" / f"s{chance.randrange(5)}.py", chance)
            assert first.index is not None
            first.index._built = float("-inf")  # as if much time had passed
            first.index.update_in_background()
            time.sleep(0.01)

    thread = threading.Thread(target=stir)
    thread.start()
    try:
        for word in PLAIN[:10]:
            query, scope = Query(word, literal=True), Scope(exclude=("src",))
            assert second.grep(query, scope) == first.grep(query, scope) == plain.grep(query, scope)
    finally:
        stop.set()
        thread.join()


def change_many(top: Path) -> None:
    for number in range(80):
        (top / f"changed{number}").write_text("needlepoint\n")
    time.sleep(0.12)  # until their times can be relied on


def test_files_are_read_in_after_a_while_and_found_meanwhile(searches: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    top, fast, _ = searches(files=40)
    index = known(fast).index
    assert index is not None
    monkeypatch.setattr(module, "_QUIET_S", 3600.0)
    change_many(top)
    index._built, index._pause = 0.0, 0.0
    for _ in range(3):
        assert fast.grep(Query("needlepoint", literal=True)).matches == 80
        assert not index._builder.running
    assert index._with(index._missing)
    monkeypatch.setattr(module, "_QUIET_S", 0.1)
    fast.grep(Query("needlepoint", literal=True))
    assert index._builder.wait(60)
    assert fast.grep(Query("needlepoint", literal=True)).matches == 80
    assert not index._with(index._missing)


def test_builds_rest_in_between(searches: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    top, fast, _ = searches(files=40)
    index = known(fast).index
    assert index is not None
    monkeypatch.setattr(module, "_QUIET_S", 0.1)
    change_many(top)
    index._built, index._pause = time.monotonic(), 3600.0
    fast.grep(Query("needlepoint", literal=True))
    assert index._with(index._missing)
    assert not index._builder.running
    assert known(fast).grep(Query("needlepoint", literal=True)).matches == 80
    assert not index._with(index._missing)


@pytest.mark.parametrize("word", ["off", "0"])
def test_it_can_be_switched_off(word: str, searches: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(module.SWITCH, word)
    _, fast, _ = searches(files=5)
    assert fast.index is None
    fast.grep(Query("needle"))
    assert not (tmp_path / "state").exists()


def test_a_small_tree_gets_no_index(searches: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "MIN_FILES", 100)
    _, fast, plain = searches(files=20)
    known(fast, indexed=False)
    assert fast.grep(Query("needle")) == plain.grep(Query("needle"))
    fast.grep(Query("needle"))
    assert not (tmp_path / "state").exists()


def test_nothing_is_left_running(searches: Make) -> None:
    top, fast, _ = searches(files=5)
    for number in range(3000):
        (top / f"f{number}").write_text(f"{number}\n" * 50)
    time.sleep(0.12)
    known(fast, indexed=False)
    assert fast.index is not None
    fast.index.update_in_background()
    child = fast.index._builder._child
    assert child is not None
    fast.close()
    assert child.returncode is not None
    assert not [thread for thread in threading.enumerate() if thread.name == "toolroll tree"]


PARENT = """
import os, sys, time
from tests.launchers import LAUNCHER
from toolroll.host.search.index.builder import IndexBuilder
from toolroll.host.files.root import Root
root = Root(sys.argv[1])
builder = IndexBuilder(root, sys.argv[2], 10**9, LAUNCHER)
builder.start([f"f{number}" for number in range(3000)])
print(builder._child.pid, flush=True)
os.kill(os.getpid(), 9)
"""


def test_the_child_ends_with_its_parent(tmp_path: Path) -> None:
    for number in range(3000):
        (tmp_path / f"f{number}").write_bytes(os.urandom(6000).hex().encode())
    time.sleep(0.12)
    ran = subprocess.run(
        [sys.executable, "-c", PARENT, str(tmp_path), str(tmp_path / "i.sqlite")], capture_output=True, check=False
    )
    child = int(ran.stdout)
    assert gone(child)
    (tmp_path / "i.sqlite").touch()
    with closing(sqlite3.connect(tmp_path / "i.sqlite")) as base:
        made = base.execute("select count(*) from sqlite_master where name = 'files'").fetchone()[0]
        assert not made or base.execute("select count(*) from files").fetchone()[0] < 3000  # it had not come to its end


@pytest.mark.parametrize("questions", [12, pytest.param(300, marks=pytest.mark.slow)])
def test_few_files_are_searched_here_as_ripgrep_would(
    searches: Make, monkeypatch: pytest.MonkeyPatch, questions: int
) -> None:
    chance = random.Random(6)
    top, fast, plain = searches(6)
    fast.close()  # so that nothing is ever known of the tree
    seen: list[bool] = []
    listed = list_files.list_small_tree
    monkeypatch.setattr(
        "toolroll.host.search.search.list_small_tree", lambda *given: (seen.append(True), listed(*given))[1]
    )
    empty = rows = 0
    for _ in range(questions):
        change(top, chance)
        query, scope = question(chance, top)
        found, wanted = fast.grep(query, scope), plain.grep(query, scope)
        assert found == wanted, (query, scope)
        limited = fast.grep(query, scope, limit=5)
        if not query.before:
            assert limited.rows[:5] == wanted.rows[:5], (query, scope)
        rows, empty = rows + found.matches, empty + (not found.rows)
    assert rows > 50
    assert empty > questions / 12
    assert len(seen) > questions * 2 / 3


def looked_at(found: GrepResult) -> GrepResult:
    """The same, but ripgrep alone also looks into files that are too big, and passes over those that match."""
    assert found.survey is not None
    big = found.survey.skipped.pop("too big", 0)
    found.survey.searched += big
    return found


def test_an_empty_answer_of_few_files_tells_the_same(searches: Make) -> None:
    top, fast, plain = searches(3, 40)
    fast.close()
    (top / "binary").write_bytes(b"\0zebra crossing\r\n\rzebra\n")
    (top / "wide").write_bytes("zebra\0".encode("utf-16"))
    (top / ".secret").write_text("zebra crossing\n")
    (top / "huge").write_text("zebra crossing\n")
    os.truncate(top / "huge", Limits().search_bytes + 1)
    for word, scope in product(("zebra crossing", "not there at all"), (Scope(), Scope(exclude=("*.py",)), Scope("."))):
        query = Query(word, literal=True)
        assert looked_at(fast.grep(query, scope)) == looked_at(plain.grep(query, scope))
    survey = plain.grep(Query("zebra crossing")).survey
    assert (survey.skipped.keys() >= {"too big", "hidden"}, survey.elsewhere["binary"]) == (True, 1)


def test_the_first_search_of_some_hundred_files_starts_no_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(40):
        (tmp_path / f"{number}.txt").write_text("needle\n")
    monkeypatch.setattr("toolroll.host.search.search.MAX_FILES", 10)
    with Root(str(tmp_path)) as root:
        search = Search(root, limits=Limits(), launcher=LAUNCHER, state=State(str(tmp_path / "state")))
        assert (search.grep(Query("needle")).files, search._engine) == (40, None)
        search.engine()
        search.grep(Query("needle"))  # once it was started, it is faster
        assert search._large == {()}
        search.close()


def test_many_files_are_left_to_ripgrep(searches: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    _, fast, plain = searches(3, 40)
    fast.close()
    monkeypatch.setattr("toolroll.host.search.search.MAX_FIRST_FILES", 10)
    asked: list[object] = []
    listed = list_files.list_small_tree
    monkeypatch.setattr("toolroll.host.search.search.list_small_tree", lambda *given: asked.append(listed(*given)))
    for _ in range(3):
        assert fast.grep(Query("e")) == plain.grep(Query("e"))
    assert asked == [None]  # and it is not tried again
