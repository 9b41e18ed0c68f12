"""The repository of a fork is merged by meaning."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.host.forks.test_forks import KINDS
from toolroll import Kit, ToolError


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def repository(ws: Path, put: Callable[..., None]) -> Path:
    put({"a.txt": "one\n", "s.txt": "s\n"})
    for words in ("init -q -b main", "config user.name a", "config user.email a@b", "add -A", "commit -qm first"):
        git(ws, *words.split())
    for words in ("tag old", "branch gone", "pack-refs --all"):
        git(ws, *words.split())
    return ws


COMMANDS = """
echo two >> a.txt; git commit -qam second; git tag v1; git tag -am note v2; git branch -D gone
git checkout -q --no-track -b feature/x; echo n > n.txt; git add n.txt; git commit -qm third; git checkout -q main
echo 1 >> s.txt; git stash -q; echo 2 >> s.txt; git stash -q
echo staged > staged.txt; git add staged.txt; git rm -q --cached s.txt; git config core.editor evil
"""


def describe(folder: Path) -> list[str]:
    """All that git says of a repository, but for the names of commits, which hold the time."""
    wanted = [
        "status --short",
        "log --all --graph --format=%s",
        "stash list --format=%gs",
        "tag -n",
        "ls-files --stage",
    ]
    wanted += [
        "for-each-ref --format=%(refname)",
        "log -g --format=%gs HEAD",
        "symbolic-ref HEAD",
        "fsck --no-dangling",
    ]
    return [git(folder, *words.split()).replace(git(folder, "rev-parse", "--short", "HEAD"), "*") for words in wanted]


@pytest.mark.parametrize("kind", KINDS)
def test_commits_branches_tags_stashes_and_staged_files_arrive(repository: Path, kit: Kit, kind: Any) -> None:
    config = (repository / ".git/config").read_bytes()
    asked = ["show-ref --heads --tags", "ls-files -s", "status"]
    before = [git(repository, *one.split()) for one in asked]
    with kit.fork(kind) as trial:
        (hook := Path(trial.workspace, ".git/hooks/post-checkout")).parent.mkdir(exist_ok=True)
        hook.write_text("evil")
        trial.call("bash", {"command": COMMANDS})
        wanted = describe(Path(trial.workspace))
        said = "Repository: moved feature/x, gone, main, stash, tags/v1, tags/v2, staged 3 files."
        assert trial.merge().text == f"Changed 2 files: a.txt (+1 -0), staged.txt (new). {said}"
        assert describe(repository) == wanted
        assert trial.merge().text == "Fork 1 has no changes there: nothing was merged."
        trial.call("bash", {"command": "git commit -qm fourth; git checkout -qf feature/x"})
        assert "Repository: moved HEAD, main, staged" in trial.merge().text
        assert describe(repository) == describe(Path(trial.workspace))
    assert kit.undo(steps=2).ok
    assert [git(repository, *one.split()) for one in asked] == before
    assert (repository / ".git/config").read_bytes() == config
    assert not (repository / ".git/hooks/post-checkout").exists()
    assert not list(repository.rglob("*.lock"))


REFUSED = {
    "a branch that both moved": (
        "git commit -q --allow-empty -m fork",
        "commit -q --allow-empty -m base",
        "'refs/heads/main' moved in the workspace since the fork was made, and in the fork too: ",
    ),
    "a file that both staged": (
        "echo fork > new.txt; git add new.txt; rm new.txt",
        "update-index --add --cacheinfo 100644,5626abf0f72e58d7a153368ba57db4c673c0e171,new.txt",
        "'new.txt' was staged in the workspace since the fork was made, and otherwise in the fork",
    ),
    "a merge that is under way": (
        "git checkout -q gone; echo x > a.txt; git commit -qam x; git checkout -q main; echo y > a.txt; "
        "git commit -qam y; git merge -q gone",
        "status",
        "a merge is under way in the fork",
    ),
    "a lock of git": ("git tag new", "tag new.lock-is-no-name", "git is at work in the workspace"),
    "a damaged object": (
        "git commit -q --allow-empty -m x; f=.git/objects/$(git rev-parse HEAD | sed 's:..:&/:'); chmod u+w $f; "
        "echo x > $f",
        "status",
        "is damaged",
    ),
    "a missing object": (
        "git commit -q --allow-empty -m x; rm .git/objects/$(git rev-parse HEAD | sed 's:..:&/:')",
        "status",
        "git rev-list fails on what the fork did",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_merged_is_refused_as_a_whole(repository: Path, kit: Kit, case: str) -> None:
    command, words, said = REFUSED[case]
    with kit.fork() as trial:
        trial.call("bash", {"command": f"{command}; echo more > more.txt"})
        git(repository, *words.split())
        if "lock" in case:
            (repository / ".git/refs/tags/new.lock").touch()
        before = describe(repository)
        with pytest.raises(ToolError, match=said) as refused:
            trial.merge()
        assert refused.value.message.startswith("Nothing was merged: ")
        assert describe(repository) == before
        assert not (repository / "more.txt").exists()
        assert trial.merge("more.txt").ok


def test_what_the_workspace_did_meanwhile_stays(repository: Path, kit: Kit) -> None:
    with kit.fork("copy") as trial:
        trial.call("bash", {"command": "git tag fork; echo x > f.txt; git add f.txt"})
        (repository / "b.txt").write_text("base\n")
        for words in ("tag base", "add b.txt", "branch side"):
            git(repository, *words.split())
        trial.merge()
    assert git(repository, "tag").split() == ["base", "fork", "old"]
    assert git(repository, "status", "--short") == "A  b.txt\nA  f.txt\n"
    assert "side" in git(repository, "branch")
