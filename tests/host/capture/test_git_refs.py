"""Undo of commands that run git: branches, HEAD and the index come back with the files."""

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.host.capture.test_capture import GIT, commit, picture
from toolroll import Kit
from toolroll.kit import preset

_COMMANDS = [
    "commit -qam two",
    "commit -q --amend -m other",
    "checkout -q -b new",
    "branch -m renamed",
    "tag -a v1 -m v1",
    "checkout -q --detach",
    "reset -q --hard",
    "rebase -q --autostash side",
    "commit -qam all; cherry-pick clash",
    "commit -qam all; merge -q clash",
    "stash drop -q",
    "pack-refs --all; branch -D clash",
]


def git(ws: Path, *words: str) -> str:
    return subprocess.run([*GIT, *words], cwd=ws, check=True, capture_output=True, text=True).stdout


def state(ws: Path) -> list[object]:
    """All that git shows of a repository, and the files."""
    asked = ["show-ref", "ls-files -s", "status", "stash list --format=%H", "rev-parse --symbolic-full-name HEAD"]
    return [git(ws, *one.split()) for one in asked] + [picture(ws)]


@pytest.fixture
def repository(ws: Path, put: Callable[..., None]) -> Path:
    """Three branches, a stash, a file that is staged and one that is not."""
    put({"a": "1\n2\n3\n", "b": "1\n", "c": "1\n", "w": "1\n"})
    commit(ws)
    for branch, files in {"trunk": {"c": "2\n"}, "side": {"b": "2\n"}, "clash": {"c": "3\n"}}.items():
        git(ws, "checkout", "-q", "-B", branch, *(["trunk~1"] if branch != "trunk" else []))
        put(files)
        git(ws, "commit", "-qam", branch)
    git(ws, "checkout", "-q", "trunk")
    put({"a": "stashed\n"})
    git(ws, "stash", "-q")
    put({"a": "0\n1\n2\n3\n"})
    git(ws, "add", "a")
    put({"w": "work\n"})
    return ws


@pytest.fixture
def work(open_kit: Callable[..., Kit]) -> Kit:
    return open_kit(policy=replace(preset("standard"), sandbox="none"), approve=lambda _: True)


def test_what_git_moved_comes_back_with_the_files(repository: Path, work: Kit) -> None:
    before = state(repository)
    for words in _COMMANDS:
        command = "; ".join(f"{' '.join(GIT)} {one.strip()}" for one in words.split(";"))
        ran = work.call("bash", {"command": command})
        assert state(repository) != before, f"{words}: {ran.text}"
        undone = work.call("undo")
        assert undone.ok, f"{words}: {undone.text}"
        assert state(repository) == before, f"{words}: {ran.text} {undone.text}"


def test_a_rewind_moves_branches_there_and_back(repository: Path, work: Kit) -> None:
    before = state(repository)
    for at in (1, 2):
        assert work.call("bash", {"command": f"{' '.join(GIT)} commit -qam {at} --allow-empty"}).ok
    after = state(repository)
    back = work.call("rewind", {"to": "0"})
    assert "Moved back in the repository: trunk." in back.text
    assert state(repository) == before
    assert work.call("rewind", {"to": "2"}).ok
    assert state(repository) == after


def test_branches_that_others_moved_since_stay(repository: Path, work: Kit) -> None:
    assert work.call("bash", {"command": f"{' '.join(GIT)} commit -qam one; echo more > d"}).ok
    git(repository, "commit", "-q", "--allow-empty", "-m", "by somebody")
    moved = git(repository, "rev-parse", "HEAD")
    undone = work.call("undo")
    assert undone.ok, undone.text
    assert "Branches stay as they are: trunk was changed since." in undone.text
    assert git(repository, "rev-parse", "HEAD") == moved
    assert not (repository / "d").exists()
    assert work.call("bash", {"command": f"{' '.join(GIT)} commit -q --allow-empty -m two"}).ok
    git(repository, "commit", "-q", "--allow-empty", "-m", "by somebody")
    refused = work.call("undo")
    assert not refused.ok
    assert "trunk was changed since" in refused.text
