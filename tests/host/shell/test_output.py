from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolroll.host.files.spill import Spill
from toolroll.host.runtime.state import State
from toolroll.host.shell.output import CapturedOutput


@pytest.fixture
def spill(tmp_path: Path) -> Iterator[Spill]:
    state = State(str(tmp_path / "state"))
    yield Spill(state)
    state.close()


def content(spill: Spill, captured: CapturedOutput) -> bytes:
    fd = spill.root().file(captured.handle().removeprefix("spill:"))
    with open(fd, "rb") as file:
        return file.read()


@pytest.mark.parametrize(
    ("data", "most", "ends"),
    [
        (b"", 10, (b"", 0, b"")),
        (b"0123456789", 10, (b"0123456789", 0, b"")),
        (b"0123456789a", 10, (b"01234", 1, b"6789a")),
        (b"0123456789a", 5, (b"012", 6, b"9a")),
        (b"0123456789a", 1, (b"0", 10, b"")),
        (b"0123456789a", 0, (b"", 11, b"")),
        ("éééé".encode(), 7, ("éé".encode(), 2, "é".encode())),
        ("éééé".encode(), 6, ("é".encode(), 4, "é".encode())),
        ("a\N{OLD PERSIAN SIGN AURAMAZDAA}b".encode(), 4, (b"a", 4, b"b")),
        ("\N{OLD PERSIAN SIGN AURAMAZDAA}".encode() * 2, 6, (b"", 8, b"")),
        (b"\xff" * 10, 4, (b"\xff", 7, b"\xff\xff")),  # no text at all
        (b"\x80" * 10, 8, (b"\x80" * 4, 5, b"\x80")),
    ],
)
def test_the_ends(spill: Spill, data: bytes, most: int, ends: tuple[bytes, int, bytes]) -> None:
    captured = CapturedOutput(spill)
    for byte in data:
        captured.add(bytes([byte]))
    assert captured.ends(most) == ends
    assert captured.handle() is None
    assert captured.total == len(data)


def test_what_memory_holds_is_not_written(spill: Spill, tmp_path: Path) -> None:
    captured = CapturedOutput(spill, head=4, tail=4)
    captured.add(b"01234567")
    captured.finish()
    assert captured.handle() is None
    assert not (tmp_path / "state").exists()
    assert captured.ends(8) == (b"01234567", 0, b"")


def test_what_memory_does_not_hold_is_written_whole(spill: Spill) -> None:
    captured = CapturedOutput(spill, head=4, tail=4)
    captured.add(b"01234567")
    captured.add(b"89")
    assert content(spill, captured) == b"0123456789"  # while it is still written
    captured.add(b"abc" * 100)
    captured.finish()
    assert content(spill, captured) == b"0123456789" + b"abc" * 100
    assert captured.ends(310) == (b"0123456789" + b"abc" * 100, 0, b"")  # from the file
    assert captured.ends(30) == (b"0123456789abcab", 280, b"abc" * 5)
    assert captured.read(8, 4) == b"89ab"
    assert captured.note == ""


def test_a_file_is_made_when_it_is_asked_for(spill: Spill) -> None:
    captured = CapturedOutput(spill)
    captured.add(b"first ")
    assert captured.handle() is None
    handle = captured.handle(make=True)
    captured.add(b"second")
    captured.finish()
    assert content(spill, captured) == b"first second"
    assert captured.handle(make=True) == captured.handle() == handle
    ended = CapturedOutput(spill)
    ended.add(b"all")
    ended.finish()
    assert ended.handle(make=True) is not None
    assert content(spill, ended) == b"all"


def test_beyond_the_cap_the_file_has_both_ends(spill: Spill) -> None:
    captured = CapturedOutput(spill, head=100, tail=100, most=1000)
    text = "".join(f"{number:04} é\n" for number in range(1000)).encode()
    for at in range(0, len(text), 77):
        captured.add(text[at : at + 77])
    captured.finish()
    kept = content(spill, captured)
    before, _, rest = kept.partition(b"\n[... ")
    missing, _, after = rest.partition(b" bytes are missing here ...]\n")
    assert len(kept) <= 1000
    assert text.startswith(before)
    assert text.endswith(after)
    assert int(missing) == len(text) - len(before) - len(after)
    assert len(before) > 600
    assert len(after) >= 99
    kept.decode()  # neither end is cut inside a character
    gap = captured.present(len(before))
    assert gap > len(before)
    assert captured.read(0, 10**6) == before
    assert captured.read(gap, 10**6) == text[gap:]
    assert captured.read(len(before) + 1, 5) == text[gap : gap + 5]  # what is missing is passed over
    assert captured.ends(2000) == (before, gap - len(before), text[gap:])


def test_a_long_output_is_followed(spill: Spill) -> None:
    """As a job is polled: each read goes on where the last one ended."""
    captured = CapturedOutput(spill, head=50, tail=50)
    text = os.urandom(10_000).hex().encode()
    seen = b""
    for at in range(0, len(text), 333):
        captured.add(text[at : at + 333])
        while part := captured.read(len(seen), 100):
            seen += part
    assert seen == text
    captured.finish()
    assert captured.read(len(text), 100) == captured.read(10**9, 100) == b""
    assert captured.read(-5, 3) == text[:3]


