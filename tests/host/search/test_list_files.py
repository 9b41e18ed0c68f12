"""The quick way to list files gives what ripgrep gives, on random trees full of special cases."""

from __future__ import annotations

import ctypes
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.host.search.test_engines_agree import FOLDERS, RULES, SCOPES, grow
from tests.launchers import UNCONFINED, beneath
from tests.users import need_another_user
from tests.waiting import closed_again, descriptors
from toolroll.host.files import ignore
from toolroll.host.files.root import Root
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.search import list_files
from toolroll.host.search.query import Scope, SearchRoot
from toolroll.host.search.ripgrep import Ripgrep, _finish, make_filter, scope_args
from toolroll.policy.limits import Limits
from toolroll.result import ErrorCode, ToolError
from toolroll.text.search import globs


@contextmanager
def ground(
    root: Root, path: str = ".", *, token: CancelToken | None = None, seconds: float = 60.0
) -> Iterator[SearchRoot]:
    fd = root.folder(path)
    parts = root.real(fd)
    try:
        yield SearchRoot(fd, fd, parts, False, ignore.inherited_rules(root, parts), token, time.monotonic() + seconds)
    finally:
        os.close(fd)


def listed(root: Root, scope: Scope) -> tuple[list[str], int]:
    with ground(root, scope.path) as where:
        return sorted(list_files.list_paths(where, scope)), where.unreadable


def python(root: Root, scope: Scope) -> list[str]:
    with ground(root, scope.path) as where:
        return sorted(path for _, path, _ in list_files.list_aged(where, scope, globs.compile("*.py"))[0])


def judged(root: Root, scope: Scope) -> tuple[list[str], int]:
    """The same by ripgrep."""
    program = UNCONFINED.find("rg")
    assert program is not None
    words, rest = scope_args(scope)
    wants = make_filter(scope, rest)
    with ground(root, scope.path) as where:
        with Ripgrep(program, Limits(), UNCONFINED, beneath(where.folder))._run(
            where, scope, ["--files", "--null", *words]
        ) as chunks:
            names = os.fsdecode(b"".join(chunks)).split("\0")[:-1]
            _finish(chunks, where, "")
        return sorted(name[2:] for name in names if wants(name[2:])), where.unreadable  # without "./"


def strange(top: Path, chance: random.Random) -> None:
    """More that is special in a tree: the third kind of rules, rules of git's own, pipes, links, names of bytes."""
    for folder in [top, *(path for path in top.rglob("*") if path.is_dir() and not path.is_symlink())]:
        if chance.random() < 0.2:
            (folder / ".rgignore").write_text("\n".join(chance.sample(RULES, chance.randint(1, 4))))
        if chance.random() < 0.2:
            os.mkfifo(folder / "pipe.py")
        if chance.random() < 0.2:
            (folder / "loop").symlink_to(chance.choice(["..", "/", "nowhere", *FOLDERS]))
        if chance.random() < 0.1:
            (folder / os.fsdecode(b"\xff\xfe.py")).touch()
        if chance.random() < 0.1:
            (folder / "folder.py").mkdir()
            (folder / "folder.py" / "a.py").touch()
    if chance.random() < 0.5:
        (top / ".git/info").mkdir(parents=True, exist_ok=True)
        (top / ".git/info/exclude").write_text("\n".join(chance.sample(RULES, 2)))
        (top / ".git/a.py").touch()


@pytest.mark.parametrize("seed", range(6))
def test_the_same_files_as_ripgrep(seed: int, tmp_path: Path) -> None:
    chance = random.Random(1000 + seed)
    grow(tmp_path, chance)
    strange(tmp_path, chance)
    folders = [os.path.relpath(where, tmp_path) for where, _, _ in os.walk(tmp_path) if ".git" not in where]
    with Root(str(tmp_path)) as root:
        for scope in chance.sample(SCOPES, 8):
            where = replace(scope, path=chance.choice([".", *folders]))
            assert listed(root, where) == judged(root, where), where
            assert python(root, where) == [path for path in judged(root, where)[0] if path.endswith(".py")], where


def test_the_trees_prove_something(tmp_path: Path) -> None:
    shown = every = 0
    for seed in range(6):
        chance, top = random.Random(1000 + seed), tmp_path / str(seed)
        grow(top, chance)
        strange(top, chance)
        with Root(str(top)) as root:
            shown += len(listed(root, Scope())[0])
            every += len(listed(root, Scope(hidden=True, ignored=True))[0])
    assert 50 < shown < every / 2


