"""Attacks on a repository's own folder by commands: none has an effect that outlives them, in any tier."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.host.sandbox.git.test_baseline import git, look, state
from tests.waiting import closed_again, descriptors, until
from toolroll import Kit
from toolroll.host.files.root import Root
from toolroll.host.runtime.launcher import AccessRules, Sandbox
from toolroll.host.runtime.state import State
from toolroll.host.sandbox.git.guard import GitGuard, GitWatch
from toolroll.host.sandbox.tiers import Tier
from toolroll.policy.rules import Policy
from toolroll.result import ToolError

Run = Callable[..., tuple[int, str]]
OpenGuard = Callable[[], GitGuard]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

WHO = ("-c", "user.name=a", "-c", "user.email=b")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository to be copied."""
    folder = tmp_path_factory.mktemp("template")
    git(folder, "init", "-q", "-b", "main")
    (folder / "a").write_text("1\n")
    git(folder, "add", "a")
    git(folder, *WHO, "commit", "-q", "-m", "one")
    git(folder, "tag", "v1")
    (folder / ".git" / "hooks" / "pre-push").write_text("#!/bin/sh\n# not switched on\n")
    (folder / ".git" / "hooks" / "pre-push").chmod(0o644)
    return folder


@pytest.fixture
def repository(template: Path, ws: Path) -> Path:
    return shutil.copytree(template, ws, dirs_exist_ok=True)


@pytest.fixture
def open_guard(ws: Path, tmp_path: Path) -> Iterator[OpenGuard]:
    """Guards as kits of the same workspace have them."""
    opened: list[tuple[Root, State, GitGuard]] = []

    def make() -> GitGuard:
        root, kept = Root(str(ws)), State(str(tmp_path / "state"))
        opened.append((root, kept, GitGuard(root, kept)))
        return opened[-1][2]

    yield make
    for root, kept, guard in opened:
        guard.close()
        kept.close()
        root.close()


@pytest.fixture
def guard(open_guard: OpenGuard) -> GitGuard:
    return open_guard()


def guarded(guard: GitGuard, ws: Path, script: str) -> list[str]:
    """What a script without any sandbox does is put back; what is said of it."""
    one = guard.begin()
    subprocess.run(["sh", "-c", script], cwd=ws, check=False)
    return guard.end(one)


