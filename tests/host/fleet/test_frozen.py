"""Which commit a frozen copy is of, and what none can be made of."""

from __future__ import annotations

import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from toolroll import ToolError
from toolroll.host.fleet.frozen import FrozenCopy, find_problems


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
    known: list[str | None] = [
        None,
        "HEAD",
        "side",
        "origin/side",
        "HEAD^{commit}",
        git(repository, "rev-parse", "HEAD"),
    ]
    missing: list[str | None] = ["HEAD~1", "HEAD\nside", "no such", "nö\u2028", tree, "origin/none", "0" * 40]
    unanswered: list[str | None] = ["side@{upstream}"]
    found = find_problems(str(repository), [*known, *unanswered, *missing])
    assert found == {one: f"{str(repository)!r} has no commit {one!r}." for one in missing}


def test_a_folder_that_does_not_exist_is_found(tmp_path: Path) -> None:
    missing = str(tmp_path / "none")
    said = f"There is no folder {missing!r} to make a base of."
    assert find_problems(missing, [None, "HEAD"]) == {None: said, "HEAD": said}


def test_a_folder_that_is_no_repository_is_left_to_the_copy(tmp_path: Path) -> None:
    assert find_problems(str(tmp_path), ["HEAD"]) == {}


@pytest.mark.parametrize("commit", ["side", "origin/side", "HEAD~1"])
def test_a_commit_is_the_one_of_its_name_in_the_repository(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commit: str
) -> None:
    """A clone has no branch but that of HEAD."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    git(repository, "commit", "-q", "--allow-empty", "-m", "two")
    with closing(FrozenCopy(str(repository), commit, 10**9)) as frozen:
        assert git(Path(frozen.path), "log", "-1", "--format=%s") == "one"


def test_where_git_is_missing_the_copy_says_so(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert find_problems(str(repository), ["HEAD"]) == {}
    with pytest.raises(ToolError, match="Cannot run 'git'"):
        FrozenCopy(str(repository), "HEAD", 10**9)
