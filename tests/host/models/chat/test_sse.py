from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolroll.host.models.chat.sse import Event, Events, OverlongError

STREAM = (
    "\ufeff: a comment\r\n\r\nevent: one\r\ndata: äöü €\r\ndata:second line\r\nid: 7\r\n\r\n"
    "data: {\"a\": 1}\n\ndata\n\nevent: without data\n\ndata: x\r\rdata: tail without end"
).encode()  # fmt: skip
EVENTS = [Event("one", "äöü €\nsecond line"), Event("message", '{"a": 1}'), Event("message", ""), Event("message", "x")]


def read(*pieces: bytes) -> list[Event]:
    events = Events()
    return [event for piece in pieces for event in events.feed(piece)]


def test_events() -> None:
    assert read(STREAM) == EVENTS


@pytest.mark.parametrize("size", range(1, 12))
def test_cut_anywhere(size: int) -> None:
    assert read(*(STREAM[at : at + size] for at in range(0, len(STREAM), size))) == EVENTS


@given(st.lists(st.integers(0, len(STREAM)), max_size=8))
def test_cut_at_random(places: list[int]) -> None:
    cuts = [0, *sorted(places), len(STREAM)]
    assert read(*(STREAM[a:b] for a, b in pairwise(cuts))) == EVENTS


def test_bytes_that_are_no_text() -> None:
    assert read(b"data: \xff\xfe!\n\n") == [Event("message", "\ufffd\ufffd!")]


def test_a_line_without_an_end() -> None:
    with pytest.raises(OverlongError):
        read(b"data: " + b"x" * 4_000_001)
