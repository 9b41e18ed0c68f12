"""Listing, deleting, moving and copying; through a kit all of it can be undone."""

from __future__ import annotations

import errno
import os
import stat

import pytest

from tests.values import assert_values
from toolroll import ToolError
from toolroll.host.files import tree as module
from toolroll.host.runtime.cancellation import CancelToken


@pytest.fixture
def tree(ctx, put, ws):
    put({"a.sh": "A\n", "d/x": "X", "d/e/y": "YY"})
    (ws / "a.sh").chmod(0o750)
    (ws / "d/link").symlink_to("x")
    return ctx.tree


def names(ws):
    return sorted(str(path.relative_to(ws)) for path in ws.rglob("*"))


ALL = ["a.sh", "d", "d/e", "d/e/y", "d/link", "d/x"]


def test_a_folder_down_to_some_depth(tree, ws):
    real, items = tree.folder(".", 1, CancelToken())
    assert (real, [(one.path, one.kind) for one in items]) == ("", [("a.sh", "file"), ("d", "directory")])
    real, items = tree.folder("./d", 2, CancelToken())
    assert (real, [one.path for one in items]) == ("d", ["d/e", "d/e/y", "d/link", "d/x"])
    assert [one.path for one in tree.folder("d", 1, CancelToken())[1]] == ["d/e", "d/link", "d/x"]
    assert [(one.name, one.kind, one.target) for one in items[2:]] == [("link", "link", "x"), ("x", "file", None)]
    with pytest.raises(ToolError, match="there is no 'none'"):
        tree.folder("none", 1, CancelToken())
    token = CancelToken()
    token.cancel()
    with pytest.raises(ToolError, match=r"(?i)cancel"):
        tree.folder(".", 1, token)


def test_a_folder_of_too_many_entries_is_cut(tree, monkeypatch):
    monkeypatch.setattr(module, "_LISTED", 3)
    assert [one.path for one in tree.folder(".", 5, CancelToken())[1]] == ["a.sh", "d", "d/e"]


@pytest.mark.usefixtures("file_modes")
def test_a_folder_that_cannot_be_entered(tree, ws):
    (ws / "d/e").chmod(0)
    closed: list[str] = []
    assert [one.path for one in tree.folder("d", 3, CancelToken(), closed)[1]] == ["d/e", "d/link", "d/x"]
    assert closed == ["d/e"]
    with pytest.raises(PermissionError):
        tree.folder("d", 3, CancelToken())


def test_what_a_path_names(tree, ws):
    item = tree.item("a.sh")
    assert (item.path, item.kind, item.size, stat.S_IMODE(item.mode), item.target) == ("a.sh", "file", 2, 0o750, None)
    assert item.modified == pytest.approx((ws / "a.sh").stat().st_mtime)
    assert (tree.item(".").path, tree.item(".").kind) == (".", "directory")
    assert (tree.item("d/link").kind, tree.item("d/link").target) == ("link", "x")
    os.mkfifo(ws / "pipe")
    assert tree.item("pipe").kind == "other"
    with pytest.raises(ToolError, match="there is no 'd/none'"):
        tree.item("d/none")
    with pytest.raises(ToolError, match="there is no 'none/x'"):
        tree.item("none/x")


def test_delete(tree, ctx, ws):
    ctx.files.read("d/x")
    assert tree.delete("d/link", recursive=False) == 1
    with pytest.raises(ToolError, match=r"'d' is not empty\. Set `recursive`"):
        tree.delete("d", recursive=False)
    assert names(ws) == ["a.sh", "d", "d/e", "d/e/y", "d/x"]
    assert ctx.files.records.get("d/x").version is not None
    assert tree.delete("d", recursive=True) == 4
    assert ctx.files.records.get("d/x").version is None
    (ws / "empty").mkdir()
    assert tree.delete("empty", recursive=False) == 1
    assert tree.delete("a.sh", recursive=False) == 1
    assert names(ws) == []


def test_a_folder_that_holds_something_protected_stays(tree, ws, put):
    put({"d/.git/config": ""})
    for change in (lambda: tree.delete("d", recursive=True), lambda: tree.move("d", "f", overwrite=False)):
        with pytest.raises(ToolError, match="protected"):
            change()
    assert (ws / "d/.git/config").exists()


