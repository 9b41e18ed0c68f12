"""Overlays for root of a user namespace, as in a rootless container; those of others are tested with the forks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from toolroll import Kit

WITHIN = ["unshare", "--user", "--map-root-user", "--mount"]
CODE = """
import os, shutil, sys
from toolroll.host.files import atomic
from toolroll.host.forks import overlay
from toolroll.host.forks.tree_copy import TreeCopy
os.chdir(sys.argv[1])
folder = os.getcwd()
overlay.mount(f"{folder}/ws", f"{folder}/upper", f"{folder}/work", f"{folder}/view")
shutil.rmtree("view/sub")
os.mkdir("view/sub")
os.rename("view/a.txt", "view/sub/b.txt")
print(sorted(one[:2] for one in overlay.list_changed(os.open("upper", os.O_RDONLY))), os.listdir("view/sub"))
overlay.unmount(f"{folder}/view")
print(os.listdir("view"), overlay.has_foreign_owner("ws"), overlay.has_foreign_owner("mixed"))
TreeCopy(1 << 20, False).copy(os.open("mixed", os.O_RDONLY), os.open("copy", os.O_RDONLY))
atomic._keep(os.open("copy/a.txt", os.O_RDWR), os.open("mixed/a.txt", os.O_RDONLY))  # as an edit does
"""


@pytest.mark.skipif(
    not shutil.which("unshare") or subprocess.run([*WITHIN, "true"], capture_output=True, check=False).returncode != 0,
    reason="no user namespaces here",
)
def test_root_of_a_namespace_has_overlays_too(tmp_path: Path) -> None:
    """It cannot write the attributes that overlays of root use, and does not know all owners of files."""
    for name in ("ws/sub", "mixed", "upper", "work", "view", "copy"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("ws/a.txt", "ws/sub/old.txt", "mixed/a.txt"):
        (tmp_path / name).write_text("a\n")
    (tmp_path / "mixed" / "link").symlink_to("a.txt")
    if is_root := os.geteuid() == 0:
        for name in ("a.txt", "link"):
            os.chown(tmp_path / "mixed" / name, 1234, 1234, follow_symlinks=False)
    words = [*WITHIN, sys.executable, "-c", CODE, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "[('a.txt', True), ('sub', True), ('sub/b.txt', True)] ['b.txt']",
        f"[] False {is_root}",
    ]
    assert sorted(one.name for one in (tmp_path / "copy").iterdir()) == ["a.txt", "link"]
    assert (tmp_path / "ws" / "sub" / "old.txt").exists()


FORKING = """
import sys
from toolroll import Kit
from toolroll.host.forks.overlay import separate_mounts
separate_mounts()
fork = Kit(sys.argv[1]).fork()
assert fork.call("write", {"path": "b.txt", "content": "b"}).ok
print(fork.kind, fork.workspace, f" {fork.workspace} " in open("/proc/self/mountinfo").read(), flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts without a namespace of its own")
def test_separate_mounts_end_with_their_process(ws: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    words = [sys.executable, "-c", FORKING, str(ws)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        kind, path, is_mounted = child.stdout.readline().split()
        here = Path("/proc/self/mountinfo").read_text()
        child.kill()
    if kind != "overlay":
        pytest.skip("no overlays here")
    assert (is_mounted, path in here, os.listdir(path)) == ("True", False, [])
    with Kit(ws) as kit, kit.fork():  # removes what the killed one has left
        assert not os.path.exists(path)
