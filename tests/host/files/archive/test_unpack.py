"""Put a tar archive into a workspace: all of it or nothing."""

import io
import os
import tarfile

import pytest

from tests.tools.files.test_undo import tree
from toolroll import Kit, ToolError


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
