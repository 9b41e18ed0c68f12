"""Pages of a PDF that are pictures: drawn, and read as one reads a picture."""

from __future__ import annotations

from typing import BinaryIO

from toolroll.host.convert import limits
from toolroll.host.convert.protocol import ConversionOutput
from toolroll.host.convert.readers.ocr import Eyes
from toolroll.host.convert.readers.pdf import opened

_LARGEST = 4.0  # pixels for a point: 288 to the inch


def read(file: BinaryIO, output: ConversionOutput, words: list[str]) -> None:
    """The text in the pictures of the pages whose numbers are given."""
    document, eyes = opened(file), Eyes()
    numbers = [int(word) for word in words[0].split(",")]
    for done, number in enumerate(numbers, 1):
        page = document[number - 1]
        scale = min(_LARGEST, limits.SIDE / max(1.0, *page.get_size()))
        output.part(eyes.lines(page.render(scale=scale).to_numpy()[:, :, :3]), number)
        output.progress(done, len(numbers))
