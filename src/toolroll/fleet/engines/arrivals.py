"""The lines by which bases are sent through a pipe, and the node's side of them."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from contextlib import ExitStack
from typing import IO, Any

import msgspec

from toolroll.fleet.worker import FrozenPlace
from toolroll.host.fleet.sending import BaseOffer, NodeBase


class Offers(msgspec.Struct, frozen=True):
    """The first line that a node reads."""

    bases: list[BaseOffer]


class Wanted(msgspec.Struct, frozen=True):
    """Its answer: which of the bases are not there. Their archives follow, in this order."""

    missing: list[int]


class NodeReady(msgspec.Struct, frozen=True):
    """What it says when it has all."""

    cores: int
    places: list[FrozenPlace]


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


def receive_bases(source: IO[bytes], write: Callable[[bytes], None], closing: ExitStack) -> None:
    """Take the bases that the other side offers, as far as they are not here; `closing` removes them."""
    bases = list[NodeBase]()
    offers = msgspec.json.decode(source.readline(), type=Offers).bases
    for one in offers:
        bases.append(base := NodeBase(one))
        closing.callback(base.close)
    missing = [at for at, base in enumerate(bases) if not base.is_here]
    write(msgspec.json.encode(Wanted(missing)) + b"\n")
    for at in missing:
        with io.BufferedReader(StreamPart(source, offers[at].size), 1 << 20) as part:
            bases[at].unpack(part)
            part.read()  # what follows the end of the archive
    places = [FrozenPlace(one.path, one.state) for one in bases]
    write(msgspec.json.encode(NodeReady(os.cpu_count() or 1, places)) + b"\n")