def works(ws: Path) -> bool:
    """Whether git finds the commits, the branch, the tag and the file."""
    done = subprocess.run(
        ["sh", "-c", "git fsck --strict && git log -1 --format=%s v1 && git show main:a && git status --porcelain"],
        cwd=ws,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode == 0 and "one\n1\n" in done.stdout


EVIL = "printf '#!/bin/sh\\ntouch pwned\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit"
ATTACKS = {
    "a hook": EVIL,
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
NOT_MOUNTED = {"commondir", "config.worktree", "alternates"}
"""What is not there cannot be made read-only: the guard removes it."""
MORE = {
    "core.hooksPath": "git config core.hooksPath ../evil",
    "a file by another name": "ln .git/config c2; echo '[alias]' >> c2; rm c2",
    "a file in memory": "python3 -c \"import mmap; f = open('.git/config', 'r+b'); mmap.mmap(f.fileno(), 0)[:1] = b';'\"",
    "a link for the folder": "mv .git .g2; cp -r .g2 evil; ln -s evil .git",
    "hooks anew": f"rm -rf .git/hooks; mkdir .git/hooks; {EVIL}",
    "a folder above": "mkdir -p .git/objects/info; mv .git/objects .git/o2; cp -r .git/o2 .git/objects;"
    "echo /elsewhere > .git/objects/info/alternates",
}


@pytest.mark.parametrize("name", [*ATTACKS, *MORE])
def test_an_attack_has_no_effect(run: Run, sandbox: Sandbox, guard: GitGuard, repository: Path, name: str) -> None:
    assert len(ATTACKS) == 10
    before = state(repository)
    one = guard.begin()
    run(sandbox, (ATTACKS | MORE)[name], access=AccessRules((str(repository),), keep=one.keep, hold=one.hold))
    said = guard.end(one)
    assert state(repository) == before
    assert works(repository)
    if name in ATTACKS:
        assert bool(said) == (sandbox.tier is Tier.LANDLOCK or name in NOT_MOUNTED)


@pytest.mark.parametrize("name", [*ATTACKS, *MORE])
def test_an_attack_has_its_effect_without(run: Run, plain: Sandbox, repository: Path, name: str) -> None:
    before = state(repository)
    run(plain, (ATTACKS | MORE)[name])
    assert state(repository) != before


@pytest.mark.parametrize("sandbox", ["bubblewrap", "landlock"], indirect=True)
@pytest.mark.parametrize("name", ["hooks/pre-commit", "config", "commondir"])
def test_it_is_put_back_at_once(run: Run, sandbox: Sandbox, guard: GitGuard, repository: Path, name: str) -> None:
    """The command itself sees that what it has written is gone, long before it ends."""
    script = (
        f"cd .git; cp {name} ../was 2>/dev/null; echo '[x]' >> {name};"
        f"for i in $(seq 500); do cmp -s {name} ../was || [ ! -e ../was -a ! -e {name} ] && break; sleep 0.02; done;"
        f"if [ -e ../was ]; then for i in $(seq 500); do cmp -s {name} ../was && break; sleep 0.02; done; fi;"
        f"grep -s x] {name} || echo gone"
    )
    one = guard.begin()
    _, said = run(sandbox, script, access=AccessRules((str(repository),), keep=one.keep, hold=one.hold))
    guard.end(one)
    assert said.splitlines()[-1] == "gone"


def test_overlapping_guards_share_the_first_baseline(open_guard: OpenGuard, repository: Path) -> None:
    before, hook = state(repository), repository / ".git" / "hooks" / "pre-commit"
    first, second = open_guard(), open_guard()
    one = first.begin()
    with first._lock:  # its watch would put it back before the second begins
        hook.write_text("evil")
        time.sleep(0.2)  # until its times tell nothing
        two = second.begin()
        assert second.end(two) == ["'.git/hooks/pre-commit' was added by the command; it has been removed."]
        assert not hook.exists()
    first.end(one)
    assert state(repository) == before


def test_between_commands_the_user_may_change_everything(guard: GitGuard, repository: Path) -> None:
    for number in range(3):
        git(repository, "config", "x.y", str(number))
        (repository / ".git" / "hooks" / f"hook{number}").write_text("mine")
        before = state(repository)
        assert guarded(guard, repository, "true") == []
        assert state(repository) == before


def test_the_user_can_replace_the_whole_repository(guard: GitGuard, repository: Path) -> None:
    guarded(guard, repository, "true")
    subprocess.run("rm -rf .git; git init -q -b other", shell=True, cwd=repository, check=True)
    before = look(repository / ".git")
    assert guarded(guard, repository, "true") == []
    assert look(repository / ".git") == before


KILLED = """
import os, signal, subprocess, sys
from toolroll.host.files.root import Root
from toolroll.host.sandbox.git.guard import GitGuard
from toolroll.host.runtime.state import State
from toolroll.result import ToolError
os.chdir(sys.argv[1])
guard = GitGuard(Root(sys.argv[1]), State(sys.argv[2]))
guard.begin()
with guard._lock:  # else its watch could be faster
    subprocess.run(["sh", "-c", sys.argv[3]])
    os.kill(os.getpid(), signal.SIGKILL)
"""


def kill_while(ws: Path, kept: Path, script: str) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(ws), str(kept), script], check=False)
    assert done.returncode == -9


def test_the_next_kit_puts_back_what_a_killed_one_could_not(repository: Path, tmp_path: Path) -> None:
    before = state(repository)
    kill_while(repository, tmp_path / "state", f"{EVIL}; rm -rf .git/objects/[0-9a-f]*; rm .git/HEAD")
    assert state(repository) != before
    killed = " (toolroll was killed while a command ran.)"
    expected = [
        f"'.git/hooks/pre-commit' was added by the command; it has been removed.{killed}",
        f"The command removed 3 object files of '.git'; what was removed has been put back.{killed}",
        f"'.git/HEAD' was removed by the command; it has been put back.{killed}",
    ]
    with Kit(repository, state_dir=tmp_path / "state") as kit:
        assert kit.recovered == expected
        assert state(repository) == before
        first, second = (kit.call("bash", {"command": "true"}).text for _ in range(2))
    assert first == "\n".join(("(no output)", *expected))
    assert second == "(no output)"
    assert works(repository)
    with Kit(repository, state_dir=tmp_path / "state") as kit:
        assert kit.recovered == []


