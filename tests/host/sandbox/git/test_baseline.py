"""A repository's settings and hooks compared with their baseline and put back."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.waiting import closed_again, descriptors
from toolroll.host.sandbox.git import baseline, restore
from toolroll.host.sandbox.git.baseline import Baseline, take_baseline
from toolroll.host.sandbox.git.restore import Restorer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


def git(folder: Path, *words: str) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "-c", "protocol.file.allow=always", *words], cwd=folder, env=env, check=True)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository to be copied."""
    folder = tmp_path_factory.mktemp("template")
    git(folder, "init", "-q", "-b", "main")
    (folder / ".git" / "hooks" / "pre-push").write_text("#!/bin/sh\n# not switched on\n")
    (folder / ".git" / "hooks" / "pre-push").chmod(0o644)
    return folder


@pytest.fixture
def repository(template: Path, ws: Path) -> Path:
    return shutil.copytree(template, ws, dirs_exist_ok=True)


WATCHED = ["config", "config.worktree", "commondir", "gitdir", "hooks", "info", "objects/info/alternates"]


def look(path: Path) -> object:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(mode):
        return "link", os.readlink(path)
    if stat.S_ISDIR(mode):
        return stat.S_IMODE(mode), {child.name: look(child) for child in path.iterdir()}
    return stat.S_IMODE(mode), path.read_bytes()


def state(ws: Path) -> object:
    """All that git would act on, and which folder it is."""
    folder = ws / ".git"
    mode = folder.lstat().st_mode
    if not stat.S_ISDIR(mode):
        return look(folder)
    return mode, folder.stat().st_ino, [look(folder / name) for name in WATCHED]


@contextmanager
def kept(ws: Path, known: Baseline | None = None) -> Iterator[tuple[Baseline, Restorer]]:
    fd = os.open(ws, os.O_RDONLY)
    try:
        baseline = take_baseline(fd, known)
        restorer = Restorer(fd, baseline)
        yield baseline, restorer
        restorer.close()
    finally:
        os.close(fd)


def restored(ws: Path, script: str) -> list[str]:
    with kept(ws) as (_, restorer):
        subprocess.run(["sh", "-c", script], cwd=ws, check=True)
        return restorer.put_back()


ADVICE = ": git's settings can be changed in a terminal, while no command runs"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("true", []),
        ("touch .git/config; chmod u+x .git/hooks/pre-push; chmod u-x .git/hooks/pre-push", []),
        ("git -c user.name=a -c user.email=b commit -q --allow-empty -m x; git branch other", []),
        ("echo x >> .git/config", [f"'.git/config' was changed by the command; it has been put back{ADVICE}."]),
        ("rm .git/config", [f"'.git/config' was removed by the command; it has been put back{ADVICE}."]),
        ("rm -r .git/hooks", ["'.git/hooks' was removed by the command; it has been put back."]),
        ("rm .git/info/*", ["'.git/info/exclude' was removed by the command; it has been put back."]),
        ("echo x > .git/hooks/update", ["'.git/hooks/update' was added by the command; it has been removed."]),
        ("ln -s x .git/commondir", ["'.git/commondir' was added by the command; it has been removed."]),
        ("chmod 0 .git/hooks", ["'.git/hooks' was changed by the command; it has been put back."]),
        ("chmod 0 .git", ["'.git' was changed by the command; it has been put back."]),
        ("chmod 0 .", []),
        (
            "rm .git/config; mkfifo .git/config",
            [f"'.git/config' was changed by the command; it has been put back{ADVICE}."],
        ),
    ],
)
def test_what_is_put_back_and_told(repository: Path, script: str, said: list[str]) -> None:
    before = state(repository)
    assert restored(repository, script) == said
    assert state(repository) == before


def test_what_git_writes_for_web_servers_stays(repository: Path) -> None:
    assert restored(repository, "git update-server-info; touch .git/info/refs_draft") == []
    assert (repository / ".git" / "info" / "refs").exists()


def aside(folder: Path, name: str) -> Path:
    (found,) = folder.glob(f"{name}.set-aside-*")
    return found


def test_what_took_its_place_is_set_aside_not_deleted(repository: Path) -> None:
    before = state(repository)
    (said,) = restored(repository, "mkdir deep; mv .git deep/g; mkdir .git; echo mine > .git/work; mv deep .git/")
    place = aside(repository, ".git")
    assert state(repository) == before
    assert (place / "work").read_text() == "mine\n"
    assert said == (
        f"'.git' was moved to '{repository}/.git/deep/g' by the command and has been moved back; "
        f"what was put in its place is now '{place.name}'."
    )


def test_a_repository_moved_out_of_the_workspace_comes_back(repository: Path, tmp_path: Path) -> None:
    before = state(repository)
    (said,) = restored(repository, f"mv .git '{tmp_path}/taken'")
    assert state(repository) == before
    assert said == f"'.git' was moved to '{tmp_path}/taken' by the command and has been moved back."


