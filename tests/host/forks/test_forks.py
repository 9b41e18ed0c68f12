"""Forks of a workspace: what is done in one stays there until it is merged, whole or not at all."""

from __future__ import annotations

import os
import random
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.host.capture.test_capture import RandomCommands, picture
from tests.users import need_another_user
from toolroll import Kit, ToolError
from toolroll.host.forks import overlay
from toolroll.text.files.changes import describe_changes

with closing(overlay.MountTable()) as mounts:
    KINDS = ["copy", *([] if overlay.why_not(f"{tempfile.gettempdir()}/ws", mounts) else ["overlay"])]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Forks are kept in the user's cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "toolroll" / "forks"


def snapshot(folder: Path) -> dict[str, tuple[object, ...]]:
    """Every path with its kind, mode, content and attributes; without the repository."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(folder.rglob("*")):
        name, status = str(path.relative_to(folder)), path.lstat()
        if name.split("/", maxsplit=1)[0] == ".git":
            continue
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[name] = stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode), content
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_fork_is_merged_as_one_entry_that_can_be_undone(
    ws: Path, put: Callable[..., None], kit: Kit, kind: Any
) -> None:
    put({"a.txt": "one\ntwo\n", "sub/b.txt": "b\n", "gone.txt": "x\n"})
    os.symlink("a.txt", ws / "link")
    before = snapshot(ws)
    with kit.fork(kind) as trial:
        assert trial.kind == kind
        trial.call("edit", {"path": "a.txt", "old": "two", "new": "2"})
        done = trial.call("bash", {"command": "rm gone.txt link; mv sub moved; chmod +x a.txt; mkdir empty"})
        assert done.ok, done.text
        assert snapshot(ws) == before
        said = describe_changes(trial.changes())
        assert said == (
            "Changed 6 files: a.txt (+1 -1), empty (new), gone.txt (deleted), link (deleted), moved/b.txt (new), "
            "sub/b.txt (deleted)."
        )
        assert "-two\n+2\n" in trial.diff()
        wanted = snapshot(Path(trial.workspace))
        assert trial.merge().text == said
        assert trial.changes() == []
    assert not os.path.exists(trial.workspace)
    assert snapshot(ws) == wanted
    assert [one.tool for one in kit.journal.entries()] == ["commit"]
    assert kit.undo().ok
    assert snapshot(ws) == before


@pytest.mark.parametrize("kind", KINDS)
def test_a_dropped_fork_leaves_nothing(ws: Path, put: Callable[..., None], kit: Kit, cache: Path, kind: Any) -> None:
    put({"a.txt": "one\n"})
    before = snapshot(ws)
    with kit.fork(kind) as trial:
        trial.call("bash", {"command": "mkdir -p d/e; echo x > d/e/f; chmod 000 d; rm a.txt"})
    assert snapshot(ws) == before
    assert [one.name for one in cache.glob("*/*")] == ["lock"]
    with pytest.raises(ToolError, match=r"There is no fork 1\. Open forks: none"):
        trial.merge()


@pytest.mark.parametrize("kind", KINDS)
def test_a_merge_is_refused_where_the_base_changed(ws: Path, put: Callable[..., None], kit: Kit, kind: Any) -> None:
    put({"a.txt": "one\n", "b.txt": "b\n", "c.txt": "c\n", "same.txt": "s\n"})
    with kit.fork(kind) as trial:
        trial.call("bash", {"command": "echo fork > a.txt; echo B > b.txt; echo both > same.txt; echo C >> c.txt"})
        trial.call("write", {"path": "new.txt", "content": "fork\n"})
        put({"a.txt": "base\n", "same.txt": "both\n", "new.txt": "base\n", "other.txt": "only here\n"})
        (ws / "c.txt").unlink()
        before = snapshot(ws)
        with pytest.raises(ToolError) as refused:
            trial.merge()
        assert refused.value.details == {"paths": ["a.txt", "c.txt", "new.txt"]}
        assert "a.txt (- workspace, + fork)\n@@ -1,1 +1,1 @@\n-base\n+fork" in refused.value.message
        assert snapshot(ws) == before
        assert trial.merge("b.txt").text == "Changed 1 file: b.txt (+1 -1)."
        trial.call("bash", {"command": "echo again > b.txt"})
        assert trial.merge("b.txt").text == "Changed 1 file: b.txt (+1 -1)."
    assert (ws / "b.txt").read_text() == "again\n"


def test_a_base_file_that_was_written_again_with_the_same_bytes_is_no_conflict(
    ws: Path, put: Callable[..., None], kit: Kit
) -> None:
    put({"a.txt": "one\n"})
    with kit.fork("copy") as trial:
        put({"a.txt": "one\n"})
        trial.call("bash", {"command": "echo two > a.txt"})
        trial.merge()
    assert (ws / "a.txt").read_text() == "two\n"


class RandomChanges(RandomCommands):
    """Without hard links, which an overlay splits, and with attributes and modes of folders."""

    def hard_link(self) -> None:
        folder = self.rng.choice(self.paths(folders=True))
        os.setxattr(folder, "user.note", self.rng.randbytes(5))


class UserChanges(RandomChanges):
    """Without renames of folders, which an ordinary user's overlay refuses as if they led to another file system."""

    def rename(self) -> None:
        os.rename(self.rng.choice(self.paths()), self.fresh())

    def remove_folder(self) -> None:  # whole: how much goes before an error depends on the order of a listing
        folder = self.rng.choice(self.paths(folders=True))
        for path in (folder, *(one for one in self.paths(folders=True) if one.is_relative_to(folder))):
            path.chmod(0o700)
        shutil.rmtree(folder)


