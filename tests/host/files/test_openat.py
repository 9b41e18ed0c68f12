"""Handles of places, and errors of what cannot be opened. How paths are opened is tested through `Root`."""

from __future__ import annotations

import ctypes
import errno
import os
import stat

import pytest

from tests.values import assert_values
from tests.waiting import closed_again, descriptors
from toolroll import ToolError
from toolroll.host.files import openat
from toolroll.host.files.openat import STEP, FolderSync, WriteTurn, link_target, not_a_file, openat2, os_error, walk
from toolroll.host.files.root import Root
from toolroll.result import ErrorCode


@pytest.fixture
def root(ws):
    with Root(str(ws)) as opened:
        yield opened


def opened(opener, folder: int, path: str, flags: int = os.O_RDONLY) -> str:
    """The content of a file, the names in a folder, or the errno."""
    try:
        fd = opener(folder, path, flags | os.O_CLOEXEC)
    except OSError as error:
        return errno.errorcode[error.errno]
    try:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            return ",".join(sorted(os.listdir(f"/proc/self/fd/{fd}")))
        return "" if flags & openat.PATH else os.read(fd, 100).decode()
    finally:
        os.close(fd)


@pytest.mark.parametrize(
    "path",
    [
        "a", "d", "d/", "d/.", "d/b", "./d//b", "d/../a", "..", "../a", "d/../..", "a/", "a/b", "none", "d/none/x", "link", "link/",
        "to_d", "to_d/", "to_d/b", "to_d/../a", "up", "up/a", "absolute", "loop", "d/up_a", "chain39", "chain40", "chain41", ".", "./", "x" * 300,
        "d/" * 2047 + "b", "./" * 2046 + "a", "./" * 2047 + "a", ".//" + "./" * 2046 + "a",
    ],
)  # fmt: skip
@pytest.mark.parametrize("flags", [os.O_RDONLY, STEP, os.O_RDONLY | os.O_NOFOLLOW, openat.PATH | os.O_NOFOLLOW])
def test_the_walk_by_hand_does_what_the_kernel_does(ws, path, flags):
    (ws / "a").write_text("A")
    (ws / "d").mkdir()
    (ws / "d/b").write_text("B")
    links = {"link": "a", "to_d": "d", "up": "..", "absolute": str(ws / "a"), "loop": "loop", "d/up_a": "../a"}
    links |= {"chain0": "a"} | {f"chain{number}": f"chain{number - 1}" for number in range(1, 42)}
    for name, target in links.items():
        (ws / name).symlink_to(target)
    folder = os.open(ws, os.O_RDONLY | os.O_DIRECTORY)
    try:
        kernel = openat2(folder)
        if kernel is None:
            pytest.skip("this kernel has no openat2")
        before = descriptors()
        assert opened(walk, folder, path, flags) == opened(kernel, folder, path, flags)
        assert closed_again(before)
    finally:
        os.close(folder)


def test_the_kernel_is_used_where_it_can_and_enters_what_is_mounted():
    how = (ctypes.c_uint64 * 3)(openat.PATH, 0, 0)
    fd = ctypes.CDLL(None).syscall(437, -100, b"/", ctypes.byref(how), 24)
    if fd < 0:
        pytest.skip("this kernel has no openat2")
    kernel = openat2(fd)
    assert kernel is not None
    for flags in (os.O_RDONLY, openat.STRAIGHT):
        assert opened(kernel, fd, "proc/sys/kernel/ostype", flags) == "Linux\n"
    os.close(fd)


def test_where_links_are_refused(ws, monkeypatch):
    (ws / "a").write_text("A")
    (ws / "link").symlink_to("a")
    folder = os.open(ws, os.O_RDONLY | os.O_DIRECTORY)
    kernel = openat2(folder)
    if kernel is None:
        pytest.skip("this kernel has no openat2")
    assert opened(kernel, folder, "a", openat.STRAIGHT) == "A"
    assert opened(kernel, folder, "link", openat.STRAIGHT) == "ELOOP"
    monkeypatch.setattr(openat, "walk", None)  # an answer of the kernel is the last word
    assert opened(kernel, folder, "none") == "ENOENT"
    os.close(folder)


def test_where_a_link_leads(ws):
    (ws / "a").touch()
    (ws / "link").symlink_to("a")
    folder = os.open(ws, os.O_RDONLY | os.O_DIRECTORY)
    assert [link_target(folder, name) for name in ("link", "a", "none")] == ["a", None, None]
    with pytest.raises(NotADirectoryError):
        link_target(folder, "a/b")
    os.close(folder)


def test_errors(ws):
    assert type(os_error(errno.ENOENT, "x")) is FileNotFoundError
    assert str(os_error(errno.EACCES, "x")) == "[Errno 13] Permission denied: 'x'"
    assert type(not_a_file("x", stat.S_IFDIR)) is IsADirectoryError
    kinds = [str(not_a_file("x", mode)) for mode in (stat.S_IFIFO, stat.S_IFSOCK, stat.S_IFCHR, stat.S_IFBLK, 0)]
    assert [text.split(",")[0] for text in kinds] == [
        f"'x' is a {kind}" for kind in ("FIFO", "socket", "device", "device", "special file")
    ]
    assert isinstance(not_a_file("x", stat.S_IFIFO), ToolError)