def test_a_repository_that_was_removed_is_made_again_and_what_replaced_it_is_set_aside(repository: Path) -> None:
    before = [look(repository / ".git" / name) for name in WATCHED]
    said = restored(repository, "rm -rf .git; git init -q; echo evil > .git/hooks/pre-commit")
    place = aside(repository, ".git")
    assert said[0] == (
        f"'.git' was removed by the command; it has been made again; what was put in its place is now '{place.name}'."
    )
    assert [look(repository / ".git" / name) for name in WATCHED] == before
    assert (place / "HEAD").exists()


def test_folders_among_the_hooks_are_moved_out_of_the_way(repository: Path) -> None:
    before = state(repository)
    (said,) = restored(repository, "mkdir -p .git/hooks/a/b; echo x > .git/hooks/a/b/c; chmod 500 .git/hooks/a")
    assert state(repository) == before
    place = aside(repository / ".git", "a")
    assert (place / "b" / "c").read_text() == "x\n"
    assert said == f"'.git/hooks/a' was added by the command; it has been moved to '.git/{place.name}'."


@pytest.fixture
def crowd(monkeypatch: pytest.MonkeyPatch) -> int:
    """How many names are more than are compared."""
    for module in (baseline, restore):
        monkeypatch.setattr(module, "MAX_NAMES", 100)
    return 150


def test_a_crowd_hides_nothing(repository: Path, crowd: int) -> None:
    before = state(repository)
    (said,) = restored(repository, f"cd .git/hooks; seq -f 'a%g' {2 * crowd} | xargs touch; touch pre-commit")
    assert state(repository) == before
    place = aside(repository / ".git", "hooks")
    assert said == (
        f"'.git/hooks' was filled by the command; it has been put back, and what it was is now '.git/{place.name}'."
    )


def test_a_crowd_that_was_there_before_stays(repository: Path, crowd: int) -> None:
    for number in range(crowd):
        (repository / ".git" / "hooks" / f"a{number}").touch()
    before = state(repository)
    assert restored(repository, "true") == []
    assert state(repository) == before


def test_what_is_too_large_to_be_kept_does_not_run(repository: Path) -> None:
    hook = repository / ".git" / "hooks" / "post-merge"
    hook.write_bytes(bytes(9 << 20))
    assert restored(repository, "true") == []
    (said,) = restored(repository, "echo x >> .git/hooks/post-merge")
    assert not hook.exists()
    place = aside(repository / ".git", "post-merge")
    assert said == (
        "'.git/hooks/post-merge' was changed by the command; it was too large to be kept, "
        f"so it is out of git's way as '.git/{place.name}'."
    )


def test_a_change_in_the_same_moment_and_of_the_same_size_is_seen(repository: Path) -> None:
    config = repository / ".git" / "config"
    for _ in range(20):
        config.write_text("[core]\n\tx = 1\n")
        with kept(repository) as (_, restorer):
            was = config.stat()
            config.write_text("[core]\n\tx = 2\n")
            os.utime(config, ns=(was.st_atime_ns, was.st_mtime_ns))
            assert restorer.put_back() == [f"'.git/config' was changed by the command; it has been put back{ADVICE}."]
        assert config.read_text() == "[core]\n\tx = 1\n"


def test_what_is_known_is_not_read_again(repository: Path) -> None:
    config = repository / ".git" / "config"
    time.sleep(0.15)  # until the files are old enough to be known by their times
    with kept(repository) as (earlier, _):
        config.chmod(0o000)
        config.chmod(0o644)
    with kept(repository, earlier) as (later, restorer):
        same = [path for path, entry in later.entries.items() if entry is earlier.entries[path]]
        assert set(later.entries) - set(same) == {(".git", "config")}
        assert restorer.put_back() == []


def test_what_is_young_is_read_again(repository: Path) -> None:
    """Two changes in the same moment may carry the same time, on some kernels."""
    (repository / ".git" / "config").write_text("[core]\n")
    with kept(repository) as (first, _), kept(repository, first) as (second, _):
        config = (".git", "config")
        assert second.entries[config] is not first.entries[config]
        assert second.entries[config].data == b"[core]\n"


def test_a_baseline_survives_its_file(repository: Path) -> None:
    (repository / ".git" / "hooks" / os.fsdecode(b"\xff")).symlink_to("x")
    with kept(repository) as (baseline, _):
        again = Baseline.decode(baseline.encode())
    assert again.repositories == baseline.repositories
    assert again.entries.keys() == baseline.entries.keys()
    assert all(entry.same(again.entries[parts]) for parts, entry in baseline.entries.items())


