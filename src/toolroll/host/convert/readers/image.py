"""A picture: the text in it."""

from __future__ import annotations

from typing import BinaryIO

from toolroll.host.convert import limits
from toolroll.host.convert.child import ConversionError, ConversionOutput
from toolroll.host.convert.readers.ocr import TextRecognizer

_KINDS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF")


def read(file: BinaryIO, output: ConversionOutput, words: list[str]) -> None:  # noqa: ARG001 - all readers are alike
    """The text in a picture, or in each page of a scan that has several."""
    from PIL import Image, ImageOps

    Image.MAX_IMAGE_PIXELS = None  # it is looked at here, before anything is decoded
    with Image.open(file, formats=_KINDS) as picture:
        frames = min(getattr(picture, "n_frames", 1), limits.SCANNED) if picture.format == "TIFF" else 1
        recognizer: TextRecognizer | None = None
        for number in range(frames):
            picture.seek(number)
            size = picture.size[0] * picture.size[1]
            if size > limits.PIXELS:
                raise ConversionError("pixels", size)
            picture.draft("RGB", (limits.SIDE, limits.SIDE))
            picture.load()
            import numpy as np

            shown = ImageOps.exif_transpose(picture).convert("RGBA")
            shown.thumbnail((limits.SIDE, limits.SIDE))
            paper = Image.new("RGBA", shown.size, "white")
            paper.alpha_composite(shown)
            recognizer = recognizer or TextRecognizer()
            output.part(recognizer.read_lines(np.asarray(paper.convert("RGB"))[:, :, ::-1].copy()), number + 1)
            output.progress(number + 1, frames)
