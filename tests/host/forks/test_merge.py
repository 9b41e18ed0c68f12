"""A merge is whole or does not happen: after kills, on a full disk, and where the file system can do little."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from toolroll import Kit, ToolError

_ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def run_script(script: str, *words: object, before: tuple[str, ...] = ()) -> None:
    argv = [*before, sys.executable, "-c", script, *map(str, words)]
    done = subprocess.run(argv, cwd=_ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


# Each part runs in a process of its own, forked from one that has imported everything and has no threads.
_KILLS = """
import json, os, random, signal, sys, time
from pathlib import Path
from tests.host.forks.test_forks import RandomChanges, picture
from tests.host.forks.test_repository import COMMANDS, git
import toolroll.tools.shell.commit
from toolroll import Kit

def describe(ws):
    found = {path: repr(state) for path, state in picture(ws).items()}
    wanted = ("for-each-ref", "stash list", "ls-files --stage", "symbolic-ref HEAD")
    found |= {f"git {words}": git(ws, *words.split()) for words in wanted}
    return found | {f"lock {path}": "" for path in ws.glob(".git/**/*.lock")}

def merge(ws, state, seed, done):
    os.environ["GIT_AUTHOR_DATE"] = os.environ["GIT_COMMITTER_DATE"] = "2024-01-01T00:00:00Z"
    with Kit(ws, state_dir=state) as kit:
        trial = kit.fork(random.Random(seed).choice(sys.argv[3].split(",")))
        RandomChanges(Path(trial.workspace), random.Random(seed)).run(15)
        git(Path(trial.workspace), "add", "-A")
        git(Path(trial.workspace), "commit", "-qm", "all", "--allow-empty")
        git(Path(trial.workspace), "tag", "new")
        Path(state + ".after").write_text(json.dumps(describe(Path(trial.workspace))))
        os.write(done, b"x")
        trial.merge()
        os.write(done, b"y")
        time.sleep(60)

def check(ws, state, before):
    with Kit(ws, state_dir=state) as kit:
        assert kit.recovered == [], kit.recovered
        now, after = describe(ws), json.loads(Path(state + ".after").read_text())
        wrong = [path for path in now | before | after if now.get(path) not in (before.get(path), after.get(path))]
        assert now in (before, after), (wrong, {one: now.get(one) == after.get(one) for one in before | after})
        assert bool(kit.journal.entries()) == (now != before)
        kit.fork().drop()
    git(ws, "fsck", "--no-dangling")
    print("after" if now == after else "before")

def run(work, *args):
    pid = os.fork()
    if pid == 0:
        try:
            work(*args)
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
        sys.stdout.flush()
        os._exit(0)
    return pid

folder, count = Path(sys.argv[1]), int(sys.argv[2])
rng, longest = random.Random(7), 0.5
for number in range(count):
    ws, state = folder / f"ws{number}", str(folder / f"state{number}")
    ws.mkdir()
    for words in ("init -q -b main", "config user.name a", "config user.email a@b"):
        git(ws, *words.split())
    RandomChanges(ws, random.Random(number)).run(20)
    git(ws, "add", "-A")
    git(ws, "commit", "-qm", "first", "--allow-empty")
    before = describe(ws)
    heard, done = os.pipe()
    pid = run(merge, ws, state, number, done)
    os.close(done)
    assert os.read(heard, 1) == b"x"
    time.sleep(rng.random() * longest)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(heard)
    assert os.waitpid(run(check, ws, state, before), 0)[1] == 0, number
"""


def kill_merges(tmp_path: Path, count: int) -> None:
    from tests.host.forks.test_forks import KINDS

    run_script(_KILLS, tmp_path, count, ",".join(KINDS))


def test_a_merge_that_was_killed_is_finished_or_taken_back(tmp_path: Path) -> None:
    kill_merges(tmp_path, 2)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_after_kills_at_many_points_a_merge_is_finished_or_taken_back(tmp_path: Path) -> None:
    kill_merges(tmp_path, 100)


_READ_ONLY = """
import os, signal, sys
from pathlib import Path
from tests.host.forks.test_forks import picture
from tests.users import bound_by_modes
from toolroll import Kit
from toolroll.host.files import atomic

def merge(ws, state, stop):
    kit = Kit(ws, state_dir=state)
    inner = Path(kit.fork("copy").workspace, "inner")
    inner.chmod(0o755)
    for name in "ab":
        (inner / name).write_text("two\\n")
    inner.chmod(0o555)
    write, left = atomic.write, [stop]

    def count(place, *args, **options):
        left[0] -= place.path.startswith("inner/")
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        write(place, *args, **options)

    atomic.write = count
    kit.call("commit", {"fork": 1})

