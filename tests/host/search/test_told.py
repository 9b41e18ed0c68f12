"""What ripgrep says of the files that it passes over is believed only if it is beyond doubt."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.launchers import LAUNCHER, beneath
from toolroll.host.search.query import Ground, Query, Scope
from toolroll.host.search.ripgrep import Ripgrep
from toolroll.host.search.told import told
from toolroll.policy.limits import Limits

FILES = {
    ".gitignore": b"*.log\nout/\n",
    ".hidden/x": b"foo\n",
    ".git/config": b"foo\n",
    "a: b.log": b"foo\n",
    "out/o": b"foo\n",
    "src/bin": b"\0foo\n",
    "src/big": b"x\n" * 100,
    "plain": b"nothing\n",
}


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    for path, data in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(data)
    (tmp_path / "link").symlink_to("plain")
    (tmp_path / "away").symlink_to("/")
    fd = os.open(tmp_path, os.O_RDONLY)
    yield Ground(fd, fd, (), False, [], None, float("inf"))
    os.close(fd)


def searched(ground: Ground, scope: Scope = Scope(), *, careful: bool = False) -> Ripgrep:  # noqa: B008
    program = LAUNCHER.find("rg")
    assert program is not None
    engine = Ripgrep(program, Limits(search_bytes=150), LAUNCHER, beneath(ground.folder))
    list(engine.rows(ground, Query("foo", multiline=careful), scope))
    return engine


@pytest.mark.parametrize("careful", [True, False])
def test_all_that_was_passed_over(ground: Ground, careful: bool) -> None:
    assert searched(ground, careful=careful).tells(ground)
    found = told(ground.log, ground)
    assert found is not None
    assert sorted(found.left) == [
        (".gitignore", "file"),
        (".hidden", "directory"),
        ("a: b.log", "file"),
        ("out", "directory"),
    ]
    if careful:
        assert (found.binary, found.big, ground.searched, ground.binary) == (["src/bin"], 1, 2, 0)
    else:
        assert (found.binary, found.big, ground.searched, ground.binary) == ([], 0, 3, 1)


def test_a_search_that_finds_something_does_not_tell(ground: Ground, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("foo\n")
    searched(ground)
    assert ground.log == b""


def test_who_asks_for_some_files_only_is_not_told_of_the_others(ground: Ground) -> None:
    searched(ground, Scope(include=("*.py",)))
    assert ground.log == b""


@pytest.mark.parametrize("name", [b".a\nb", b".\xff"])
def test_a_name_that_cannot_be_told_for_sure(name: bytes, ground: Ground, tmp_path: Path) -> None:
    at = os.path.join(os.fsencode(tmp_path), name)
    os.makedirs(os.path.dirname(at), exist_ok=True)
    with open(at, "wb"):
        searched(ground)
    assert ground.log
    assert told(ground.log, ground) is None


@pytest.mark.parametrize(
    "line",
    [
        "ignoring ./link/x: Ignore(IgnoreMatch(Hidden))",
        "ignoring ./away/x: found binary data at offset 1",
        "ignoring ./../x: found binary data at offset 1",
        "ignoring ./src/../../x: Ignore(IgnoreMatch(Hidden))",
        "whitelisting ./.a: Whitelist(x)",
    ],
)
def test_what_is_not_ours_or_not_understood(line: str, ground: Ground) -> None:
    assert told(f"rg: DEBUG|ignore::walk|walk.rs:1: {line}\n".encode(), ground) is None
    assert told(b"rg: DEBUG|other|x.rs:1: something\n", ground) is not None
