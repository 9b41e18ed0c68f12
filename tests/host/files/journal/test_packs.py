import os

from toolroll.host.files.journal import contents as limits
from toolroll.host.files.journal.contents import Blobs
from toolroll.host.files.journal.entry import PathState
from toolroll.host.files.versions import digest
from toolroll.host.runtime.state import State


def many(text):
    contents = [f"{text} {number}".encode() for number in range(limits._MANY)]
    return {digest(one).hex(): one for one in contents}


def test_many_contents_are_one_file_that_others_find_too(tmp_path):
    state = State(str(tmp_path))
    other, blobs, contents = Blobs(state), Blobs(state), many("a")
    assert not other.keeps(PathState("file", 0o644, next(iter(contents))))
    blobs.keep_many(contents)
    blobs.keep_many(contents)
    assert len(os.listdir(tmp_path / "journal/blobs")) == 1
    for one in (blobs, other, Blobs(state)):
        assert {name: one.content(name) for name in contents} == contents
        assert all(one.keeps(PathState("file", 0o644, name)) for name in contents)
    state.close()


def test_a_large_content_may_differ_from_one_in_a_pack(tmp_path):
    state = State(str(tmp_path))
    blobs, root = Blobs(state), os.urandom(limits._LARGE)
    name = digest(root).hex()
    blobs.keep_many({**many("a"), name: root})
    changed = blobs.keep(root + b"more", like=(name, root))
    assert Blobs(state).content(changed) == root + b"more"
    state.close()


def test_a_pack_goes_when_it_is_old_unless_something_in_it_is_needed(tmp_path, monkeypatch):
    state = State(str(tmp_path))
    blobs, old, new = Blobs(state), many("a"), many("b")
    blobs.keep_many(old)
    blobs.keep_many(new)
    monkeypatch.setattr(limits, "_MOST_BYTES", 0)
    blobs.needed = lambda: {next(iter(new))}
    blobs.sweep()
    assert not any(blobs.keeps(PathState("file", 0o644, name)) for name in old)
    assert {name: blobs.content(name) for name in new} == new
    state.close()
