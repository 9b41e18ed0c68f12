from __future__ import annotations

import os
import random
import re
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolroll.host.files import ignore
from toolroll.host.files.root import Root
from toolroll.host.files.walk import Walk
from toolroll.result import ToolError
from toolroll.text.search import globs


@pytest.mark.parametrize(
    ("rules", "ignored", "kept"),
    [
        ("*.log", "a.log x/b.log", "a.txt a.log.txt"),
        ("/a", "a a/", "x/a"),
        ("a/", "a/ x/a/", "a x/a"),
        ("a/b", "a/b a/b/", "x/a/b b"),
        ("**/a", "a x/y/a", "ab"),
        ("a/**", "a/b a/b/c", "a a/"),
        ("a/**/b", "a/b a/x/y/b", "a b"),
        ("*.log\n!keep.log", "a.log", "keep.log x/keep.log"),
        ("!keep.log\n*.log", "keep.log", "a"),
        ("# a comment\n\n \na", "a", "#"),
        (r"\#a", "#a", "a"),
        (r"\!a", "!a", "a"),
        ("a   ", "a", "b"),
        ("a\\ ", "a\\s".replace("\\s", " "), "a"),
        ("a\\\\ ", "a\\", "a"),  # the second backslash is no protection, but a part of the name
        ("a\r\nb\r\n", "a b", "c"),
        ("[a-c].x", "a.x", "d.x"),
        ("[a", "", "a [a"),
        ("{a,b}", "{a,b}", "a b"),
        ("*\n!*/\n!*.py", "a.txt x/b.txt", "a.py x/b.py x/"),
        ("/*\n!/src", "a a/", "src/ src x/a"),
        ("/*\n!/src\n/src/*\n!/src/keep/", "a a/ src/b", "src/ src/keep/ src/keep/c"),
    ],
)
def test_rules(rules: str, ignored: str, kept: str) -> None:
    made = ignore.IgnoreRules(rules.split("\n"))

    def verdict(path: str) -> bool | None:
        return made.verdict(path.removesuffix("/"), path.endswith("/"))

    names = [ignored] if ignored.endswith(" ") else ignored.split()  # one case is about a space
    assert [path for path in names if verdict(path) is not True] == []
    assert [path for path in kept.split() if verdict(path) is True] == []


NAMES = [
    *"abc.x~-]!^",
    "a.py",
    "a.pyc",
    "a.pyo",
    "a.pyx",
    "x.py[cod]",
    "log",
    "logs",
    "blog",
    "a.b~",
    "a-b.x",
    "*",
    "dog",
    "lop",
]


@pytest.mark.parametrize(
    ("rule", "fits"),
    [
        ("a", "a"),
        ("x/y/a.py", "a.py"),
        ("*.py[co]", "a.pyc a.pyo"),
        ("log*", "log logs"),
        ("*log", "log blog"),
        ("a.py?", "a.pyc a.pyo a.pyx"),
        ("*log*", "log logs blog"),
        ("a*.x", "a-b.x"),
        ("[]a]", "a ]"),
        ("[a^]", "a ^"),
        ("[^a]", "b c . x ~ - ] ! ^ *"),
        ("[a-c]", "a b c"),
        ("*.py[c-o]", "a.pyc a.pyo"),
        ("\\*", "*"),
    ],
)
def test_names_that_a_rule_may_fit(rule: str, fits: str) -> None:
    told = ignore.quick_check(ignore.parse([rule]))
    assert [name for name in NAMES if told(name)] == [name for name in NAMES if name in fits.split()]


@given(st.text("ab.[]!^-*?", min_size=1, max_size=6), st.text("ab.]!^-", min_size=1, max_size=4))
def test_no_name_that_a_rule_fits_is_let_pass(text: str, name: str) -> None:
    rules = list(ignore.parse([text]))
    with suppress(ToolError):
        if any(re.fullmatch(globs.segment(rule.segments[-1]), name) for rule in rules):
            assert ignore.quick_check(rules)(name)


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
        "*.txt",
        "!c.txt",
        "/src/**/b.py",
    ),
    *(
        "a.*",
        "[ab].py",
        "*",
        "!*/",
        "!*.py",
        "# x",
        "c.txt  ",
        "/*",
        "!/src",
        "src/lib/",
        "**/gen/**",
        "!build/",
    ),
    *(
        "d.lo?",
        "b*",
        "*.p[yz]",
        "?.py",
        "[!a].py",
        "a.py\r",
        "src/",
        "!lib",
        "/**/gen",
        "**",
        "\\a.py",
        "lib/gen/../x",
        "//a.py",
    ),
]


