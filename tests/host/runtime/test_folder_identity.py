"""A folder that is removed and made again is another one, whatever device and inode say."""

import os
from pathlib import Path

import pytest

from toolroll.host.runtime.folder_identity import FolderIdentity, identify
from toolroll.host.runtime.state import State


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


def test_a_folder_is_known_after_a_rename_and_not_after_it_was_made_again(folder, tmp_path):
    known = identify(str(folder))
    if not any(known):
        pytest.skip("this file system says nothing lasting of its folders")
    assert known.fits(str(folder))
    renamed = folder.rename(tmp_path / "renamed")
    assert known.fits(str(renamed))
    os.rmdir(renamed)
    folder.mkdir()
    assert not known.fits(str(folder))


def test_each_mark_does_alone(folder):
    known = identify(str(folder))
    for mark in (known._replace(id=""), known._replace(birth="")):
        assert mark.fits(str(folder))
    if known.id:
        os.removexattr(folder, "user.toolroll.id")
        assert known.fits(str(folder)) == bool(known.birth)
    assert FolderIdentity("", "").fits(str(folder)), "nothing is known: the path counts"


def test_the_state_of_another_folder_is_set_aside_and_comes_back_with_it(folder, tmp_path):
    def content(data=None):
        state = State(str(tmp_path / "state"), str(folder))
        state.hold()
        if data is not None:
            state.put("some", "file", data)
        kept = Path(state.path, "some/file")
        kept = kept.read_bytes() if kept.exists() else None
        state.close()
        return kept

    if not any(identify(str(folder))):
        pytest.skip("this file system says nothing lasting of its folders")
    assert (content(b"old"), content()) == (b"old", b"old")
    away = folder.rename(tmp_path / "away")
    folder.mkdir()
    assert (content(), content(b"new")) == (None, b"new")
    folder.rename(tmp_path / "second")
    away.rename(folder)
    assert content() == b"old"


def test_a_state_that_does_not_know_its_folder_yet_is_taken_over(folder, tmp_path):
    State(str(tmp_path / "state")).put("some", "file", b"of an earlier version")
    state = State(str(tmp_path / "state"), str(folder))
    state.hold()
    assert Path(state.path, "some/file").read_bytes() == b"of an earlier version"
    state.close()
