"""git that toolroll starts executes its own programs, and a shell only for a remote that is a folder."""

import os
import subprocess
from pathlib import Path

import pytest

from toolroll.host.runtime.launcher import AccessRules, Launcher
from toolroll.host.sandbox.choose import choose_sandbox
from toolroll.host.sandbox.git.git_process import ask_git
from toolroll.host.sandbox.tiers import OwnThread


def run(folder: Path, *words: str) -> str:
    own = ["-c", "user.name=Ann", "-c", "user.email=ann@localhost"]
    return subprocess.run(["git", *own, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def marker(ws: Path) -> str:
    run(ws, "init", "-q", "--template=")
    (ws / "a").write_text("a\n")
    run(ws, "add", "a")
    run(ws, "commit", "-q", "-m", "a")
    (ws / "marker").write_text(f"#!/bin/sh\n: > {ws}/ran\n")
    (ws / "marker").chmod(0o755)
    return f"{ws}/marker"


def ask(ws: Path, tier: str, *words: str, **how: str) -> tuple[bytes, int | None]:
    launcher = Launcher(lambda: OwnThread(choose_sandbox(tier)), os.environ["PATH"], str(ws))
    return ask_git(launcher, words, AccessRules((str(ws),)), 30, cwd=str(ws), **how)


def test_git_executes_nothing_else(ws: Path, marker: str, confined: str) -> None:
    for settings in (f"alias.x={marker}", f"alias.x=!{marker}", "alias.x=!: > ran", f"core.pager={marker}"):
        ask(ws, confined, "-c", settings, "-c", f"core.fsmonitor={marker}", "x" if "alias" in settings else "-p log")
        ask(ws, confined, "-c", f"core.fsmonitor={marker}", "status")
        assert not (ws / "ran").exists(), settings
    assert ask(ws, confined, "log", "--format=%s") == (b"a\n", 0)
    run(ws, "-c", f"alias.x=!{marker}", "x")
    assert (ws / "ran").exists(), "plain git runs it"


def test_missing_objects_are_not_fetched_by_any_git(ws: Path, marker: str, tier: str) -> None:
    """Before git 2.45 a partial clone asks its remote, whatever GIT_NO_LAZY_FETCH says."""
    lost = run(ws, "rev-parse", "HEAD:a").strip()
    (ws / ".git/objects" / lost[:2] / lost[2:]).unlink()
    with open(ws / ".git/config", "a") as file:
        file.write(
            "[core]\nrepositoryformatversion = 1\n[extensions]\npartialClone = o\n"
            f'[remote "o"]\npromisor = true\nurl = {ws}\nuploadpack = {marker}\n'
        )
    assert ask(ws, tier, "cat-file", "-p", lost)[1] != 0
    assert not (ws / "ran").exists()
    with pytest.raises(subprocess.CalledProcessError):
        run(ws, "cat-file", "-p", lost)
    assert (ws / "ran").exists(), "plain git runs it"


def test_a_shell_is_there_for_a_folder_only(ws: Path, marker: str, confined: str) -> None:
    assert ask(ws, confined, "ls-remote", ".", protocols="file")[1] == 0
    assert ask(ws, confined, "ls-remote", ".")[1] != 0
    assert ask(ws, confined, "-c", "alias.x=!: > ran", "x", protocols="http:https")[1] != 0
    assert not (ws / "ran").exists()