def test_newest_first_and_by_path_among_equals(tmp_path: Path) -> None:
    for name, age in (("a.py", 1), ("b/c.py", 3), ("b/a.py", 2), ("z.py", 2), ("new.txt", 9), ("b/d.py.txt", 9)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x" * age)
        os.utime(tmp_path / name, ns=(0, age))
    (tmp_path / "link.py").symlink_to("a.py")
    (tmp_path / "folder.py").mkdir()
    os.mkfifo(tmp_path / "pipe.py")
    python = [(-3, "b/c.py", 3), (-2, "b/a.py", 2), (-2, "z.py", 2), (-1, "a.py", 1)]
    with Root(str(tmp_path)) as root, ground(root) as where:

        def listed(scope: Scope, pattern: str) -> list[list_files.Aged]:
            found, whole = list_files.list_aged(where, scope, globs.compile(pattern))
            assert whole
            return sorted(found)

        assert listed(Scope(), "**/*.py") == python
        assert listed(Scope(), "b/*.py") == python[:2]
        assert listed(Scope(include=("[a-b]*",)), "*.py") == [python[1], python[3]]


def test_hidden_and_ignored_files_are_left_out(tmp_path: Path) -> None:
    for name in (
        "a.py",
        "a.txt",
        ".b.py",
        ".b.txt",
        "gone.py",
        "gone.txt",
        "in/c.py",
        "in/d.txt",
        "out/e.py",
        ".f/g.py",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / ".gitignore").write_text("gone*\nout/\n")
    with Root(str(tmp_path)) as root, ground(root) as where:
        python = list_files.walk_folders(where, Scope(), lambda name: name.endswith(".py"))
        assert sorted(folder + file.name for folder, files in python for file in files) == ["a.py", "in/c.py"]
        assert sorted(list_files.list_paths(where, Scope())) == ["a.py", "a.txt", "in/c.py", "in/d.txt"]


@contextmanager
def unprivileged() -> Iterator[None]:
    """As somebody who may not read everything; root may. This thread alone: some others could not follow."""
    if os.geteuid() != 0:
        yield
        return
    need_another_user()
    number = {"x86_64": 117, "aarch64": 147}[os.uname().machine]  # setresuid
    change = ctypes.CDLL(None).syscall
    assert change(number, 65534, 65534, -1) == 0
    try:
        yield
    finally:
        assert change(number, 0, 0, -1) == 0


def test_folders_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    for name in ("a/b", "c/d/e", "f"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    tmp_path.chmod(0o755)
    (tmp_path / "a").chmod(0)
    (tmp_path / "c/d").chmod(0)
    with Root(str(tmp_path)) as root, unprivileged():
        assert listed(root, Scope()) == (["f"], 2) == judged(root, Scope())
    (tmp_path / "a").chmod(0o700)
    (tmp_path / "c/d").chmod(0o700)


def test_a_folder_that_becomes_a_link_is_not_followed(tmp_path: Path) -> None:
    top = tmp_path / "top"
    for name in ("one", "two"):
        (top / name).mkdir(parents=True)
        (top / name / "file").touch()
    (tmp_path / "secret").touch()
    with Root(str(top)) as root, ground(root) as where:
        seen = []
        for path, files in list_files.walk_folders(where, Scope()):
            seen += [path + entry.name for entry in files]
            if path == "":  # both are known, and neither has been entered
                (top / "one").rename(tmp_path / "moved")
                (top / "one").symlink_to(tmp_path)
        assert (seen, where.unreadable) == (["two/file"], 1)


@pytest.mark.parametrize("depth", [10, 300])
def test_depth_needs_few_descriptors_and_all_are_given_back(depth: int, tmp_path: Path) -> None:
    at = os.open(tmp_path, os.O_RDONLY)
    for level in range(depth):
        os.mkdir("d", dir_fd=at)
        os.close(os.open(f"f{level}", os.O_CREAT, dir_fd=at))
        inner = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(at)
    with Root(str(tmp_path)) as root, ground(root) as where:
        before = descriptors()
        most, found = 0, []
        for path, files in list_files.walk_folders(where, Scope()):
            most = max(most, len(descriptors()))
            found += [path + entry.name for entry in files if entry.stat().st_size == 0]
        assert found == [f"{'d/' * level}f{level}" for level in range(depth)]
        assert most <= len(before) + 25
        assert closed_again(before)
        begun = list_files.walk_folders(where, Scope())
        assert [path for path, _ in (next(begun), next(begun))] == ["", "d/"]
        begun.close()
        assert closed_again(before)


def test_a_search_that_is_out_of_time_or_cancelled_ends(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}.py").touch()
    every = globs.compile("*.py")
    cancelled = CancelToken()
    cancelled.cancel()
    with Root(str(tmp_path)) as root:
        with ground(root, seconds=0.0) as where:
            assert list_files.list_aged(where, Scope(), every) == ([], False)
        with ground(root, token=cancelled) as where, pytest.raises(ToolError) as caught:
            list_files.list_aged(where, Scope(), every)
    assert caught.value.code is ErrorCode.CANCELLED
