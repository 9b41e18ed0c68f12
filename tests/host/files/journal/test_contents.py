"""Contents by their digests."""

from __future__ import annotations

import os
import random

import pytest

from tests.values import assert_values
from toolroll import ToolError
from toolroll.host.files.journal import contents as module
from toolroll.host.files.journal.contents import Blobs
from toolroll.host.files.journal.entry import NOT_KEPT, PathState
from toolroll.host.runtime.state import State

LARGE = 200_000


@pytest.fixture
def kept(tmp_path):
    state = State(str(tmp_path / "state"))
    yield Blobs(state)
    state.close()


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "state/journal/blobs"


def edits(count, spread=5_000):
    """A content, and what becomes of it by small changes that are not far apart."""
    chance = random.Random(1)
    data = chance.randbytes(LARGE)
    yield data
    for _ in range(count):
        at, gone = chance.randrange(LARGE // 2, LARGE // 2 + spread), chance.choice((0, 1, 30))
        data = data[:at] + chance.randbytes(chance.randrange(1, 40)) + data[at + gone :]
        yield data


def keep_all(kept, contents):
    names, like = [], None
    for data in contents:
        names.append(kept.keep(data, None, like))
        like = (names[-1], data)
    return names


def sizes(folder):
    return {one.name: one.stat().st_size for one in folder.iterdir()}


@pytest.mark.parametrize(("spread", "most"), [(5_000, 2), (LARGE // 2, 41)])
def test_every_content_comes_back(kept, folder, spread, most):
    contents = list(edits(40, spread))
    names = keep_all(kept, contents)
    assert [kept.content(name) for name in names] == contents
    assert sum(sizes(folder).values()) < most * LARGE


def test_changes_at_both_ends_are_kept_whole(kept, folder):
    data = bytes(LARGE)
    other = b"1" + data[1:-1] + b"1"
    names = keep_all(kept, [data, other])
    assert (kept.content(names[0]), kept.content(names[1])) == (data, other)
    assert sorted(sizes(folder)) == sorted(names)


def test_a_small_content_is_kept_whole(kept, folder):
    names = keep_all(kept, [b"a" * 1000, b"a" * 999 + b"b"])
    assert sorted(sizes(folder)) == sorted(names)


@pytest.mark.parametrize(
    ("size", "changed", "difference"),
    [(65_536, 8_192, True), (65_535, 1, False), (65_536, 8_193, False)],
)
def test_only_a_large_content_that_changed_in_an_eighth_is_kept_as_a_difference(
    kept, folder, size, changed, difference
):
    _, name = keep_all(kept, [b"a" * size, b"a" * (size - changed) + b"b" * changed])
    assert (f"{name}.delta" in sizes(folder)) is difference
    assert kept.content(name).count(b"b") == changed


@pytest.mark.parametrize("made", [b"", b"x" * LARGE, b"x" * (LARGE - 7), b"x" * (LARGE + 7), b"y" + b"x" * LARGE])
def test_texts_that_repeat_themselves(kept, made):
    old = b"x" * LARGE
    names = keep_all(kept, [old, made, old])
    assert [kept.content(name) for name in names] == [old, made, old]


def test_without_its_root_a_difference_is_lost_and_kept_anew(kept, folder):
    first, second = edits(1)
    names = keep_all(kept, [first, second])
    assert sorted(sizes(folder)) == sorted([names[0], f"{names[1]}.delta"])
    (folder / names[0]).unlink()
    with pytest.raises(ToolError, match="no longer keeps"):
        kept.content(names[1])
    assert kept.keep(second) == names[1]
    assert kept.content(names[1]) == second


@pytest.mark.parametrize("spoil", [lambda data: data[:-1], lambda data: b"?" + data[1:], lambda _: b""])
def test_a_damaged_content_is_named_and_kept_again(kept, folder, spoil):
    first, second = edits(1)
    names = keep_all(kept, [first, second, b"small"])
    for name, data in zip((names[0], names[2]), (first, b"small"), strict=True):
        (folder / name).write_bytes(spoil(data))
    for name in names:
        with pytest.raises(ToolError, match="damaged"):
            kept.content(name)
    assert keep_all(kept, [first, second, b"small"]) == names
    assert [kept.content(name) for name in names] == [first, second, b"small"]


def test_a_damaged_pack_or_difference_loses_no_other_content(kept, folder):
    first, second = edits(1)
    names = keep_all(kept, [first, second])
    (folder / f"{names[1]}.delta").write_bytes(b"\xff")
    (folder / "a.pack").write_bytes(b"\xff" * 40)
    (folder / "b.pack").write_bytes(b"")
    assert kept.content(names[0]) == first
    with pytest.raises(ToolError, match="no longer keeps"):
        kept.content(names[1])
    assert kept.keep(second) == names[1]
    assert kept.content(names[1]) == second


def test_the_oldest_go_first_and_a_root_not_before_what_hangs_on_it(kept, folder, monkeypatch):
    old = bytes(range(256)) * 10
    names = [kept.keep(old), *keep_all(kept, edits(3))]
    os.utime(folder / names[0], (1, 1))
    for at, name in enumerate(names[2:], 2):
        os.utime(folder / f"{name}.delta", (at, at))
    monkeypatch.setattr(
        "toolroll.host.files.journal.contents._MOST_BYTES",
        LARGE + sum(sizes(folder)[f"{name}.delta"] for name in names[3:]),
    )
    kept.sweep()
    assert sorted(sizes(folder)) == sorted([names[1], *(f"{name}.delta" for name in names[3:])])


def test_what_is_kept_again_counts_as_new(kept, folder):
    first, second = edits(1)
    names = keep_all(kept, [first, second])
    files = {one.stat().st_ino for one in folder.iterdir()}
    for one in folder.iterdir():
        os.utime(one, (1, 1))
    kept.keep(first)
    kept.keep(second)
    assert {one.stat().st_ino for one in folder.iterdir()} == files  # not written again
    assert {one.name: one.stat().st_mtime > 1 for one in folder.iterdir()} == {
        names[0]: True,
        f"{names[1]}.delta": True,
    }


def test_a_difference_stays_as_it_was_made():
    assert_values(module)


def test_what_can_be_put_back(kept):
    first, second = edits(1)
    names = keep_all(kept, [first, second])
    states = [PathState("file", 0o644, name) for name in (*names, "00", f"{NOT_KEPT}1.2")]
    assert [kept.keeps(state) for state in states] == [True, True, False, False]
    others = [PathState("directory", 0o755), PathState("link", 0, "x"), PathState("ignored", 0), PathState("other", 0)]
    assert [kept.keeps(state) for state in others] == [True, True, False, False]


def test_a_content_that_is_needed_stays_however_old_it_is(kept, folder, monkeypatch):
    names = [kept.keep(bytes([number])) for number in range(3)]
    for at, name in enumerate(names, 1):
        os.utime(folder / name, (at, at))
    monkeypatch.setattr("toolroll.host.files.journal.contents._MOST_BYTES", 2)
    kept.needed = lambda: {names[0]}
    kept.sweep()
    assert sorted(sizes(folder)) == sorted([names[0], names[2]])
    kept.sweep()
    assert len(sizes(folder)) == 2