def check_random_changes(folder: Path, kind: Any, seed: int, changes: type[RandomChanges] = RandomChanges) -> None:
    """Do the same to a tree and to its fork: it stays as it was until the merge, and is then the same as the other."""
    ws = folder / "ws"
    ws.mkdir(parents=True)
    changes(ws, random.Random(seed)).run(20)
    before = picture(ws)
    with Kit(ws, state_dir=folder / "state") as kit:
        for part in range(2):
            twin = folder / f"twin{part}"
            subprocess.run(["cp", "-a", ws, twin], check=True)
            changes(twin, random.Random(-seed - part)).run(12)
            with kit.fork(kind) as trial:
                assert trial.kind == kind
                changes(Path(trial.workspace), random.Random(-seed - part)).run(12)
                assert picture(Path(trial.workspace)) == picture(twin), f"seed {seed}"
                if part:
                    assert picture(ws) == before, f"seed {seed}"
                    trial.merge()
            assert picture(ws) == (picture(twin) if part else before), f"seed {seed}"
        if kit.journal.entries():
            assert (undone := kit.undo()).ok, undone.text
        assert picture(ws) == before, f"seed {seed}"


@pytest.mark.parametrize("kind", KINDS)
def test_random_changes(tmp_path: Path, kind: Any) -> None:
    for seed in range(6):
        check_random_changes(tmp_path / str(seed), kind, seed)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", KINDS)
def test_many_random_changes(tmp_path: Path, kind: Any) -> None:
    for seed in range(1000, 1200):
        check_random_changes(tmp_path / str(seed), kind, seed)


_AS_USER = """
import ctypes, os, sys
from pathlib import Path
from tests.host.forks.test_forks import UserChanges, check_random_changes
from toolroll import allow_overlays
folder, count = Path(sys.argv[1]), int(sys.argv[2])
check_random_changes(folder / "first", "copy", 0)  # imports everything while this user may read it
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(1000)
    os.setuid(1000)
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache of the user")
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # the process is its user's own again
if why := allow_overlays():
    sys.exit(f"skip: {why}")
(folder / "mode").write_text("x")
(folder / "mode").chmod(0)
try:
    (folder / "mode").read_text()
    sys.exit("it reads what the user may not")
except PermissionError:
    pass
for seed in range(count):
    check_random_changes(folder / str(seed), "overlay", seed, UserChanges)
"""


def run_as_user(count: int) -> None:
    if os.geteuid() == 0:
        need_another_user()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        env = {**os.environ, "XDG_CACHE_HOME": f"{folder}/cache", "XDG_CONFIG_HOME": folder}
        words = [sys.executable, "-c", _AS_USER, folder, str(count)]
        done = subprocess.run(
            words, env=env, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[3]
        )
    if done.stderr.startswith("skip: "):
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr


def test_random_changes_in_overlays_of_an_ordinary_user() -> None:
    run_as_user(5)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_many_random_changes_in_overlays_of_an_ordinary_user() -> None:
    run_as_user(200)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_the_base_deleted_and_the_fork_replaced_is_a_conflict(
    ws: Path, put: Callable[..., None], kit: Kit, kind: Any
) -> None:
    put({"a.txt": "one\n", "b.txt": "b\n"})
    with kit.fork(kind) as trial:
        trial.call("bash", {"command": "echo two > draft; mv draft a.txt; echo new > new.txt"})
        (ws / "a.txt").unlink()
        put({"other.txt": "base\n"})
        with pytest.raises(ToolError) as refused:
            trial.merge()
        assert refused.value.details == {"paths": ["a.txt"]}
        trial.merge("new.txt")
    assert snapshot(ws).keys() == {"b.txt", "new.txt", "other.txt"}


@pytest.mark.parametrize("kind", KINDS)
def test_writes_within_one_tick_of_the_clock_are_told_apart(
    ws: Path, put: Callable[..., None], kit: Kit, kind: Any
) -> None:
    for number in range(8):
        put({"a.txt": f"{number}\n"})
        with kit.fork(kind) as trial:  # at once after the write: no conflict
            Path(trial.workspace, "a.txt").write_text("fork\n")
            if number % 2:
                put({"a.txt": "base\n"})  # at once after the fork's: a conflict
            assert [row.path for row in trial.changes()] == ["a.txt"]
            if number % 2:
                with pytest.raises(ToolError, match="changed in the workspace since"):
                    trial.merge()
            else:
                trial.merge()


def test_what_cannot_be_forked_is_said(
    ws: Path, put: Callable[..., None], open_kit: Callable[..., Kit], tmp_path: Path
) -> None:
    put({"a.txt": "x" * 5000})
    with pytest.raises(ToolError, match="too large to be copied: it has more than 1,000 bytes"):
        open_kit(limits={"fork_bytes": 1000}).fork("copy")
    with pytest.raises(ToolError, match="cannot be forked by reflink: the file system"):
        open_kit().fork("reflink")
    (tmp_path / "more").mkdir()
    with pytest.raises(ToolError, match="A workspace with further roots cannot be forked"):
        open_kit(roots=[tmp_path / "more"]).fork()
    trial = open_kit().fork()
    shutil.move(ws, tmp_path / "elsewhere")
    with pytest.raises(ToolError, match="was removed or moved: there is nothing to merge into"):
        trial.merge()
    trial.drop()


def test_forks_of_killed_processes_are_removed(kit: Kit, cache: Path) -> None:
    with kit.fork("copy"):
        left = cache / "forks-left"
        (left / "1" / "files" / "ws").mkdir(parents=True)
        (left / "lock").touch()
        with Kit(kit.workspace, state_dir=cache.parent / "other") as other, other.fork("copy"):
            assert len(list(cache.iterdir())) == 2
            assert not left.exists()
    kit.close()
    assert not cache.exists()
