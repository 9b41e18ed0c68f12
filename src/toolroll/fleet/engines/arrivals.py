"""The lines by which a base is sent through a pipe, and the node's side of them."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from contextlib import ExitStack
from typing import IO, Any

import msgspec

from toolroll.fleet.worker import FrozenPlace
from toolroll.host.fleet.sending import BaseOffer, NodeBase


class Wanted(msgspec.Struct, frozen=True):
    """The answer to a `BaseOffer`, the first line that a node reads. If the base is not there, its archive follows."""

    is_missing: bool


class NodeReady(msgspec.Struct, frozen=True):
    """What it says when it has the base."""

    cores: int
    place: FrozenPlace


class StreamPart(io.RawIOBase):
    """A number of bytes of a stream, as a file of its own."""

    def __init__(self, source: IO[bytes], size: int) -> None:
        self._source, self._left = source, size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._source.read(min(len(buffer), self._left))
        self._left -= len(data)
        buffer[: len(data)] = data
        return len(data)


def receive_base(source: IO[bytes], write: Callable[[bytes], None], closing: ExitStack) -> None:
    """Take the base that the other side offers, unless it is here; `closing` removes it."""
    offer = msgspec.json.decode(source.readline(), type=BaseOffer)
    base = NodeBase(offer)
    closing.callback(base.close)
    wanted = Wanted(is_missing=not base.is_here)
    write(msgspec.json.encode(wanted) + b"\n")
    if wanted.is_missing:
        with io.BufferedReader(StreamPart(source, offer.size), 1 << 20) as part:
            base.unpack(part)
            part.read()  # what follows the end of the archive
    ready = NodeReady(os.cpu_count() or 1, FrozenPlace(base.path, base.state, offer.folder))
    write(msgspec.json.encode(ready) + b"\n")
