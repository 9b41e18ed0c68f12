from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from toolroll.host.files import spill as module
from toolroll.host.files.spill import Spill, SpillWriter
from toolroll.host.runtime.state import State


@pytest.fixture
def spill(tmp_path: Path) -> Iterator[Spill]:
    state = State(str(tmp_path))
    spill = Spill(state)
    yield spill
    spill.close()
    state.close()


def content(tmp_path: Path, handle: str) -> bytes:
    assert handle.startswith("spill:")
    return (tmp_path / "spill" / handle.removeprefix("spill:")).read_bytes()


def test_a_text_is_kept(spill: Spill, tmp_path: Path) -> None:
    handle = spill.keep("caf\N{LATIN SMALL LETTER E WITH ACUTE} \ud800")
    assert content(tmp_path, handle) == b"caf\xc3\xa9 \\ud800"
    assert (tmp_path / "spill" / handle.removeprefix("spill:")).stat().st_mode & 0o777 == 0o600


def test_a_writer_is_read_while_it_writes(spill: Spill, tmp_path: Path) -> None:
    writer = spill.writer(100)
    assert [writer.write(b"some "), writer.write(bytearray(b"bytes")), writer.write(b"")] == [5, 5, 0]
    assert content(tmp_path, writer.handle) == b"some bytes"
    assert writer.read(5, 3) == b"byt"
    writer.close()
    writer.close()
    assert [writer.read(0, 100), writer.read(5, 100), writer.read(10, 100)] == [b"some bytes", b"bytes", b""]


def test_a_writer_takes_no_more_than_its_most(spill: Spill, tmp_path: Path) -> None:
    writer = spill.writer(8)
    assert [writer.write(b"01234"), writer.write(b"56789"), writer.write(b"more")] == [5, 3, 0]
    assert content(tmp_path, writer.handle) == b"01234567"
    writer.close()


def test_what_was_removed_cannot_be_read(spill: Spill, tmp_path: Path) -> None:
    writer = spill.writer(8)
    writer.write(b"text")
    (tmp_path / "spill" / writer.handle.removeprefix("spill:")).unlink()
    assert writer.read(0, 4) == b"text"
    writer.close()
    with pytest.raises(FileNotFoundError):
        writer.read(0, 4)


def test_no_writer_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="File exists"):
        Spill(State(str(tmp_path / "file"))).writer(100)


def of_writer(spill: Spill) -> str:
    writer: SpillWriter = spill.writer(100)
    writer.write(b"new")
    writer.close()
    return writer.handle


def kept(tmp_path: Path) -> set[str]:
    return {f"spill:{path.name}" for path in (tmp_path / "spill").iterdir()}


def aged(tmp_path: Path, handle: str, days: int, size: int | None = None) -> None:
    path = tmp_path / "spill" / handle.removeprefix("spill:")
    if size is not None:
        os.truncate(path, size)  # sparse
    os.utime(path, (time.time() - days * 86400,) * 2)


def test_the_same_text_again_is_not_written_again(spill: Spill, tmp_path: Path) -> None:
    first = spill.keep("text")
    aged(tmp_path, first, 6)
    assert [spill.keep("text"), spill.keep("other"), kept(tmp_path)] == [first, spill.keep("other"), kept(tmp_path)]
    assert len(kept(tmp_path)) == 2
    assert time.time() - (tmp_path / "spill" / first.removeprefix("spill:")).stat().st_mtime < 60


def test_the_folder_of_the_kept_texts_stays_open_until_the_end(spill: Spill, tmp_path: Path) -> None:
    root = spill.root()
    assert spill.root() is root
    assert root.path == str(tmp_path / "spill")
    spill.close()
    assert spill.root() is not root


def test_a_text_that_was_removed_is_written_again(spill: Spill, tmp_path: Path) -> None:
    (tmp_path / "spill" / spill.keep("text").removeprefix("spill:")).unlink()
    assert content(tmp_path, spill.keep("text")) == b"text"


def test_a_large_text_is_not_held_to_be_known_again(spill: Spill, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_KNOWN", 3)
    assert spill.keep("text") != spill.keep("text")
    assert spill.keep("ten") == spill.keep("ten")


def test_what_is_kept_is_looked_at_seldom(spill: Spill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = spill.keep("old")
    aged(tmp_path, old, 8)
    spill.keep("one")
    assert old in kept(tmp_path)
    monkeypatch.setattr(module, "_SELDOM", 0.0)
    spill._next = 0.0  # a minute later
    spill.keep("two")
    assert old not in kept(tmp_path)


def test_no_more_is_kept_than_there_is_room_for(spill: Spill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_BYTES", 1000)
    handles = [spill.keep(f"{number:0100}") for number in range(31)]
    for days, handle in enumerate(reversed(handles[21:])):
        aged(tmp_path, handle, days // 4)
    assert kept(tmp_path) == set(handles[21:])
    last = spill.keep("x" * 250)
    assert kept(tmp_path) - {last} < set(handles[21:])
    assert sum(path.stat().st_size for path in (tmp_path / "spill").iterdir()) == 950


@pytest.mark.parametrize("keep", [lambda spill: spill.keep("last"), of_writer])
def test_old_ones_go_when_new_ones_come(spill: Spill, tmp_path: Path, keep: Callable[[Spill], str]) -> None:
    old, week, large, new = (spill.keep(name) for name in ("old", "week", "large", "new"))
    for handle, days in {old: 8, week: 6, large: 5, new: 0}.items():
        aged(tmp_path, handle, days, module._MOST_BYTES - 50 if handle == large else None)
    state = State(str(tmp_path))
    last = keep(Spill(state))  # another session
    # `week` fell with `large`: the oldest go first until there is room.
    assert kept(tmp_path) == ({new, last} if keep is of_writer else {week, large, new, last})
    state.close()


def test_a_text_that_is_gone_is_not_renewed(tmp_path: Path) -> None:
    (tmp_path / "kept").touch()
    folder = os.open(tmp_path, os.O_RDONLY)
    assert [module._renewed(folder, name) for name in ("kept", "gone")] == [True, False]
    os.close(folder)
