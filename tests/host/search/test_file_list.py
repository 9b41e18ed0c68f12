import os
import shutil
import time

import pytest

from toolroll.host.search import file_list as module
from toolroll.host.search.file_list import FileLists


class Counting:
    """A search that counts how often it lists."""

    files = None  # so that it is asked each time

    def __init__(self, search):
        self.search = search
        self.times = 0

    def find(self, *given, **options):
        self.times += 1
        return self.search.find(*given, **options)


@pytest.fixture
def search(ctx):
    return Counting(ctx.search)


@pytest.fixture
def folders(ctx, search):
    return FileLists(ctx.files.root, search)


def settle():
    time.sleep(0.03)


TREE = {"a.py": "", "sub/b.py": "", "sub/deep/c.txt": "", ".hidden/x": "", "out/d.o": "", ".gitignore": "out/\n"}


CHANGES = [
    ("a new file", lambda ws: (ws / "sub/n.py").write_text(""), ["a.py", "sub/b.py", "sub/deep/c.txt", "sub/n.py"]),
    ("one in an empty folder", lambda ws: (ws / "empty/n").write_text(""), ["a.py", "empty/n", "sub/b.py", "sub/deep/c.txt"]),
    ("a deleted file", lambda ws: (ws / "sub/b.py").unlink(), ["a.py", "sub/deep/c.txt"]),
    ("a deleted folder", lambda ws: shutil.rmtree(ws / "sub"), ["a.py"]),
    ("a moved folder", lambda ws: (ws / "sub").rename(ws / "zub"), ["a.py", "zub/b.py", "zub/deep/c.txt"]),
    ("another rule", lambda ws: (ws / ".gitignore").write_text("sub/\n"), ["a.py", "out/d.o"]),
    ("a new rule", lambda ws: (ws / "sub/.ignore").write_text("deep\n"), ["a.py", "sub/b.py"]),
    ("no rule", lambda ws: (ws / ".gitignore").unlink(), ["a.py", "out/d.o", "sub/b.py", "sub/deep/c.txt"]),
    ("a file for a link", lambda ws: ((ws / "a.py").unlink(), (ws / "a.py").symlink_to("sub/b.py")), ["sub/b.py", "sub/deep/c.txt"]),
]  # fmt: skip


@pytest.mark.parametrize(("change", "files"), [row[1:] for row in CHANGES], ids=[row[0] for row in CHANGES])
def test_what_comes_and_goes_is_seen(put, folders, ws, change, files):
    put(TREE)
    (ws / "empty").mkdir()
    settle()
    folders.files(".")
    change(ws)
    assert folders.files(".").files == files  # at once
    settle()
    assert folders.files(".").files == files  # and later


def test_a_rule_above_a_folder_holds_in_it(put, folders, ws):
    put(TREE)
    settle()
    assert folders.files("sub").files == ["sub/b.py", "sub/deep/c.txt"]
    (ws / ".gitignore").write_text("*.txt\n")
    assert folders.files("sub").files == ["sub/b.py"]


def test_a_list_that_is_not_whole_is_made_again(put, open_kit):
    put({f"f{number}": "" for number in range(10)})
    ctx = open_kit(limits={"search_rows": 5}).context()
    search = Counting(ctx.search)
    folders = FileLists(ctx.files.root, search)
    listed = [folders.files(".") for _ in range(2)]
    assert [(len(one.files), one.whole) for one in listed] == [(5, False)] * 2
    assert search.times == 2


def test_the_state_of_a_file_shows_every_change(put, folders, ws):
    put({"a": "one"})
    settle()
    (before,) = folders.stamps(["a"])
    assert before is not None
    old = os.stat(ws / "a")
    (ws / "a").write_text("two")
    os.utime(ws / "a", ns=(old.st_atime_ns, old.st_mtime_ns))
    now = os.stat(ws / "a")
    assert (now.st_size, now.st_mtime_ns, now.st_ino) == (old.st_size, old.st_mtime_ns, old.st_ino)  # a naive look
    settle()
    assert folders.stamps(["a"])[0] not in (before, None)


def test_what_has_just_changed_or_is_gone_has_no_state(put, folders):
    put({"a": "one"})
    assert folders.stamps(["a", "gone"]) == [None, None]


def test_a_tree_that_is_watched_comes_with_its_states(put, ctx, ws, monkeypatch):
    folders = FileLists(ctx.files.root, ctx.search)
    put(TREE)
    settle()
    listed = folders.files(".")
    assert listed.stamps is None
    assert ctx.search.files.wait_until_ready(50)
    watched = folders.files(".")
    assert (watched.files, watched.whole) == (listed.files, True)
    assert [watched.stamps[path] for path in listed.files] == folders.stamps(listed.files)
    assert folders.files(".") is watched, "the same while nothing changes"
    monkeypatch.setattr(module, "SETTLED_NS", 600_000_000_000)  # however long the next two lines take
    (ws / "a.py").write_text("changed")
    assert folders.files(".").stamps["a.py"] is None, "its times cannot tell the next change yet"
    monkeypatch.setattr(module, "SETTLED_NS", 20_000_000)
    settle()
    assert [folders.files(".").stamps["a.py"]] == folders.stamps(["a.py"])
    assert folders.files("sub").files == ["sub/b.py", "sub/deep/c.txt"]