def test_a_killed_kit_is_no_reason_to_undo_what_came_later(repository: Path, tmp_path: Path) -> None:
    kill_while(repository, tmp_path / "state", "true")
    with Kit(repository, state_dir=tmp_path / "state") as kit:
        assert kit.recovered == []
    git(repository, "config", "x.y", "mine")
    before = state(repository)
    with Kit(repository, state_dir=tmp_path / "state") as kit:
        assert kit.call("bash", {"command": "true"}).text == "(no output)"
    assert state(repository) == before


def test_a_repository_cloned_anew_gets_nothing_of_the_killed_one(repository: Path, tmp_path: Path) -> None:
    with Kit(repository, state_dir=tmp_path / "state") as kit:
        assert kit.call("write", {"path": "b", "content": "kept"}).ok
    kill_while(repository, tmp_path / "state", "true")
    shutil.rmtree(repository)
    repository.mkdir()
    git(repository, "init", "-q", "-b", "main")
    before = state(repository)
    with Kit(repository, state_dir=tmp_path / "state") as kit:
        assert (kit.recovered, kit.journal.entries()) == ([], [])
        assert kit.call("bash", {"command": "true"}).text == "(no output)"
    assert state(repository) == before


def test_a_running_kit_is_none_that_was_killed(open_guard: OpenGuard, repository: Path) -> None:
    running, other = open_guard(), open_guard()
    one = running.begin()
    assert other.recover() == []
    assert running.end(one) == []


LOSSES = {
    "objects": "rm -rf .git/objects/*",
    "the folder of objects": "rm -rf .git/objects",
    "a link for the objects": "mv .git/objects o; rm -rf o; ln -s /nowhere .git/objects",
    "refs": "rm -rf .git/refs .git/packed-refs",
    "an empty branch": ": > .git/refs/heads/main",
    "a broken branch": "echo x > .git/refs/heads/main",
    "a removed branch": "rm .git/refs/heads/main",
    "HEAD": "rm .git/HEAD",
    "an empty HEAD": ": > .git/HEAD",
    "the index": "rm .git/index",
    "everything": "rm -rf .git",
    "everything, and another one": "rm -rf .git; git init -q; touch .git/x",
}


@pytest.mark.parametrize("packed", [False, True], ids=["loose", "packed"])
@pytest.mark.parametrize("name", LOSSES)
def test_what_is_lost_is_put_back_and_named(guard: GitGuard, repository: Path, name: str, packed: bool) -> None:
    if packed:
        git(repository, "gc", "-q")
    if packed and name == "a removed branch":
        return  # it is in packed-refs
    assert guarded(guard, repository, "true") == []
    said = guarded(guard, repository, LOSSES[name])
    assert said
    assert works(repository)
    assert guarded(guard, repository, "true") == []


@pytest.mark.parametrize("name", ["objects", "refs", "everything"])
def test_it_would_be_lost_without(repository: Path, name: str) -> None:
    subprocess.run(["sh", "-c", LOSSES[name]], cwd=repository, check=False)
    assert not works(repository)


WORK = """set -e
git init -q 2>/dev/null || true
echo 2 > a; git add a; git commit -q -m two; git branch topic; echo 3 > a; git stash -q; git stash pop -q
git commit -q -a -m three; git switch -q topic; echo b > b; git add b; git commit -q -m b
git merge -q -m merged main; git switch -q main; git rebase -q topic; git tag v2; git tag -a -m x v3
git reset -q --hard HEAD~1; git cherry-pick v2 >/dev/null 2>&1 || git cherry-pick --skip >/dev/null 2>&1 || true
git mv b c; git commit -q -m moved; git revert --no-edit HEAD >/dev/null; git notes add -m n; git branch -q -d topic || true
git gc -q || true; git repack -q -a -d || true; git worktree add -q tree; git fsck --strict >/dev/null
git log --format='%an <%ae> %cn <%ce>' | sort -u
"""