def _git(top: Path, *args: str) -> list[str]:
    env = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    done = subprocess.run(["git", *args], cwd=top, env=env, check=True, capture_output=True, text=True)
    return sorted(filter(None, done.stdout.split("\0")))


@pytest.mark.parametrize("seed", range(40))
def test_the_same_files_are_ignored_as_by_git(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    folders = [
        tmp_path,
        *(tmp_path / name for name in ("src", "src/lib", "src/lib/gen", "build", "build/src", "gen")),
    ]
    for folder in folders:
        folder.mkdir(exist_ok=True)
        for name in ("a.py", "b.py", "c.txt", "d.log"):
            (folder / name).touch()
        if chance.random() < 0.6:
            rules = chance.sample(RULES, chance.randint(1, 6))
            (folder / ".gitignore").write_text("\n".join(rules), newline="")
    _git(tmp_path, "init", "-q")
    (tmp_path / ".git/info/exclude").write_text("\n".join(chance.sample(RULES, 2)))
    with Root(str(tmp_path)) as root:
        walk = Walk(root.fd, hidden=True, rules=ignore.inherited_rules(root, ()))
        found = sorted(seen.path for seen in walk if seen.kind == "file")
    assert found == _git(tmp_path, "ls-files", "-z", "--others", "--exclude-standard")


@pytest.mark.parametrize(
    ("above", "lines"),
    [
        ({".gitignore": "*.log\n/a/b/x\n/a/y\n/a/\n/a/b\nb/\n/q"}, ["*.log", "/x", "b/"]),
        ({".gitignore": "a/**/z\n/*/b/!k\n**/b/w/\n!/a/b/n"}, ["/**/z", "/!k", "/**/b/w/", "/w/", "!/n"]),
        ({"a/.gitignore": "b/x\n/c\nd"}, ["/x", "d"]),
        ({"a/b/.gitignore": "x"}, []),  # the walk itself reads this one
        ({".ignore": "i", ".gitignore": "g", ".rgignore": "r", "a/.gitignore": "ag"}, ["g", "ag", "i", "r"]),
        ({".git/info/exclude": "e", ".gitignore": "g"}, ["e", "g"]),
    ],
)
def test_rules_from_above_as_seen_from_a_folder(above: dict[str, str], lines: list[str], tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    for name, text in above.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    with Root(str(tmp_path)) as root:
        assert ignore.inherited_rules(root, ("a", "b")) == lines


@pytest.mark.timeout(60)
def test_a_strange_ignore_file_is_as_good_as_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".gitignore")
    (tmp_path / ".ignore").mkdir()
    (tmp_path / ".rgignore").symlink_to("/dev/zero")
    (tmp_path / "a").touch()
    with Root(str(tmp_path)) as root:
        assert [seen.path for seen in Walk(root.fd)] == ["a"]


@pytest.mark.timeout(60)
def test_no_ignore_file_is_slow(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text(
        "*a" * 1000 + "b\n" + " " * 100_000 + "x\n" + "[" * 10_000 + "\n" + "q*\n" * 20_000
    )
    (tmp_path / ("a" * 250)).touch()
    with Root(str(tmp_path)) as root:
        assert [seen.path for seen in Walk(root.fd)] == ["a" * 250]


@pytest.mark.parametrize(
    ("name", "text", "strange"),
    [
        (".gitignore", b"*.log\n[ab]\n# {a}\n", False),
        (".ignore", b"a\n*.{a,b}\n", True),
        (".rgignore", b"[a\n", True),
        (".gitignore", b"a\t\n", True),
        (".gitignore", b"\xff\n", True),
        ("other", b"[a\n", False),
    ],
)
def test_what_ripgrep_reads_otherwise_than_git(name: str, text: bytes, strange: bool, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(text)
    with Root(str(tmp_path)) as root:
        assert ignore.needs_own_walk(root.fd) is strange


def test_rules_are_true_if_there_are_any():
    assert ignore.IgnoreRules(["a"])
    assert not ignore.IgnoreRules(["# none", ""])
    assert [str(rule) for rule in ignore.IgnoreRules(["!/a/b/", "c", "d/e"]).every] == ["!/a/b/", "c", "/d/e"]


@pytest.mark.parametrize(("more", "lines"), [(0, 1), (1, 0)])
def test_a_huge_ignore_file_is_not_read(more: int, lines: int, tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("a" * (ignore._MAX_BYTES + more))
    fd = os.open(tmp_path, os.O_RDONLY)
    assert len(ignore.read(fd, ".gitignore")) == lines
    os.close(fd)