def test_move(tree, ctx, ws):
    ctx.files.read("a.sh")
    assert tree.move("a.sh", "d", overwrite=False) == ("a.sh", "d/a.sh")
    assert ctx.files.records.get("a.sh").version is None
    assert tree.move("d", "f/", overwrite=False) == ("d", "f/d")
    assert tree.move("f/d/link", "link", overwrite=False) == ("f/d/link", "link")
    assert (names(ws), os.readlink(ws / "link")) == (["f", "f/d", "f/d/a.sh", "f/d/e", "f/d/e/y", "f/d/x", "link"], "x")
    with pytest.raises(ToolError, match=r"'f/d/x' exists\. Set `overwrite`"):
        tree.move("f/d/a.sh", "f/d/x", overwrite=False)
    assert tree.move("f/d/a.sh", "f/d/x", overwrite=True) == ("f/d/a.sh", "f/d/x")
    assert ((ws / "f/d/x").read_text(), (ws / "f/d/a.sh").exists()) == ("A\n", False)


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ("a.sh", "./a.sh", "is the same as the source"),
        ("d", "d/e", "is inside 'd'"),
        ("d", "d/new", "is inside 'd'"),
        ("none", "b", "there is no 'none'"),
        ("a.sh", "spill:x", "is not a place to write to"),
        ("spill:x", "b", "is a kept output"),
    ],
)
def test_what_is_not_moved(tree, ws, source, target, message):
    with pytest.raises(ToolError, match=message):
        tree.move(source, target, overwrite=True)
    assert names(ws) == ALL


def test_two_names_of_one_file(tree, ws):
    os.link(ws / "a.sh", ws / "b")
    tree.move("a.sh", "b", overwrite=True)
    assert ((ws / "b").read_text(), (ws / "a.sh").exists(), (ws / "b").stat().st_nlink) == ("A\n", False, 1)


def test_copy(tree, ctx, ws):
    assert tree.copy("a.sh", "b.sh", False, CancelToken()) == ("b.sh", 1)
    assert ((ws / "b.sh").read_text(), stat.S_IMODE((ws / "b.sh").stat().st_mode)) == ("A\n", 0o750)
    (ws / "d").chmod(0o500)
    assert tree.copy("d", "f", False, CancelToken()) == ("f", 3)
    (ws / "d").chmod(0o700)
    assert (names(ws / "f"), os.readlink(ws / "f/link")) == (["e", "e/y", "link", "x"], "x")
    assert stat.S_IMODE((ws / "f").stat().st_mode) == 0o700
    ctx.files.read("b.sh")
    assert tree.copy("d/x", "b.sh", True, CancelToken()) == ("b.sh", 1)
    assert ((ws / "b.sh").read_text(), ctx.files.records.get("b.sh").version) == ("X", None)
    for target, overwrite, message in (
        ("b.sh", False, "exists"),
        ("d/link", True, "is a link"),
        ("d/g", False, "is inside"),
    ):
        with pytest.raises(ToolError, match=message):
            tree.copy("d" if "inside" in message else "a.sh", target, overwrite, CancelToken())
    (ws / "g").mkdir()
    assert tree.copy("d/e", "g", False, CancelToken()) == ("g/e", 1)
    with pytest.raises(ToolError, match="'g' exists"):
        tree.copy("d/e", "g", True, CancelToken())


def test_a_copy_of_too_many_entries_is_refused(tree, monkeypatch):
    monkeypatch.setattr(module, "_COPIED", 3)
    assert tree.copy("d", "f", False, CancelToken()) == ("f", 3)
    monkeypatch.setattr(module, "_COPIED", 2)
    with pytest.raises(ToolError, match="more than 2 entries"):
        tree.copy("d", "g", False, CancelToken())
    token = CancelToken()
    token.cancel()
    with pytest.raises(ToolError, match=r"(?i)cancel"):
        tree.copy("a.sh", "h", False, token)


def test_is_file(tree, ws):
    found = [tree.is_file(path) for path in ("a.sh", "d/link", "d", "none", "a.sh/x")]
    assert found == [True, True, False, False, False]


def test_what_is_there(tree, ws):
    (ws / "empty").mkdir()
    paths = ("a.sh", "d", "empty", "d/link", "none", "a.sh/x")
    assert [tree.exists(path) for path in paths[:-1]] == [True, True, True, True, False]
    with pytest.raises(NotADirectoryError):
        tree.exists("a.sh/x")
    assert [tree.is_empty_folder(path) for path in paths] == [False, False, True, False, False, False]