def test_memory_stays_small(spill: Spill) -> None:
    captured = CapturedOutput(spill, most=1 << 20)
    for _ in range(500):
        captured.add(bytes(1 << 18))
        assert len(captured._head) + len(captured._tail) <= 3 * 65536
    assert captured.total == 500 << 18


def test_a_state_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file in its place")
    captured = CapturedOutput(Spill(State(str(tmp_path / "state"))), head=4, tail=4)
    captured.add(b"0123456789" * 10)
    captured.finish()
    assert captured.handle() is None
    place = f"toolroll cannot make its state folder {str(tmp_path / 'state')!r} (XDG_STATE_HOME says where it is)"
    assert captured.note == f"Not all of the output could be kept: {place}: File exists."
    assert captured.ends(8) == (b"0123", 92, b"6789")
    assert captured.ends(100) == (b"0123", 92, b"6789")
    assert captured.read(0, 100) == b"0123"
    assert captured.present(4) == 96


def test_a_full_disk(spill: Spill) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full to write to")
    captured = CapturedOutput(spill, head=4, tail=4)
    captured.add(b"0123456789")
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, captured._writer._fd)
    os.close(full)
    captured.add(b"more")
    captured.add(b"and more")
    captured.finish()
    assert captured.note == "Not all of the output could be kept: No space left on device."
    assert captured.ends(8) == (b"0123", 14, b"more")
    assert content(spill, captured) == b"0123456789"


def test_a_kept_file_that_is_swept(spill: Spill, tmp_path: Path) -> None:
    captured = CapturedOutput(spill, head=4, tail=4)
    captured.add(b"0123456789")
    captured.finish()
    for file in (tmp_path / "state" / "spill").iterdir():
        file.unlink()
    assert captured.ends(10) == (b"0123", 2, b"6789")
    assert captured.note == "Not all of the output could be kept: No such file or directory."


def test_without_a_place_to_keep_it() -> None:
    captured = CapturedOutput(None, head=4, tail=4)
    captured.add(b"0123456789" * 2)
    captured.finish()
    assert captured.ends(8) == (b"0123", 12, b"6789")
    assert captured.handle(make=True) is None


def test_what_is_read_is_not_cut_in_a_character() -> None:
    captured = CapturedOutput(None)
    captured.add("a\u20ac\u20ac".encode()[:6])
    assert captured.read(0, 3) == b"a"
    assert captured.read(1, 2) == b"\xe2\x82"  # there is room for nothing else
    assert captured.read(0, 99) == "a\u20ac".encode()
    assert captured.read(4, 99) == b""
    captured.finish()
    assert captured.read(4, 99) == b"\xe2\x82"


def test_it_is_read_while_it_is_written(spill: Spill) -> None:
    captured = CapturedOutput(spill, head=1000, tail=1000, most=200_000)
    whole = b"".join(b"%07d\n" % number for number in range(100_000))
    wrong: list[bytes] = []

    def check() -> None:
        while captured.total < len(whole):
            head, omitted, tail = captured.ends(5000)
            if not (whole.startswith(head) and tail in whole and omitted >= 0):
                wrong.append(head + tail)
            at = captured.present(captured.total // 2)
            if not whole.startswith(captured.read(at, 100), at) and captured.present(at) == at:
                wrong.append(captured.read(at, 100))

    threads = [threading.Thread(target=check) for _ in range(3)]
    for thread in threads:
        thread.start()
    for at in range(0, len(whole), 4096):
        captured.add(whole[at : at + 4096])
    captured.finish()
    for thread in threads:
        thread.join()
    assert wrong == []


@given(
    chunks=st.lists(st.binary(max_size=60) | st.text(max_size=20).map(str.encode), max_size=30),
    head=st.integers(0, 30),
    tail=st.integers(0, 30),
    most=st.integers(0, 600),
    asked=st.integers(0, 300),
)
def test_any_output(chunks: list[bytes], head: int, tail: int, most: int, asked: int) -> None:
    whole = b"".join(chunks)
    with tempfile.TemporaryDirectory() as folder:
        state = State(folder)
        captured = CapturedOutput(Spill(state), head=head, tail=tail, most=most)
        for chunk in chunks:
            captured.add(chunk)
        for finished in (False, True):
            first, omitted, last = captured.ends(asked)
            assert len(first) + len(last) <= max(asked, 0)
            assert whole.startswith(first)
            assert whole.endswith(last)
            assert len(first) + omitted + len(last) == len(whole) == captured.total
            at, seen = 0, []
            while part := captured.read(at, 7):
                at = captured.present(at)
                assert whole.startswith(part, at)
                at += len(part)
                seen.append(part)
            assert len(whole) - captured.present(at) < (1 if finished else 4)
            captured.finish()
        state.close()
