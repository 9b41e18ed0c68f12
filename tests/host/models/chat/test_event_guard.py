from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest

from toolroll.host.models.chat.event_guard import EventGuard

EVENT = b"event: x\r\ndata: y\r\n\r\n"


class Body(httpx2.SyncByteStream):
    def __init__(self, data: bytes, size: int) -> None:
        self._pieces = [data[at : at + size] for at in range(0, len(data), size)]

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._pieces)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 60_000])
def test_many_events_pass_unchanged(size: int) -> None:
    data = EVENT * 2_000 if size > 2 else EVENT * 600
    assert b"".join(EventGuard(Body(data, size))) == data


@pytest.mark.parametrize("line", [b"data:\n", b"data:\r", b"data:\r\n"])
@pytest.mark.parametrize("size", [7, 60_000])
def test_an_event_of_too_many_lines(line: bytes, size: int) -> None:
    for data in (line * 2_000, EVENT + line * 2_000 + b"\n\n" + EVENT):
        with pytest.raises(ValueError, match="too long"):
            list(EventGuard(Body(data, size)))


def test_an_event_of_too_many_bytes() -> None:
    with pytest.raises(ValueError, match="too long"):
        list(EventGuard(Body(b"data: " + b"x" * 4_000_001, 60_000)))
    assert list(EventGuard(Body(b"data: " + b"x" * 3_000_000 + b"\n\n" + b"x" * 3_000_000, 60_000)))
