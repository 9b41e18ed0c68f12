"""A write replaces a file as a whole, keeps what belongs to it, and leaves nothing behind when it fails."""

import errno
import os
import resource
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.waiting import closed_again, descriptors
from toolroll.host.files import atomic
from toolroll.host.files.root import Root
from toolroll.result import ErrorCode, ToolError

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
as_user = pytest.mark.usefixtures("file_modes")


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "ws").mkdir()
    return tmp_path / "ws"


@pytest.fixture
def root(workspace):
    with Root(str(workspace)) as root:
        yield root


@pytest.fixture(params=["stage", "no stage", "stage elsewhere", "no nameless files"])
def stage(request, tmp_path, monkeypatch):
    """The private folder, in each of the situations that make writing go another way."""
    if request.param == "no stage":
        yield None
        return
    if request.param == "no nameless files":
        monkeypatch.setattr(atomic, "_TMPFILE", 0)  # as on macOS or NFS
    with tempfile.TemporaryDirectory(dir="/dev/shm" if request.param == "stage elsewhere" else tmp_path) as path:
        if request.param == "stage elsewhere" and os.stat(path).st_dev == os.stat(tmp_path).st_dev:
            pytest.skip("only one file system here")
        fd = os.open(path, os.O_RDONLY)
        yield fd
        assert os.listdir(path) == []
        os.close(fd)


@pytest.fixture(autouse=True)
def no_descriptor_is_left():
    before = descriptors()
    yield
    assert closed_again(before)


def write(root: Root, path: str, data: bytes = b"new", *, stage: int | None = None, **options) -> bool:
    with root.place(path, create=True) as place:
        return atomic.write(place, data, stage=stage, **options)


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


@contextmanager
def umask(value: int):
    before = os.umask(value)
    try:
        yield
    finally:
        os.umask(before)


