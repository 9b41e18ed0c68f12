"""Attacks on a repository's own folder by a command: none has an effect that outlives it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from toolroll.host.runtime.launcher import Reach
from toolroll.host.sandbox.repository import Kept
from toolroll.host.sandbox.tiers import Sandbox, Tier

Run = Callable[..., tuple[int, str]]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


def git(folder: Path, *words: str) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "-c", "protocol.file.allow=always", *words], cwd=folder, env=env, check=True)


@pytest.fixture
def repository(ws: Path) -> Path:
    git(ws, "init", "-q", "-b", "main")
    (ws / ".git" / "hooks" / "pre-push").write_text("#!/bin/sh\n# not switched on\n")
    (ws / ".git" / "hooks" / "pre-push").chmod(0o644)
    return ws


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


ATTACKS = {
    "a hook": "printf '#!/bin/sh\\ntouch pwned\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
    "a setting": "git config core.fsmonitor 'touch pwned'",
    "another folder": "mv .git .g2; git init -q; echo 'touch pwned' > .git/hooks/post-checkout",
    "a pointer": "mv .git .g2; cp -r .g2 evil; echo 'gitdir: evil' > .git",
    "commondir": "cp -r .git evil; echo ../evil > .git/commondir",
    "config.worktree": "printf '[core]\\nfsmonitor = touch pwned\\n' > .git/config.worktree",
    "attributes": "echo '* filter=evil' > .git/info/attributes",
    "alternates": "mkdir -p .git/objects/info; echo /elsewhere > .git/objects/info/alternates",
    "a link for the hooks": "mkdir evil; mv .git/hooks .git/h2; ln -s ../evil .git/hooks",
    "an old hook switched on": "chmod +x .git/hooks/pre-push",
}


def attack(run: Run, sandbox: Sandbox, ws: Path, script: str) -> tuple[bool, tuple[str, ...]]:
    """Whether the repository is as it was after the command, and what was said about it."""
    before = state(ws)
    kept = None if sandbox.tier is Tier.BUBBLEWRAP else Kept.before(str(ws))
    run(sandbox, script, reach=Reach((str(ws),), keep=(str(ws / ".git"),)))
    said = () if kept is None else kept.mend()
    return state(ws) == before, said


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_has_no_effect(run: Run, sandbox: Sandbox, repository: Path, name: str) -> None:
    held, said = attack(run, sandbox, repository, ATTACKS[name])
    assert held
    assert len(ATTACKS) == 10
    assert bool(said) == (sandbox.tier is Tier.LANDLOCK)
    git(repository, "status")


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_has_its_effect_without(run: Run, plain: Sandbox, repository: Path, name: str) -> None:
    before = state(repository)
    run(plain, ATTACKS[name])
    assert state(repository) != before


def mended(ws: Path, script: str, earlier: Kept | None = None) -> list[str]:
    kept = Kept.before(str(ws), earlier)
    subprocess.run(["sh", "-c", script], cwd=ws, check=True)
    return [sentence for sentence in kept.mend() if sentence]


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("true", []),
        ("touch .git/config; chmod u+x .git/hooks/pre-push; chmod u-x .git/hooks/pre-push", []),
        ("git -c user.name=a -c user.email=b commit -q --allow-empty -m x; git branch other", []),
        ("echo x >> .git/config", ["'.git/config' was changed by the command; it has been put back."]),
        ("rm .git/config", ["'.git/config' was removed by the command; it has been put back."]),
        ("rm -r .git/hooks", ["'.git/hooks' was removed by the command; it has been put back."]),
        ("rm .git/info/*", ["'.git/info/exclude' was removed by the command; it has been put back."]),
        ("echo x > .git/hooks/update", ["'.git/hooks/update' was added by the command; it has been removed."]),
        ("ln -s x .git/commondir", ["'.git/commondir' was added by the command; it has been removed."]),
        ("chmod 0 .git/hooks", ["'.git/hooks' was changed by the command; it has been put back."]),
        ("chmod 0 .git", ["'.git' was changed by the command; it has been put back."]),
        ("chmod 0 .", []),
        (
            "rm .git/config; mkfifo .git/config",
            ["'.git/config' was changed by the command; it has been put back."],
        ),
    ],
)
def test_what_is_put_back_and_told(repository: Path, script: str, said: list[str]) -> None:
    before = state(repository)
    assert mended(repository, script) == said
    assert state(repository) == before


def aside(folder: Path, name: str) -> Path:
    (found,) = folder.glob(f"{name}.set-aside-*")
    return found


def test_what_took_its_place_is_set_aside_not_deleted(repository: Path) -> None:
    before = state(repository)
    (said,) = mended(repository, "mkdir deep; mv .git deep/g; mkdir .git; echo mine > .git/work; mv deep .git/")
    place = aside(repository, ".git")
    assert state(repository) == before
    assert (place / "work").read_text() == "mine\n"
    assert said == (
        f"'.git' was moved to '{repository}/.git/deep/g' by the command and has been moved back; "
        f"what was put in its place is now '{place.name}'."
    )


def test_a_repository_moved_out_of_the_workspace_comes_back(repository: Path, tmp_path: Path) -> None:
    before = state(repository)
    (said,) = mended(repository, f"mv .git '{tmp_path}/taken'")
    assert state(repository) == before
    assert said == f"'.git' was moved to '{tmp_path}/taken' by the command and has been moved back."


def test_a_repository_that_was_removed_is_missed_and_nothing_replaces_it(repository: Path) -> None:
    (said,) = mended(repository, "rm -rf .git; git init -q")
    assert said.startswith("'.git' was removed by the command and cannot be put back; what was put in its place is now")
    assert not (repository / ".git").exists()
    assert (aside(repository, ".git") / "HEAD").exists()


def test_folders_among_the_hooks_are_moved_out_of_the_way(repository: Path) -> None:
    before = state(repository)
    (said,) = mended(repository, "mkdir -p .git/hooks/a/b; echo x > .git/hooks/a/b/c; chmod 500 .git/hooks/a")
    assert state(repository) == before
    place = aside(repository / ".git", "a")
    assert (place / "b" / "c").read_text() == "x\n"
    assert said == f"'.git/hooks/a' was added by the command; it has been moved to '.git/{place.name}'."


def test_a_crowd_hides_nothing(repository: Path) -> None:
    before = state(repository)
    (said,) = mended(repository, "cd .git/hooks; seq -f 'a%g' 4000 | xargs touch; touch pre-commit")
    assert state(repository) == before
    place = aside(repository / ".git", "hooks")
    assert said == (
        f"'.git/hooks' was filled by the command; it has been put back, and what it was is now '.git/{place.name}'."
    )


def test_a_crowd_that_was_there_before_stays(repository: Path) -> None:
    for number in range(2100):
        (repository / ".git" / "hooks" / f"a{number}").touch()
    before = state(repository)
    assert mended(repository, "true") == []
    assert state(repository) == before


def test_what_is_too_large_to_be_kept_does_not_run(repository: Path) -> None:
    hook = repository / ".git" / "hooks" / "post-merge"
    hook.write_bytes(bytes(9 << 20))
    assert mended(repository, "true") == []
    (said,) = mended(repository, "echo x >> .git/hooks/post-merge")
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
        kept = Kept.before(str(repository))
        was = config.stat()
        config.write_text("[core]\n\tx = 2\n")
        os.utime(config, ns=(was.st_atime_ns, was.st_mtime_ns))
        assert kept.mend() == ("'.git/config' was changed by the command; it has been put back.",)
        assert config.read_text() == "[core]\n\tx = 1\n"


def test_what_is_known_is_not_read_again(repository: Path) -> None:
    config = repository / ".git" / "config"
    time.sleep(0.15)  # until the files are old enough to be known by their times
    earlier = Kept.before(str(repository))
    earlier.close()
    config.chmod(0o000)
    config.chmod(0o644)
    kept = Kept.before(str(repository), earlier)
    same = [path for path, entry in kept._taken.entries.items() if entry is earlier._taken.entries[path]]
    assert set(kept._taken.entries) - set(same) == {(".git", "config")}
    assert kept.mend() == ()


def test_what_is_young_is_read_again(repository: Path) -> None:
    """Two changes in the same moment may carry the same time, on some kernels."""
    (repository / ".git" / "config").write_text("[core]\n")
    with Kept.before(str(repository)) as first, Kept.before(str(repository), first) as second:
        config = (".git", "config")
        assert second._taken.entries[config] is not first._taken.entries[config]
        assert second._taken.entries[config].data == b"[core]\n"


def test_submodules_and_worktrees_are_kept_too(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "other")
    git(tmp_path / "other", "-c", "user.name=a", "-c", "user.email=b", "commit", "-q", "--allow-empty", "-m", "x")
    git(repository, "submodule", "--quiet", "add", str(tmp_path / "other"), "lib/one")
    git(repository, "-c", "user.name=a", "-c", "user.email=b", "commit", "-q", "-m", "x")
    git(repository, "worktree", "add", "-q", str(tmp_path / "tree"))
    said = mended(
        repository,
        "echo '[x]' >> .git/modules/lib/one/config; echo x > .git/modules/lib/one/hooks/pre-commit;"
        "echo x > .git/worktrees/tree/gitdir; echo x > .git/worktrees/tree/config.worktree",
    )
    assert sorted(said) == [
        "'.git/modules/lib/one/config' was changed by the command; it has been put back.",
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
    said = mended(ws, "echo x > .bare/x/hooks/post-merge; rm .git; mkdir .git; mv .bare/x .bare/y; git init -q .bare/x")
    assert len(said) == 3
    for left in (ws / ".bare").glob("x.set-aside-*"):
        assert (left / ".git").is_dir()
    assert (look(ws / ".git"), look(ws / ".bare" / "x")) == before


@pytest.mark.parametrize("text", ["gitdir: ../outside", "gitdir:", "gitdir: /etc", "something else"])
def test_a_pointer_outside_is_only_kept_itself(ws: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "outside" / "hooks").mkdir(parents=True)
    (ws / ".git").write_text(text)
    assert mended(ws, f"echo x > '{tmp_path}/outside/hooks/mine'; echo y > .git") == [
        "'.git' was changed by the command; it has been put back."
    ]
    assert (ws / ".git").read_text() == text
    assert (tmp_path / "outside" / "hooks" / "mine").exists()


def test_without_a_repository_there_is_nothing_to_keep(ws: Path) -> None:
    assert mended(ws, "git init -q") == []


def test_no_descriptor_is_left(repository: Path) -> None:
    before = sorted(os.listdir("/proc/self/fd"))
    for script in ("true", "rm -rf .git"):
        mended(repository, script)
    Kept.before(str(repository)).close()
    Kept.before(str(repository))  # forgotten: it must not stay open either
    with pytest.raises(FileNotFoundError):
        Kept.before(str(repository / "nowhere"))
    assert sorted(os.listdir("/proc/self/fd")) == before


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
    before, swapped, number = look(outside), 0, 0
    for number in rounds(2):
        kept = Kept.before(str(repository))
        (repository / ".git" / "config").write_text(f"# {number}")
        swapped += any("hooks" in sentence for sentence in kept.mend())
        assert look(outside) == before
    assert min(number, swapped) > 0


def test_it_would_lead_outside_if_names_were_trusted(repository: Path, outside: Path) -> None:
    before, hook = look(outside), repository / ".git" / "hooks" / "pre-push"
    for _ in rounds(20):
        with suppress(OSError):
            hook.write_text("ours")
        if look(outside) != before:
            return
    pytest.fail("the naive way was not led astray")
