"""Put a tar archive into a workspace: all of it or nothing."""

import io
import os
import tarfile

import pytest

from tests.tools.files.test_undo import tree
from tests.values import assert_values
from toolroll import Kit, ToolError
from toolroll.host.files.archive import unpack as module
from toolroll.host.files.archive.unpack import Unpacked, read_twice, unpack
from toolroll.host.runtime.cancellation import CancelToken


def archive(*members):
    """A compressed tar of members: a name and what it holds, or a name, a kind and where it links to."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        for name, what, *target in members:
            info = tarfile.TarInfo(name)
            if isinstance(what, bytes):
                info.size = len(what)
            else:
                info.type, info.linkname = getattr(tarfile, f"{what}TYPE"), "".join(target)
            tar.addfile(info, io.BytesIO(what) if isinstance(what, bytes) else None)
    return made.getvalue()


def test_a_workspace_is_moved(kit, put, ws, tmp_path):
    put({"a.txt": "a", "d/e/run.sh": "#!", "d/ü\n": b"\0", ".git/HEAD": "ref", ".git/hooks/post": "bad"})
    (ws / "d/e/run.sh").chmod(0o751)
    (ws / "d/link").symlink_to("../a.txt")
    (ws / "empty").mkdir(mode=0o750)
    there = tmp_path / "there"
    there.mkdir()
    with Kit(there, state_dir=tmp_path / "other") as other, kit.pack(git=True) as file:
        done = other.unpack(file, git=True)
        (ws / ".git/hooks/post").unlink()
        assert done.left_out == [".git/hooks/post"]
        assert tree(there) == tree(ws)
        with pytest.raises(ToolError, match="has a repository"):
            other.unpack(b"", git=True)
        assert other.undo().ok
        assert tree(there) == {}


def test_it_is_written_over_what_is_there(kit, ws, put):
    put({"a": "old", "same": "s"})
    (ws / "same").chmod(0o644)
    before = tree(ws)
    done = kit.unpack(archive(("./", "DIR"), ("./a", b"new"), ("same", b"s"), ("./b/c", b"c"), ("h", "LNK", "./a")))  # fmt: skip
    assert (done.written, done.unchanged) == (["a", "b/c", "h"], 1)
    assert [(ws / name).read_text() for name in ("a", "same", "b/c", "h")] == ["new", "s", "c", "new"]
    kit.undo()
    assert tree(ws) == before


UNSAFE = [
    ("../x", b""),
    ("/x", b""),
    ("a/../../x", b""),
    ("a//x", b""),
    ("l", "SYM", "/etc/passwd"),
    ("l", "SYM", "../x"),
    ("null", "CHR"),
    ("pipe", "FIFO"),
]


@pytest.mark.parametrize("member", UNSAFE)
def test_unsafe_entries_are_refused_as_a_whole(kit, ws, member):
    with pytest.raises(ToolError) as caught:
        kit.unpack(archive(("good", b"good"), member))
    assert caught.value.code == "SecurityError"
    assert repr(member[0]) in caught.value.message
    assert tree(ws) == {}


@pytest.mark.parametrize(
    ("members", "code"),
    [
        ([("a", "SYM", "d"), ("a/x", b"")], "Conflict"),  # through a link of its own
        ([("there/x", b"")], "Conflict"),  # through a link that was there
        ([("there", b"")], "Conflict"),
        ([("d", b"")], "Conflict"),
        ([("d/old", "DIR")], "Conflict"),
        ([("d/old/x", b"")], "ValidationError"),
        ([("h", "LNK", "nowhere")], "ValidationError"),
    ],
)
def test_what_cannot_be_written_leaves_nothing(kit, ws, put, members, code):
    put({"d/old": "old"})
    (ws / "there").symlink_to("d")
    before = tree(ws)
    with pytest.raises(ToolError) as caught:
        kit.unpack(archive(("d/new", b"new"), *members))
    assert caught.value.code == code
    assert tree(ws) == before
    assert kit.journal.entries() == []


def test_a_repository_is_taken_only_when_asked_for(kit, ws):
    assert kit.unpack(archive((".git/config", b"x"), ("d/.git", b"y"), ("a", b""))).left_out == [
        ".git/config",
        "d/.git",
    ]
    assert os.listdir(ws) == ["a"]


@pytest.mark.parametrize("data", [b"no archive", archive(("a", b"x" * 9999))[:60]], ids=["text", "cut short"])
def test_what_is_no_archive(kit, data):
    with pytest.raises(ToolError, match="cannot be read"):
        kit.unpack(data)


def test_files_that_other_programs_run_are_named(kit):
    assert kit.unpack(archive((".envrc", b"x"), ("a", b""))).auto_run == [".envrc"]


def test_from_a_path_and_from_a_pipe(kit, tmp_path):
    (tmp_path / "a.tar").write_bytes(archive(("a", b"1")))
    assert kit.unpack(tmp_path / "a.tar").written == ["a"]
    reading, writing = os.pipe()
    os.write(writing, archive(("b", b"1")))
    os.close(writing)
    with open(reading, "rb") as stream:
        assert kit.unpack(stream).written == ["b"]


def test_an_archive_that_is_given_open_stays_open(tmp_path):
    (tmp_path / "a.tar").write_bytes(b"data")
    with open(tmp_path / "a.tar", "rb") as ours:
        with read_twice(ours) as file:
            assert file is ours
        assert not ours.closed
    for given in (b"data", str(tmp_path / "a.tar")):
        with read_twice(given) as file:
            assert [file.read(), file.seek(0), file.read()] == [b"data", 0, b"data"]
        assert file.closed is isinstance(given, str)


def test_outside_an_entry_of_the_journal_nothing_is_unpacked(kit, ws):
    with pytest.raises(ToolError, match="There is no journal here") as caught:
        unpack(kit.context().files, io.BytesIO(archive(("a", b""))), CancelToken(), git=False)
    assert (caught.value.code, os.listdir(ws)) == ("Unsupported", [])


@pytest.mark.parametrize(
    ("limits", "fits"),
    [
        ({}, True),
        ({"_MAX_ENTRIES": 3}, True),
        ({"_MAX_ENTRIES": 2}, False),
        ({"_MAX_BYTES": 7}, True),
        ({"_MAX_BYTES": 6}, False),
        ({"MOST_KEPT": 4}, True),
        ({"MOST_KEPT": 3}, False),
    ],
)
def test_the_limits_of_an_archive(kit, ws, monkeypatch, limits, fits):
    for name, value in limits.items():
        monkeypatch.setattr(module, name, value)
    data = archive(("a", b"1"), ("b", b"22"), ("c", b"4444"))
    if fits:
        assert kit.unpack(data).written == ["a", "b", "c"]
        return
    with pytest.raises(ToolError, match="The archive is too large: the limits are") as caught:
        kit.unpack(data)
    assert (caught.value.code, os.listdir(ws)) == ("TooLarge", [])


@pytest.mark.parametrize(("count", "last"), [(20, "'/19' leads out of the workspace"), (23, "and 3 more")])
def test_some_of_the_unsafe_entries_are_named(kit, count, last):
    with pytest.raises(ToolError) as caught:
        kit.unpack(archive(*((f"/{number}", b"") for number in range(count))))
    said = caught.value.message.splitlines()
    assert (said[1], said[-1], len(said)) == ("'/0' leads out of the workspace", last, 21 + (count > 20))


def test_the_same_again_changes_nothing_and_permissions_are_a_change(kit, ws):
    data = archive(("d", "DIR"), ("d/l", "SYM", "x"), ("d/x", b"x"))
    assert kit.unpack(data).written == ["d", "d/l", "d/x"]
    assert (ws / "d").stat().st_mode & 0o777 == 0o744, "of a folder, its owner keeps all rights"
    again = kit.unpack(data)
    assert (again.written, again.unchanged) == ([], 3)
    (ws / "d/x").chmod(0o600)
    before = tree(ws)
    assert kit.unpack(data).written == ["d/x"]
    assert (ws / "d/x").stat().st_mode & 0o777 == 0o644
    assert kit.undo().ok
    assert tree(ws) == before
    (ws / "d/x").unlink()
    assert kit.unpack(archive(("d/x", b"new"))).written == ["d/x"]
    (ws / "d/l").unlink()
    (ws / "d/l").symlink_to("y")
    with pytest.raises(ToolError, match="'d/l' cannot be written, something that is not this link is there"):
        kit.unpack(data)


def test_what_is_unpacked_is_nothing_at_first_and_stays_as_it_is():
    assert Unpacked() == Unpacked([], 0, [], [])
    assert_values(module)