def acl(*entries: tuple[int, int, int]) -> bytes:
    """An access control list as the kernel keeps it: tag, rights and id of each entry."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


OWNER, USER, GROUP, MASK, OTHER = 1, 2, 4, 16, 32
NO_ID = 0xFFFFFFFF
FOR_ME = acl((OWNER, 6, NO_ID), (USER, 4, os.getuid()), (GROUP, 4, NO_ID), (MASK, 4, NO_ID), (OTHER, 0, NO_ID))


def set_attribute(path: Path, name: str, value: bytes) -> None:
    try:
        os.setxattr(path, name, value)
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP:
            raise
        pytest.skip("no such attributes on this file system")


# New and replaced files


@pytest.mark.parametrize("durable", [True, False])
def test_a_new_file_then_another_content(root, workspace, stage, durable):
    assert write(root, "x/y/a.txt", b"one", stage=stage, durable=durable) is True
    assert write(root, "x/y/a.txt", b"two" * 1_000_000, stage=stage, durable=durable) is False
    assert (workspace / "x/y/a.txt").read_bytes() == b"two" * 1_000_000
    assert write(root, "x/y/a.txt", b"", stage=stage, durable=durable) is False
    assert (workspace / "x/y/a.txt").read_bytes() == b""
    assert names(workspace / "x/y") == ["a.txt"]


def test_create_only_never_replaces(root, workspace, stage):
    assert write(root, "a.txt", b"old", stage=stage, create_only=True) is True
    with pytest.raises(FileExistsError) as caught:
        write(root, "a.txt", stage=stage, create_only=True)
    assert caught.value.filename == "a.txt"
    assert (workspace / "a.txt").read_bytes() == b"old"
    assert names(workspace) == ["a.txt"]


def test_of_many_that_create_at_once_one_wins(root, workspace, stage):
    barrier, won = threading.Barrier(8), []

    def contend(number: int) -> None:
        barrier.wait()
        try:
            write(root, "a.txt", b"%d" % number, stage=stage, create_only=True)
            won.append(b"%d" % number)
        except FileExistsError:
            pass

    threads = [threading.Thread(target=contend, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert won == [(workspace / "a.txt").read_bytes()]


def test_a_name_taken_meanwhile_is_replaced_or_refused(root, workspace, stage):
    def taken() -> None:
        (workspace / "a.txt").write_text("other")

    assert write(root, "a.txt", stage=stage, check=taken) is False
    assert (workspace / "a.txt").read_text() == "new"
    (workspace / "a.txt").unlink()
    with pytest.raises(FileExistsError):
        write(root, "a.txt", stage=stage, check=taken, create_only=True)
    assert (workspace / "a.txt").read_text() == "other"
    assert names(workspace) == ["a.txt"]


# What belongs to a file


@pytest.mark.parametrize("mode", [0o750, 0o600, 0o666, 0o777, 0o644])
def test_a_replaced_file_keeps_its_mode(root, workspace, stage, mode):
    (workspace / "a.txt").write_text("old")
    (workspace / "a.txt").chmod(mode)
    with umask(0o077):
        write(root, "a.txt", stage=stage, mode=0o611)
    assert stat.S_IMODE((workspace / "a.txt").stat().st_mode) == mode


@pytest.mark.parametrize(
    ("mask", "mode", "expected"), [(0o022, None, 0o644), (0o077, None, 0o600), (0o077, 0o755, 0o755)]
)
def test_a_new_file_gets_the_mode_asked_for_or_what_umask_leaves(root, workspace, stage, mask, mode, expected):
    with umask(mask):
        write(root, "a.txt", stage=stage, mode=mode)
    assert stat.S_IMODE((workspace / "a.txt").stat().st_mode) == expected


@as_root
def test_owner_group_and_setgid(root, workspace, stage):
    os.chown(workspace, 0, 4321)
    workspace.chmod(0o2775)
    write(root, "new.txt", stage=stage)
    assert (workspace / "new.txt").stat().st_gid == 4321
    (workspace / "old.txt").write_text("old")
    os.chown(workspace / "old.txt", 1234, 5678)
    (workspace / "old.txt").chmod(0o2640)
    write(root, "old.txt", stage=stage)
    found = (workspace / "old.txt").stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (1234, 5678, 0o2640)


def test_attributes_are_kept(root, workspace, stage):
    (workspace / "a.txt").write_text("old")
    set_attribute(workspace / "a.txt", "user.origin", b"here")
    set_attribute(workspace / "a.txt", "system.posix_acl_access", FOR_ME)
    mode = (workspace / "a.txt").stat().st_mode
    write(root, "a.txt", stage=stage)
    assert os.getxattr(workspace / "a.txt", "user.origin") == b"here"
    assert os.getxattr(workspace / "a.txt", "system.posix_acl_access") == FOR_ME
    assert (workspace / "a.txt").stat().st_mode == mode


def test_only_a_new_file_takes_the_access_list_of_its_folder(root, workspace, stage):
    (workspace / "old.txt").write_text("old")
    (workspace / "old.txt").chmod(0o640)
    set_attribute(workspace, "system.posix_acl_default", FOR_ME)
    write(root, "old.txt", stage=stage)
    write(root, "new.txt", stage=stage)
    assert os.listxattr(workspace / "old.txt") == []
    assert stat.S_IMODE((workspace / "old.txt").stat().st_mode) == 0o640
    assert os.getxattr(workspace / "new.txt", "system.posix_acl_access") == FOR_ME


@pytest.mark.parametrize(
    ("owner", "group", "expected"), [(True, True, 0o4765), (False, True, 0o765), (False, False, 0o745)]
)
def test_the_mode_suits_whom_the_file_could_be_given_to(tmp_path, monkeypatch, owner, group, expected):
    """Root may give files to anyone, so the refusals of the kernel are made here."""

    def fchown(_fd, uid, gid):
        assert (uid, gid) in ((12345, 54321), (-1, 54321))
        if not (owner if uid == 12345 else group):
            raise PermissionError

    monkeypatch.setattr(os, "fchown", fchown)
    (tmp_path / "new").touch()
    fd = os.open(tmp_path / "new", os.O_RDONLY)
    was = os.stat_result((stat.S_IFREG | 0o4765, 1, 1, 1, 12345, 54321, 0, 0, 0, 0))
    assert atomic._own(fd, was) == expected
    os.close(fd)


def test_a_file_system_without_links(root, workspace, monkeypatch):
    """The refusals of the kernel are made here, as of VFAT."""
    monkeypatch.setattr(atomic, "_TMPFILE", 0)
    refusal = errno.EPERM

    def link(*_args, **_options):
        raise OSError(refusal, "no links")

    monkeypatch.setattr(os, "link", link)
    with root.place("a.txt") as place:
        assert atomic.write(place, b"new", stage=None) is True
        assert (workspace / "a.txt").read_bytes() == b"new"
    with root.place("b.txt") as place:
        taken = (workspace / "b.txt").touch
        with pytest.raises(FileExistsError):
            atomic.write(place, b"new", stage=None, create_only=True, check=taken)
    refusal = errno.ENOSPC
    with pytest.raises(OSError, match="No space left"), root.place("c.txt") as place:
        atomic.write(place, b"new", stage=None)
    assert names(workspace) == ["a.txt", "b.txt"]


def test_a_device_that_is_mounted_twice(root, workspace, tmp_path, monkeypatch):
    """The refusals of the kernel are made here: only root could mount a folder."""
    (workspace / "a.txt").write_text("old")
    (tmp_path / "stage").mkdir()
    fd, real = os.open(tmp_path / "stage", os.O_RDONLY), os.rename
    refusal = errno.EXDEV

    def rename(source, target, **folders):
        if folders["src_dir_fd"] == fd:
            raise OSError(refusal, "other device")
        real(source, target, **folders)

    monkeypatch.setattr(os, "rename", rename)
    with root.place("a.txt") as place:
        assert atomic.write(place, b"new", stage=fd) is False
        refusal = errno.EIO
        with pytest.raises(OSError, match="Input/output error"):
            atomic.write(place, b"other", stage=fd)
    assert ((workspace / "a.txt").read_bytes(), names(workspace), names(tmp_path / "stage")) == (b"new", ["a.txt"], [])
    os.close(fd)


def test_the_kernel_can_be_asked_to_begin_to_write(tmp_path):
    begin = atomic._write_out()
    if sys.platform != "linux":
        assert begin is None
        return
    with (tmp_path / "file").open("wb") as file:
        assert begin(file.fileno(), 0, 0, 2) == 0


def test_a_link_stays_a_link(root, workspace, stage):
    (workspace / "sub").mkdir()
    (workspace / "sub/a.txt").write_text("old")
    (workspace / "link").symlink_to("sub/a.txt")
    (workspace / "dangling").symlink_to("sub/b.txt")
    assert write(root, "link", stage=stage) is False
    assert write(root, "dangling", stage=stage) is True
    assert os.readlink(workspace / "link") == "sub/a.txt"
    assert [(workspace / "sub" / name).read_text() for name in ("a.txt", "b.txt")] == ["new", "new"]
    assert names(workspace / "sub") == ["a.txt", "b.txt"]


def test_the_other_name_of_a_file_keeps_the_old_content(root, workspace, stage, tmp_path):
    (tmp_path / "outside.txt").write_text("old")
    os.link(tmp_path / "outside.txt", workspace / "a.txt")
    write(root, "a.txt", stage=stage)
    assert (tmp_path / "outside.txt").read_text() == "old"
    assert (workspace / "a.txt").read_text() == "new"


# What is refused, and what fails


def test_what_is_not_a_file_is_refused(root, workspace, stage, monkeypatch):
    (workspace / "sub").mkdir()
    os.mkfifo(workspace / "pipe")
    monkeypatch.chdir(workspace)  # the name of a socket has at most 107 bytes
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("sock")
        for path in ("sub", "sub/", "sub/../sub", "new/"):
            with pytest.raises(IsADirectoryError):
                write(root, path, stage=stage)
        for path, kind in {"pipe": "FIFO", "sock": "socket"}.items():
            with pytest.raises(ToolError, match=f"'{path}' is a {kind}") as caught:
                write(root, path, stage=stage)
            assert caught.value.code is ErrorCode.UNSUPPORTED
    assert names(workspace) == ["pipe", "sock", "sub"]


def test_many_are_made_ready_and_then_put(root, workspace, stage):
    for name in "abc":
        (workspace / name).write_text("old")
    (workspace / "b").chmod(0o640)
    with ExitStack() as held:
        places = [held.enter_context(root.place("a"))]
        places += [held.enter_context(places[0].beside(name)) for name in "bc"]
        ready = [held.enter_context(atomic.Replacement(one, b"new", stage)) for one in places]
        for one in ready:
            one.begin()
        for one in ready:
            one.settle()
        assert [(workspace / name).read_text() for name in "abc"] == ["old"] * 3
        for one in ready[:2]:
            one.put()
    assert [(workspace / name).read_text() for name in "abc"] == ["new", "new", "old"]
    assert stat.S_IMODE((workspace / "b").stat().st_mode) == 0o640
    assert names(workspace) == ["a", "b", "c"]


def test_a_link_itself_is_not_written_over(root, workspace, stage):
    (workspace / "link").symlink_to("elsewhere")
    with root.place("link", follow=False) as place, pytest.raises(ToolError, match="become a link"):
        atomic.write(place, b"new", stage=stage)
    assert os.readlink(workspace / "link") == "elsewhere"


@as_user
def test_a_read_only_file_or_folder_is_respected(root, workspace, stage):
    (workspace / "sub").mkdir()
    (workspace / "sub/a.txt").write_text("old")
    (workspace / "sub/a.txt").chmod(0o444)
    with pytest.raises(PermissionError) as caught:
        write(root, "sub/a.txt", stage=stage)
    assert caught.value.filename == "sub/a.txt"
    (workspace / "sub").chmod(0o555)
    with pytest.raises(PermissionError) as caught:
        write(root, "sub/b.txt", stage=stage)
    assert caught.value.filename == "sub/b.txt"
    (workspace / "sub").chmod(0o755)
    assert (workspace / "sub/a.txt").read_text() == "old"
    assert names(workspace / "sub") == ["a.txt"]


@as_user
def test_a_folder_that_cannot_be_read_can_be_written(root, workspace, stage):
    (workspace / "box").mkdir()
    (workspace / "box").chmod(0o300)
    assert write(root, "box/a.txt", stage=stage) is True
    assert write(root, "box/a.txt", stage=stage) is False
    (workspace / "box").chmod(0o700)
    assert names(workspace / "box") == ["a.txt"]


@pytest.mark.parametrize("path", ["a.txt", "new.txt", "x/y/new.txt"])
def test_nothing_is_left_when_the_check_fails(root, workspace, stage, path):
    def stale() -> None:
        raise ToolError(ErrorCode.CONFLICT, "changed since it was read")

    (workspace / "a.txt").write_text("old")
    with pytest.raises(ToolError, match="changed since"):
        write(root, path, stage=stage, check=stale)
    assert names(workspace) == ["a.txt"]
    assert (workspace / "a.txt").read_text() == "old"


@pytest.mark.parametrize("path", ["a.txt", "new.txt", "x/y/new.txt"])
def test_nothing_is_left_when_there_is_no_room(root, workspace, stage, path):
    (workspace / "a.txt").write_text("old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))  # the first write is short, the next one fails
    try:
        with pytest.raises(OSError, match="too large") as caught:
            write(root, path, b"n" * 20_000, stage=stage)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (caught.value.errno, caught.value.filename) == (errno.EFBIG, path)
    assert names(workspace) == ["a.txt"]
    assert (workspace / "a.txt").read_text() == "old"


@pytest.mark.parametrize("path", ["a.txt", "new.txt"])
def test_content_is_on_disk_before_its_name_and_the_name_before_the_return(root, workspace, stage, path, monkeypatch):
    """The calls go through; only their order is noted, since a power cut cannot be had in a test."""
    calls = []

    def noted(name: str):
        call = getattr(os, name)

        def through(*args, **options):
            folder = name == "fsync" and stat.S_ISDIR(os.fstat(args[0]).st_mode)
            calls.append("sync folder" if folder else "sync file" if name == "fsync" else "name")
            return call(*args, **options)

        return through

    (workspace / "a.txt").write_text("old")
    for name in ("fsync", "rename", "link"):
        monkeypatch.setattr(os, name, noted(name))
    write(root, path, stage=stage)
    assert calls[0] == "sync file"
    assert calls[-1] == "sync folder"
    assert set(calls[1:-1]) == {"name"}
    calls.clear()
    write(root, path, stage=stage, durable=False)
    assert set(calls) == {"name"}


# What dead processes left


def test_sweep_removes_only_old_leftovers_of_dead_processes(tmp_path):
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    dead, living = f".toolroll-{ended.pid}-0123456789abcdef", f".toolroll-{os.getpid()}-0123456789abcdef"
    young = f".toolroll-{ended.pid}-aaaaaaaaaaaaaaaa"
    other = "mine.txt"
    for name in (dead, living, young, other):
        (tmp_path / name).touch()
        if name != young:
            os.utime(tmp_path / name, (time.time() - 100, time.time() - 100))
    fd = os.open(tmp_path, os.O_PATH)
    assert atomic.sweep(fd, older=50) == 1
    assert names(tmp_path) == sorted([living, young, other])
    assert atomic.sweep(fd, older=-1) == 1
    assert names(tmp_path) == sorted([living, other])
    os.close(fd)


def test_a_file_in_the_making_has_a_name_only_in_the_stage(root, workspace, tmp_path):
    (workspace / "a.txt").write_text("old")
    (tmp_path / "stage").mkdir()
    fd = os.open(tmp_path / "stage", os.O_RDONLY)
    unnamed: list[list[str]] = []
    try:
        with root.place("b.txt") as place:
            atomic.write(place, b"new", stage=fd, check=lambda: unnamed.append(names(workspace)))
        assert unnamed == [["a.txt"]]
        (workspace / "b.txt").unlink()
        with root.place("a.txt") as place:
            with atomic.Replacement(place, b"new", fd):
                assert (len(names(tmp_path / "stage")), names(workspace)) == (1, ["a.txt"])
            with atomic.Replacement(place, b"new", None):
                assert names(workspace) == ["a.txt"]
    finally:
        os.close(fd)
    assert names(tmp_path / "stage") == []