def test_make_folder(tree, ws):
    assert tree.make_folder("m/n/") == ("m/n", True)
    assert (tree.make_folder("m/n"), tree.make_folder("d")) == (("m/n", False), ("d", False))
    (ws / "dangling").symlink_to("nowhere")
    for taken in ("a.sh", "dangling"):
        with pytest.raises(FileExistsError):
            tree.make_folder(taken)
    for write in (tree.make_folder, lambda path: tree.delete(path, recursive=False)):
        with pytest.raises(ToolError, match=r"not a place to write to|can be read, not changed"):
            write("spill:abc")
    assert names(ws) == sorted([*ALL, "m", "m/n", "dangling"])


def test_further_roots_are_listed_as_folders(open_kit, tmp_path):
    (tmp_path / "more/lib/sub").mkdir(parents=True)
    (tmp_path / "more/lib/sub/x").touch()
    tree = open_kit(roots=[tmp_path / "more/lib"]).context().tree
    found = [[one.path for one in tree.folder(".", depth, CancelToken())[1]] for depth in (1, 2, 3)]
    assert found == [["lib"], ["lib", "lib/sub"], ["lib", "lib/sub", "lib/sub/x"]]
    assert (tree.item("lib").path, tree.item("lib").kind) == ("lib", "directory")


@pytest.mark.parametrize(("refusal", "moved"), [(errno.EPERM, True), (errno.EIO, False)])
def test_a_file_is_renamed_where_it_cannot_be_linked(tree, ws, monkeypatch, refusal, moved):
    def link(*_args, **_options):
        raise OSError(refusal, os.strerror(refusal))

    monkeypatch.setattr(os, "link", link)
    if moved:
        assert tree.move("a.sh", "b.sh", overwrite=False) == ("a.sh", "b.sh")
    else:
        with pytest.raises(OSError, match="Input/output error"):
            tree.move("a.sh", "b.sh", overwrite=False)
    assert ((ws / "a.sh").exists(), (ws / "b.sh").exists()) == (not moved, moved)


def test_a_file_of_one_name_stays_the_same_file_when_its_mode_changes(tree, ws):
    before = (ws / "a.sh").stat().st_ino
    tree.set_executable("a.sh", on=False)
    assert ((ws / "a.sh").stat().st_ino, stat.S_IMODE((ws / "a.sh").stat().st_mode)) == (before, 0o640)


def test_modes(tree, ws):
    def mode(name: str) -> int:
        return stat.S_IMODE((ws / name).stat().st_mode)

    (ws / "a.sh").chmod(0o644)
    tree.set_executable("a.sh", on=True)
    assert mode("a.sh") == 0o755
    tree.set_executable("a.sh", on=False)
    assert mode("a.sh") == 0o644
    os.link(ws / "a.sh", ws / "outside")
    tree.set_mode("a.sh", lambda now: now & 0o600)
    assert (mode("a.sh"), mode("outside"), (ws / "a.sh").read_text()) == (0o600, 0o644, "A\n")
    assert (ws / "outside").stat().st_nlink == 1


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("delete", {"path": "d", "recursive": True}),
        ("delete", {"path": "d/link"}),
        ("move", {"source": "a.sh", "target": "d/x", "overwrite": True}),
        ("move", {"source": "d", "target": "new/d"}),
        ("copy", {"source": "d", "target": "new/d"}),
        ("copy", {"source": "a.sh", "target": "d/x", "overwrite": True}),
    ],
)
def test_every_change_can_be_undone(kit, put, ws, tool, arguments):
    put({"a.sh": "A\n", "d/x": "X", "d/e/y": "YY"})
    (ws / "d/link").symlink_to("x")
    before = {path: (ws / path).read_bytes() for path in ("a.sh", "d/x", "d/e/y")}
    assert kit.call(tool, arguments).ok
    assert names(ws) != ALL or before != {path: (ws / path).read_bytes() for path in before}
    assert kit.call("undo").ok
    assert (names(ws), os.readlink(ws / "d/link")) == (ALL, "x")
    assert before == {path: (ws / path).read_bytes() for path in before}


def test_values_stay_as_they_are():
    assert_values(module)
