"""What no frozen copy can be made of is found without making one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from toolroll.host.fleet.frozen import find_problems


def git(folder: Path, *words: str) -> str:
    own = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words]
    return subprocess.run(own, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit, which the branch `side` has too."""
    folder = tmp_path / "project"
    folder.mkdir()
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "one"], ["branch", "side"]):
        git(folder, *words)
    return folder


def test_commits_that_do_not_exist_are_found(repository: Path) -> None:
    tree = git(repository, "rev-parse", "HEAD^{tree}")
    known: list[str | None] = [None, "HEAD", "side", "HEAD^{commit}", git(repository, "rev-parse", "HEAD")]
    missing: list[str | None] = ["HEAD~1", "no such", tree, "HEAD\nside", "0" * 40]
    found = find_problems(str(repository), [*known, *missing])
    assert found == {one: f"{str(repository)!r} has no commit {one!r}." for one in missing}


def test_a_folder_that_does_not_exist_is_found(tmp_path: Path) -> None:
    missing = str(tmp_path / "none")
    said = f"There is no folder {missing!r} to make a base of."
    assert find_problems(missing, [None, "HEAD"]) == {None: said, "HEAD": said}


def test_a_folder_that_is_no_repository_is_left_to_the_copy(tmp_path: Path) -> None:
    assert find_problems(str(tmp_path), ["HEAD"]) == {}