def test_submodules_and_worktrees_are_kept_too(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "other")
    git(tmp_path / "other", "-c", "user.name=a", "-c", "user.email=b", "commit", "-q", "--allow-empty", "-m", "x")
    git(repository, "submodule", "--quiet", "add", str(tmp_path / "other"), "lib/one")
    git(repository, "-c", "user.name=a", "-c", "user.email=b", "commit", "-q", "-m", "x")
    git(repository, "worktree", "add", "-q", str(tmp_path / "tree"))
    said = restored(
        repository,
        "echo '[x]' >> .git/modules/lib/one/config; echo x > .git/modules/lib/one/hooks/pre-commit;"
        "echo x > .git/worktrees/tree/gitdir; echo x > .git/worktrees/tree/config.worktree",
    )
    assert sorted(said) == [
        f"'.git/modules/lib/one/config' was changed by the command; it has been put back{ADVICE}.",
        "'.git/modules/lib/one/hooks/pre-commit' was added by the command; it has been removed.",
        "'.git/worktrees/tree/config.worktree' was added by the command; it has been removed.",
        "'.git/worktrees/tree/gitdir' was changed by the command; it has been put back.",
    ]


@pytest.mark.parametrize("pointer", ["gitdir: .bare/x\n", "gitdir: {ws}/.bare/x\n", None])
def test_a_repository_elsewhere_in_the_workspace(ws: Path, pointer: str | None) -> None:
    (ws / ".bare").mkdir()
    git(ws / ".bare", "init", "-q", "--bare", "x")
    if pointer is None:
        (ws / ".git").symlink_to(".bare/x")
    else:
        (ws / ".git").write_text(pointer.format(ws=ws))
    before = look(ws / ".git"), look(ws / ".bare" / "x")
    said = restored(
        ws, "echo x > .bare/x/hooks/post-merge; rm .git; mkdir .git; mv .bare/x .bare/y; git init -q .bare/x"
    )
    assert len(said) == 3
    for left in (ws / ".bare").glob("x.set-aside-*"):
        assert (left / ".git").is_dir()
    assert (look(ws / ".git"), look(ws / ".bare" / "x")) == before


@pytest.mark.parametrize("text", ["gitdir: ../outside", "gitdir:", "gitdir: /etc", "something else"])
def test_a_pointer_outside_is_only_kept_itself(ws: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "outside" / "hooks").mkdir(parents=True)
    (ws / ".git").write_text(text)
    assert restored(ws, f"echo x > '{tmp_path}/outside/hooks/mine'; echo y > .git") == [
        "'.git' was changed by the command; it has been put back."
    ]
    assert (ws / ".git").read_text() == text
    assert (tmp_path / "outside" / "hooks" / "mine").exists()


def test_without_a_repository_there_is_nothing_to_keep(ws: Path) -> None:
    assert restored(ws, "git init -q") == []


def test_a_worktree_can_be_removed(repository: Path, tmp_path: Path) -> None:
    git(repository, "-c", "user.name=a", "-c", "user.email=b", "commit", "-q", "--allow-empty", "-m", "x")
    git(repository, "worktree", "add", "-q", str(tmp_path / "tree"))
    assert restored(repository, f"git worktree remove '{tmp_path}/tree'") == []


def test_no_descriptor_is_left(repository: Path) -> None:
    before = descriptors()
    for script in ("true", "rm -rf .git"):
        restored(repository, script)
    assert closed_again(before)


SWAPPER = """
import itertools, os, sys
from contextlib import suppress
os.chdir(sys.argv[1])
for number in itertools.count():
    with suppress(OSError):
        os.rename("hooks", f"h{number}")
    with suppress(OSError):
        os.symlink(sys.argv[2], "hooks")
    with suppress(OSError):
        os.unlink("hooks")
    with suppress(OSError):
        os.rename(f"h{number}", "hooks")
    with suppress(OSError):
        os.mkdir("hooks")
"""


@pytest.fixture
def outside(repository: Path, tmp_path: Path) -> Iterator[Path]:
    """A folder that a process left behind by a command leads to, now and then."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "pre-push").write_text("theirs")
    with subprocess.Popen([sys.executable, "-c", SWAPPER, str(repository / ".git"), str(folder)]) as swapper:
        yield folder
        swapper.kill()


def rounds(seconds: float) -> Iterator[int]:
    end, number = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        yield (number := number + 1)


def test_a_process_left_behind_leads_nowhere(repository: Path, outside: Path) -> None:
    before, swapped = look(outside), 0
    for number in rounds(50):
        with kept(repository) as (_, restorer):
            (repository / ".git" / "config").write_text(f"# {number}")
            swapped += any("hooks" in sentence for sentence in restorer.put_back())
        assert look(outside) == before
        if number >= 100 and swapped:
            return
    pytest.fail("the attack is too weak to prove anything")


def test_it_would_lead_outside_if_names_were_trusted(repository: Path, outside: Path) -> None:
    before, hook = look(outside), repository / ".git" / "hooks" / "pre-push"
    for _ in rounds(20):
        with suppress(OSError):
            hook.write_text("ours")
        if look(outside) != before:
            return
    pytest.fail("the naive way was not led astray")