for stop in (0, 1):
    ws, state = Path(sys.argv[1], f"ws{stop}"), Path(sys.argv[1], f"state{stop}")
    (ws / "inner").mkdir(parents=True)
    for name in "ab":
        (ws / "inner" / name).write_text("one\\n")
    (ws / "inner").chmod(0o555)
    before = picture(ws)
    with bound_by_modes():
        if not (pid := os.fork()):
            merge(ws, state, stop)
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == signal.SIGKILL
        assert picture(ws) != before
        with Kit(ws, state_dir=state) as kit:
            assert kit.recovered == []
    assert picture(ws) == before
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")
def test_a_kill_leaves_a_read_only_folder_read_only(tmp_path: Path) -> None:
    run_script(_READ_ONLY, tmp_path)


_MOUNTS = """
import os, subprocess, sys
from pathlib import Path
from tests.host.forks.test_forks import picture
from toolroll import Kit, ToolError

def mount(kind, where, *options):
    where.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", kind, *options, kind, where], check=True)
    return where

top = Path(sys.argv[1])
# A file system without overlays on top, reflinks and attributes.
ws = mount("ramfs", top / "plain" / "ws")
os.environ["XDG_CACHE_HOME"] = str(mount("ramfs", top / "plain" / "cache"))
(ws / "a.txt").write_text("one\\n")
with Kit(ws, state_dir=top / "s1") as kit, kit.fork() as trial:
    assert trial.kind == "copy", trial.kind
    Path(trial.workspace, "a.txt").write_text("two\\n")
    trial.merge()
    for kind in ("overlay", "reflink"):
        try:
            kit.fork(kind)
        except ToolError as error:
            assert f"cannot be forked by {kind}: " in error.message, error.message
        else:
            raise AssertionError(kind)
assert (ws / "a.txt").read_text() == "two\\n"
os.environ["XDG_CACHE_HOME"] = str(top / "cache")

# A full disk in the middle of a merge.
ws = mount("tmpfs", top / "small" / "ws", "-o", "size=300k")
for number in range(5):
    (ws / f"{number}.txt").write_text("x" * 5000)
before = picture(ws)
with Kit(ws, state_dir=top / "s2") as kit, kit.fork() as trial:
    for number in range(5):
        Path(trial.workspace, f"{number}.txt").write_text("y" * 5000)
    Path(trial.workspace, "zz").write_bytes(b"z" * 290_000) if trial.kind == "copy" else None
    Path(trial.workspace, "zzz").write_bytes(b"z" * 290_000)
    try:
        trial.merge()
    except ToolError as error:
        assert "No space left on device" in error.message and "\\n" not in error.message, error.message
    else:
        raise AssertionError("it merged")
    assert picture(ws) == before
    assert kit.journal.entries() == []

# A file system mounted inside the workspace.
ws = top / "outer" / "ws"
ws.mkdir(parents=True)
with Kit(ws, state_dir=top / "s3") as kit, kit.fork() as early:
    mount("tmpfs", ws / "inner")
    (ws / "inner" / "a.txt").write_text("one\\n")
    trial = kit.fork()
    assert trial.kind != "overlay"
    Path(trial.workspace, "inner", "a.txt").write_text("two\\n")
    trial.merge()
    try:
        kit.fork("overlay")
    except ToolError as error:
        assert "other file systems are mounted in the workspace" in error.message, error.message
assert (ws / "inner" / "a.txt").read_text() == "two\\n"
"""


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="only root can mount file systems")
def test_poor_full_and_nested_file_systems(tmp_path: Path) -> None:
    run_script(_MOUNTS, tmp_path, before=("unshare", "--mount", "--propagation", "private"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_files_of_other_owners_keep_them(ws: Path, put: Callable[..., None], kit: Kit) -> None:
    put({"a.txt": "one\n"})
    os.chown(ws / "a.txt", 1234, 1235)
    for kind in ("copy", None):
        with kit.fork(kind) as trial:  # type: ignore[arg-type]  # a literal
            path = Path(trial.workspace, "a.txt")
            assert (path.stat().st_uid, path.stat().st_gid) == (1234, 1235)
            path.write_text(f"{kind}\n")
            trial.merge()
        assert ((ws / "a.txt").stat().st_uid, (ws / "a.txt").read_text()) == (1234, f"{kind}\n")


def test_files_that_the_user_may_not_read_are_said(
    ws: Path, put: Callable[..., None], kit: Kit, file_modes: None
) -> None:
    put({"a.txt": "one\n", "b.txt": "b\n"})
    (ws / "a.txt").chmod(0)
    with pytest.raises(ToolError, match=r"The workspace .* cannot be forked: Permission denied at 'a\.txt'\."):
        kit.fork("copy")
    assert kit.call("read", {"path": "b.txt"}).ok