def kit_in(tier: str, ws: Path, tmp_path: Path, **policy: object) -> Kit:
    from toolroll.host.sandbox.choose import choose_sandbox
    from toolroll.result import ToolError

    try:
        choose_sandbox(tier)
    except ToolError as error:
        pytest.skip(error.message)
    return Kit(ws, state_dir=tmp_path / "state", policy=Policy(sandbox=tier, **policy))  # type: ignore[arg-type]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / ".gitconfig").write_text("[user]\nname = Jürgen Q\nemail = q@example.org\n[x]\ntoken = secret\n")
    monkeypatch.setenv("HOME", str(folder))
    for name in ("XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.mark.parametrize("tier", ["bubblewrap", "landlock"])
@pytest.mark.parametrize("there", [True, False], ids=["repository", "new"])
@pytest.mark.usefixtures("home")
def test_git_works_in_commands(tier: str, there: bool, ws: Path, tmp_path: Path) -> None:
    if there:
        git(ws, "init", "-q", "-b", "main")
    with kit_in(tier, ws, tmp_path) as kit:
        start = "git init -q -b main; " if not there else ""
        first = kit.call(
            "bash", {"command": f"{start}echo 1 > a; git add a; git commit -q -m one; git log --format=%s"}
        )
        done = kit.call("bash", {"command": WORK})
        secret = kit.call("bash", {"command": "cat ~/.gitconfig; git config --get x.token"})
    assert first.text.splitlines()[0] == "one"
    assert done.data["exit_code"] == 0, done.text
    assert "Jürgen Q <q@example.org> Jürgen Q <q@example.org>" in done.text
    assert "put back" not in done.text
    assert "secret" not in secret.text


@pytest.mark.usefixtures("home")
def test_the_repository_s_own_name_comes_first(ws: Path, tmp_path: Path) -> None:
    git(ws, "init", "-q")
    git(ws, "config", "user.email", "work@example.org")
    command = "git commit -q --allow-empty -m x; git log --format='%an <%ae>'; GIT_AUTHOR_NAME=z git commit -q --allow-empty -m y; git log -1 --format=%an"
    with Kit(ws, state_dir=tmp_path / "state") as kit:
        assert kit.call("bash", {"command": command}).text == "Jürgen Q <work@example.org>\nz"


@pytest.mark.parametrize("tier", ["bubblewrap", "landlock"])
def test_a_hook_that_is_there_while_another_command_begins_does_not_stay(
    tier: str, repository: Path, tmp_path: Path
) -> None:
    before = state(repository)
    with kit_in(tier, repository, tmp_path) as kit:
        plant = f"{EVIL}; touch planted; while [ ! -e b ]; do {EVIL}; done; touch ended"
        first = threading.Thread(target=kit.call, args=("bash", {"command": plant}))
        first.start()
        assert until((repository / "planted").exists)
        wait = "touch b; while [ ! -e ended ]; do sleep 0.02; done; sleep 0.2; ls .git/hooks/pre-commit"
        said = kit.call("bash", {"command": wait}).text
        first.join()
    assert "No such file" in said
    assert state(repository) == before


@pytest.mark.parametrize("tier", ["bubblewrap", "landlock"])
def test_a_job_is_guarded_and_its_end_says_so(tier: str, repository: Path, tmp_path: Path) -> None:
    before = state(repository)
    with kit_in(tier, repository, tmp_path) as kit:
        job = kit.call("bash", {"command": "echo x > .git/commondir; echo done; sleep 60", "background": True})
        assert until(lambda: "done" in kit.call("job", {"action": "output", "id": job.data["job"]}).text)
        assert until(lambda: not (repository / ".git" / "commondir").exists())
        kit.call("bash", {"command": "true"})
        killed = kit.call("job", {"action": "kill", "id": job.data["job"]})
    assert "'.git/commondir' was added by the command; it has been removed." in killed.text
    assert state(repository) == before


@pytest.mark.parametrize("tier", ["bubblewrap", "landlock"])
def test_what_plants_a_hook_again_and_again_is_ended(tier: str, repository: Path, tmp_path: Path) -> None:
    before = state(repository)
    with kit_in(tier, repository, tmp_path) as kit:
        result = kit.call("bash", {"command": "while :; do echo x > .git/commondir; done", "timeout": 300})
    assert "because it changed the repository's settings or hooks again and again" in result.text
    assert state(repository) == before


@pytest.mark.parametrize("tier", ["bubblewrap", "landlock"])
def test_submodules_are_guarded_and_can_be_committed_to(tier: str, repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "other")
    git(tmp_path / "other", *WHO, "commit", "-q", "--allow-empty", "-m", "x")
    git(repository, "submodule", "--quiet", "add", str(tmp_path / "other"), "lib/one")
    module = repository / ".git" / "modules" / "lib" / "one"
    before = [look(module / name) for name in ("config", "hooks", "info")]
    attack = (
        "cd .git/modules; echo '[x]' >> lib/one/config; mv lib l2; cp -r l2 lib; echo evil > lib/one/hooks/pre-commit"
    )
    with kit_in(tier, repository, tmp_path) as kit:
        kit.call("bash", {"command": attack})
        after = [look(module / name) for name in ("config", "hooks", "info")]
        done = kit.call(
            "bash", {"command": "cd lib/one && git commit -q --allow-empty -m y && git log -1 --format=%s", "cwd": "."}
        )
    assert after == before
    assert done.text == "y"


def test_object_files_are_copied_where_they_cannot_be_linked(
    guard: GitGuard, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    assert guarded(guard, repository, "true") == []
    assert guarded(guard, repository, "rm -rf .git/objects/*")
    assert works(repository)


def test_a_pack_that_is_overwritten_is_named(guard: GitGuard, repository: Path) -> None:
    git(repository, "gc", "-q")
    assert guarded(guard, repository, "true") == []
    (said,) = guarded(guard, repository, "cd .git/objects/pack; chmod +w *.pack; echo x > $(echo *.pack)")
    assert said.startswith("The command overwrote 'pack-")


def test_thousands_of_objects_cost_little(guard: GitGuard, repository: Path) -> None:
    folder = repository / ".git" / "objects"
    for number in range(4_000):
        name = f"{number * 7919 % 256:02x}"
        (folder / name).mkdir(exist_ok=True)
        (folder / name / f"{number:038x}").touch()
    guarded(guard, repository, "true")
    while not all(objects.whole for objects, _ in guard._vault._kept.values()):
        guard.end(guard.begin())  # there is time for some of them before each command
    began = time.thread_time()
    for _ in range(20):
        guard.end(guard.begin())
    assert (time.thread_time() - began) / 20 < 0.02
    assert guarded(guard, repository, "rm -r .git/objects/0*")[-1].startswith("The command removed ")


def test_nothing_is_started_beside_thousands_of_hooks(guard: GitGuard, repository: Path) -> None:
    hooks = repository / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for number in range(2001):
        (hooks / f"a{number}").touch()
    with pytest.raises(ToolError, match=r"Nothing was started: '\.git/hooks' has more than 2,000 names"):
        guard.begin()
    for number in range(100):
        (hooks / f"a{number}").unlink()
    assert guard.end(guard.begin()) == []


def test_without_a_repository_nothing_is_kept(guard: GitGuard, ws: Path, tmp_path: Path) -> None:
    assert guarded(guard, ws, f"git init -q; {EVIL}") == []
    assert not (tmp_path / "state").exists()


def test_nothing_is_left_of_a_closed_guard(ws: Path, repository: Path, tmp_path: Path) -> None:
    before, threads = descriptors(), set(threading.enumerate())
    root, kept = Root(str(ws)), State(str(tmp_path / "state"))
    guard = GitGuard(root, kept)
    guarded(guard, repository, "true")
    guard.close()
    kept.close()
    root.close()
    assert closed_again(before)
    assert until(lambda: set(threading.enumerate()) <= threads)


def test_the_end_of_the_watch_and_its_close_may_come_in_any_order(tmp_path: Path) -> None:
    root = os.open(tmp_path, os.O_RDONLY)
    before = descriptors()

    def close_it() -> None:
        watch.close()

    watch = GitWatch(root, close_it)
    watch.follow({(): None})
    (tmp_path / "new").touch()
    watch._thread.join(10)  # it closes itself at the first change
    watch.close()
    assert closed_again(before)
    os.close(root)
