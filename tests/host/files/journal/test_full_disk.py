"""A call that the disk refuses, at whatever step, leaves the tree as it was."""

import errno
import os
import stat
from functools import partial
from pathlib import Path

import pytest

from toolroll import Kit

PATCH = """--- a/p0.txt
+++ b/p0.txt
@@ -1 +1 @@
-old 0
+new 0
diff --git a/p1.txt b/moved/p1.txt
rename from p1.txt
rename to moved/p1.txt
--- a/p2.txt
+++ /dev/null
@@ -1 +0,0 @@
-old 2
--- /dev/null
+++ b/made/new.txt
@@ -0,0 +1 @@
+made
"""
DELETE = "delete", {"path": "d", "recursive": True}
CALLS = {
    "patch": ("patch", {"patch": PATCH}),
    "delete": DELETE,
    "multiedit": ("multiedit", {"pattern": "**/*.txt", "find": "old", "replace": "newer"}),
    "move": ("move", {"source": "p0.txt", "target": "p1.txt", "overwrite": True}),
    "write": ("write", {"path": "n/e/w.txt", "content": "new\n"}),
}


def tree(top):
    found = {}
    for folder, folders, files in os.walk(top):
        for path in (Path(folder, name) for name in [*folders, *files]):
            content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
            found[str(path.relative_to(top))] = (path.lstat().st_mode, content)
    return found


class Disk:
    """Refuses the Nth call that needs room, or all from the Nth on."""

    def __init__(self, monkeypatch, is_full):
        self.left, self.is_full = -1, is_full
        real_open = os.open

        def opened(path, flags, *more, **options):
            if flags & (os.O_CREAT | getattr(os, "O_TMPFILE", 0) & ~os.O_DIRECTORY):
                self.use()
            return real_open(path, flags, *more, **options)

        monkeypatch.setattr(os, "open", opened)
        for name in ("write", "fsync", "link", "mkdir", "symlink"):
            monkeypatch.setattr(os, name, partial(self.asked, getattr(os, name)))

    def asked(self, real, first, *more, **options):
        if not (isinstance(first, int) and stat.S_ISFIFO(os.fstat(first).st_mode)):
            self.use()
        return real(first, *more, **options)

    def use(self):
        if self.left < 0:
            return
        self.left -= 1
        if self.left < 0:
            self.left = 0 if self.is_full else -1
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def top(tmp_path):
    top = tmp_path / "ws"
    (top / "d" / "e").mkdir(parents=True)
    for n in range(3):
        (top / f"p{n}.txt").write_text(f"old {n}\n")
        (top / f"d/e/q{n}.txt").write_text(f"old {n}\n" * 100)
    (top / "d/link").symlink_to("e")
    return top


def refuse_each(kit, disk, run):
    """Run a call with each of its steps refused, until nothing is left to refuse; how often it was."""
    before, refused = tree(kit.workspace), 0
    while True:
        disk.left = refused
        try:
            result = run()
            is_done = result.ok
        except OSError:
            is_done = False
        was_refused, disk.left = disk.left <= 0, -1
        if not was_refused:
            assert is_done, result.text
            return refused
        refused += 1
        if not is_done:
            assert (refused, tree(kit.workspace)) == (refused, before)
            for path in before:  # what was taken back counts as changed
                kit.call("read", {"path": path})
        else:  # it can do without
            assert kit.undo(entry=kit.journal.entries()[-1].number).ok


@pytest.mark.parametrize("is_full", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_the_disk_refuses_changes_nothing(top, tmp_path, monkeypatch, name, is_full):
    with Kit(top, state_dir=tmp_path / "state") as kit:
        kit.call("write", {"path": "first.txt", "content": "loads everything\n"})
        assert refuse_each(kit, Disk(monkeypatch, is_full), partial(kit.call, *CALLS[name])) > 5
    with Kit(top, state_dir=tmp_path / "state") as kit:
        assert kit.recovered == []


@pytest.mark.parametrize("is_full", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_an_undo_that_the_disk_refuses_changes_nothing(top, tmp_path, monkeypatch, name, is_full):
    with Kit(top, state_dir=tmp_path / "state") as kit:
        before = tree(top)
        assert kit.call(*CALLS[name]).ok
        assert refuse_each(kit, Disk(monkeypatch, is_full), kit.undo) > 2
        assert tree(top) == before
