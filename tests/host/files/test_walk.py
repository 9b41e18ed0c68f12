from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.values import assert_values
from toolroll.host.files import walk as module
from toolroll.host.files.walk import Walk


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    top = tmp_path / "top"
    for path in (
        "a.py",
        "src/b.py",
        "src/deep/c.log",
        ".hid/d",
        ".e",
        "node_modules/f",
        ".git/config",
        "sub/.git/g",
    ):
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text(path)
    (top / "empty").mkdir()
    (top / ".gitignore").write_text("*.log\n")
    (top / "link").symlink_to("src")
    (top / "out").symlink_to(tmp_path)
    os.mkfifo(top / "pipe")
    return top


def walk(top: Path, **options: Any) -> list[str]:
    """What is shown."""
    fd = os.open(top, os.O_RDONLY)
    try:
        return [seen.path for seen in Walk(fd, **options)]
    finally:
        os.close(fd)


LISTED = [
    "a.py",
    "empty",
    "link",
    "node_modules",
    "out",
    "src",
    "sub",
    "node_modules/f",
    "src/b.py",
    "src/deep",
]


@pytest.mark.parametrize(
    ("options", "more", "less"),
    [
        ({}, [], []),
        ({"hidden": True}, [".e", ".gitignore", ".hid", ".hid/d"], []),
        ({"ignored": True}, ["src/deep/c.log"], []),
        ({"skip": ("node_modules", "nowhere")}, [], ["node_modules", "node_modules/f"]),
        ({"skip": ("node_modules",), "ignored": True}, ["src/deep/c.log"], ["node_modules", "node_modules/f"]),
        ({"depth": 1}, [], ["node_modules/f", "src/b.py", "src/deep"]),
        ({"depth": 2, "ignored": True}, [], []),
        ({"depth": 0}, [], LISTED),
        ({"rules": ("/src/b.py", "empty/")}, [], ["src/b.py", "empty"]),
        ({"excludes": "src".__eq__}, [], ["src", "src/b.py", "src/deep"]),
    ],
)
def test_hidden_and_ignored_entries_are_left_out(
    options: dict[str, Any], more: list[str], less: list[str], tree: Path
) -> None:
    assert sorted(walk(tree, **options)) == sorted({*LISTED, *more} - {*less})


def test_folders_come_by_name_and_before_their_contents(tree: Path) -> None:
    assert walk(tree) == [
        *("a.py", "empty", "link", "node_modules", "out", "src", "sub"),
        *("node_modules/f", "src/b.py", "src/deep"),
    ]


def test_a_git_folder_is_walked_only_from_inside(tree: Path) -> None:
    assert walk(tree / ".git") == ["config"]
    assert ".git" not in walk(tree, hidden=True, ignored=True)


def test_entries_can_be_looked_at_and_opened(tree: Path) -> None:
    fd = os.open(tree, os.O_RDONLY)
    for seen in Walk(fd):
        assert (seen.kind == "link") == (tree / seen.path).is_symlink()
        assert (seen.kind == "directory") == ((tree / seen.path).is_dir() and seen.kind != "link")
        assert seen.stat() == (tree / seen.path).lstat()
        if seen.kind == "link":
            assert seen.link() == os.readlink(tree / seen.path)
        if seen.kind == "file":
            opened = seen.open()
            assert os.read(opened, 100) == seen.path.encode()
            os.close(opened)
    os.close(fd)


def test_an_entry_stays_as_it_was_seen() -> None:
    assert_values(module)


def test_a_folder_that_becomes_a_link_is_not_followed(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").touch()
    fd = os.open(tree, os.O_RDONLY)
    found = Walk(fd)
    paths = []
    for seen in found:
        paths.append(seen.path)
        if seen.path == "sub":  # src is listed, but has not been entered
            (tree / "src").rename(tree / "moved")
            (tree / "src").symlink_to(tmp_path)
    os.close(fd)
    assert [path for path in paths if path.startswith("src/")] == []
    assert found.unreadable == 1


@pytest.fixture
def deep(tmp_path: Path) -> Iterator[Path]:
    fds = [os.open(tmp_path, os.O_RDONLY)]
    for _ in range(400):
        os.mkdir("d", dir_fd=fds[-1])
        fds.append(os.open("d", os.O_RDONLY, dir_fd=fds[-1]))
    for fd in fds:
        os.close(fd)
    return tmp_path


def test_depth_needs_no_descriptors(deep: Path) -> None:
    fd = os.open(deep, os.O_RDONLY)
    most = max(len(os.listdir("/proc/self/fd")) for _ in Walk(fd))
    assert most <= len(os.listdir("/proc/self/fd")) + 50  # one for each folder would be 400
    os.close(fd)