def test_a_handle_makes_missing_folders_and_takes_them_back(root, ws):
    before = descriptors()
    with root.place("a/b/c", create=True) as place:
        assert (place.path, place.parts, place.name, place.mode()) == ("a/b/c", ("a", "b", "c"), "c", 0)
        assert (ws / "a/b").is_dir()
        assert len(place.folders()) == 3
    assert (ws / "a/b").is_dir()
    with pytest.raises(RuntimeError), root.place("a/x/y/z", create=True):
        raise RuntimeError
    assert os.listdir(ws / "a") == ["b"]
    assert closed_again(before)
    place = root.place("a/x/y/z", create=True)
    (ws / "a/x/other").touch()
    place.abandon()
    assert os.listdir(ws / "a/x") == ["other"]  # a folder that others use stays
    with pytest.raises(FileNotFoundError):
        root.place("none/x")


def test_a_folder_that_another_made_meanwhile_is_used_and_stays(root, ws):
    place = root.place("a/b/c", create=True, check=lambda _: (ws / "a").mkdir())
    assert (ws / "a/b").is_dir()
    place.abandon()
    assert (os.listdir(ws), os.listdir(ws / "a")) == (["a"], [])


def test_a_path_with_a_slash_at_its_end_is_no_file(root, ws):
    (ws / "a").touch()
    with pytest.raises(NotADirectoryError):
        root.place("a/")
    with root.place("new/") as place:
        assert place.is_dir


def test_a_check_sees_the_path_before_folders_are_made(root, ws):
    seen = []

    def refuse(parts):
        seen.append(parts)
        raise ToolError(ErrorCode.CONFLICT, "no")

    with pytest.raises(ToolError):
        root.place("a/b", create=True, check=refuse)
    assert (seen, os.listdir(ws)) == ([("a", "b")], [])


def test_the_mode_and_the_place_beside(root, ws):
    (ws / "d").mkdir()
    (ws / "d/x").write_text("X")
    (ws / "d/x").chmod(0o640)
    (ws / "d/link").symlink_to("x")
    with root.place("d/y") as place, place.beside("x") as other, place.beside("link") as link:
        assert (other.path, stat.S_IMODE(other.mode()), other.link()) == ("d/x", 0o640, None)
        assert (link.link(), stat.S_ISLNK(link.mode())) == ("x", True)
        assert (other.shown, other.is_dir) == ("d/x", False)
        other.sync()


def test_each_folder_is_synced_once_and_closed(root, ws, monkeypatch):
    synced: list[str] = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (synced.append(os.readlink(f"/proc/self/fd/{fd}")), real(fd))[1])
    (ws / "d").mkdir()
    before = descriptors()
    with root.place("a") as one, root.place("b") as two, root.place("d/c") as three:
        with FolderSync() as folders:
            for place in (one, two, three):
                folders.add(place)
            assert synced == []
        assert sorted(synced) == [str(ws), str(ws / "d")]
        synced.clear()
        failing = FolderSync()
        failing.add(one)
        failing.__exit__(RuntimeError)
        assert synced == []
        monkeypatch.setattr(openat, "_MOST_OPEN", 2)
        with FolderSync() as folders:
            folders.add(one)
            assert synced == []
            folders.add(three)
            assert len(synced) == 2
    assert closed_again(before)


def test_values_stay_as_they_are():
    assert_values(openat, "PathHandle")


def test_where_the_kernel_cannot_settle_a_path_it_is_walked_by_hand(ws, monkeypatch):
    (ws / "d").mkdir()
    (ws / "d/b").write_text("B")
    folder = os.open(ws, os.O_RDONLY | os.O_DIRECTORY)
    kernel = openat2(folder)
    if kernel is None:
        os.close(folder)
        pytest.skip("this kernel has no openat2")
    monkeypatch.setattr(openat, "_TRIES", 0)
    assert opened(kernel, folder, "d/../d/b") == "B"
    with pytest.raises(OSError, match="symbolic links") as caught:
        kernel(folder, "d/b", os.O_RDONLY | openat.STRAIGHT)
    assert caught.value.errno == errno.ELOOP
    os.close(folder)


def test_one_call_at_a_time_has_the_turn(root, ws, monkeypatch):
    assert openat._PATIENCE_S >= 5
    monkeypatch.setattr(openat, "_PATIENCE_S", 0.05)
    with WriteTurn(root) as turn:
        turn.take()
        turn.take()
        with WriteTurn(root, lambda: "Another call") as late, pytest.raises(ToolError, match="Another call has been"):
            late.take()
        with WriteTurn(root) as free:  # a program of somebody else has locked the folder: nobody waits for its end
            free.take()
    with WriteTurn(root, lambda: "Another call") as turn:
        turn.take()
    assert os.listdir(ws) == []


def test_without_locks_nobody_waits(root, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(openat.fcntl, "flock", refuse)
    with WriteTurn(root) as turn:
        turn.take()


def test_what_is_no_folder_on_the_way_is_told_by_the_path_that_was_given(root, ws):
    before = descriptors()
    with root.place("b") as place:
        assert place.link() is None
    (ws / "file").touch()
    with pytest.raises(OSError, match="Not a directory") as caught:
        root.place("file/x", create=True)
    assert caught.value.filename == "file/x"
    assert closed_again(before)
