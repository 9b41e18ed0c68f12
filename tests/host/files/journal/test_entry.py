"""What the journal keeps of a path, and what it refuses to keep."""

from __future__ import annotations

import os
from dataclasses import FrozenInstanceError

import pytest

from tests.waiting import closed_again, descriptors
from toolroll import ToolError
from toolroll.host.files.journal import entry
from toolroll.host.files.journal.entry import JournalEntry, PathChange, PathState, check_kept, look
from toolroll.host.files.versions import digest


@pytest.fixture
def folder(ws):
    fd = os.open(ws, os.O_RDONLY | os.O_DIRECTORY)
    yield fd
    os.close(fd)


def test_what_stands_at_a_name(ws, folder):
    (ws / "a").write_bytes(b"A")
    (ws / "a").chmod(0o4750)
    (ws / "d").mkdir()
    (ws / "d").chmod(0o711)
    (ws / "link").symlink_to("none")
    os.mkfifo(ws / "pipe")
    before = descriptors()
    assert look(folder, "a") == (PathState("file", 0o4750, digest(b"A").hex()), b"A")
    assert look(folder, "d") == (PathState("directory", 0o711), None)
    assert look(folder, "link") == (PathState("link", 0, "none"), None)
    assert look(folder, "none") == (None, None)
    with pytest.raises(OSError, match="Not a file, folder or link") as caught:
        look(folder, "pipe")
    assert caught.value.errno == 6
    assert closed_again(before)


def test_a_file_that_is_too_large_is_not_kept(ws, folder, monkeypatch):
    monkeypatch.setattr(entry, "MOST_KEPT", 3)
    check_kept("a", 3)
    with pytest.raises(ToolError, match=r"'a' is too large: 4 bytes\. Of files over 3 bytes nothing is kept") as caught:
        check_kept("a", 4)
    assert caught.value.code == "TooLarge"
    (ws / "a").write_bytes(b"four")
    with pytest.raises(ToolError, match="too large"):
        look(folder, "a")


def test_the_paths_of_an_entry_each_once_in_their_order():
    changes = (PathChange("b", None, None, source="a"), PathChange("c", None, None), PathChange("a", None, None))
    assert JournalEntry(1, 0.0, "move", "s", "m", changes).paths() == ["a", "b", "c"]


def test_entries_cannot_be_changed():
    change = PathChange("a", PathState("file", 0o644), None)
    entry = JournalEntry(1, 0.0, "write", "s", "m", (change,))
    for value, name in ((change.before, "mode"), (change, "path"), (entry, "number")):
        with pytest.raises(FrozenInstanceError):
            setattr(value, name, None)
        assert not hasattr(value, "__dict__")


@pytest.mark.parametrize(("size", "kept"), [(1 << 28, True), ((1 << 28) + 1, False)])
def test_what_is_too_large_to_be_kept(size, kept):
    if kept:
        check_kept("a", size)
        return
    with pytest.raises(ToolError, match="'a' is too large: 268435457 bytes"):
        check_kept("a", size)


@pytest.mark.parametrize(
    ("state", "lost"),
    [
        (PathState("file", 0o644, "abc"), False),
        (PathState("file", 0o644, f"{entry.NOT_KEPT}1.2"), True),
        (PathState("ignored", 0), True),
        (PathState("other", 0), True),
        (PathState("directory", 0o755), False),
        (PathState("link", 0, "a"), False),
    ],
)
def test_what_cannot_be_put_back(state, lost):
    assert state.is_lost is lost
    assert (state.mtime_ns, state.attributes) == (0, {})
