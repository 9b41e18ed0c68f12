"""The text in a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolroll.host.convert import limits

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SETTINGS = {
    "Global.log_level": "critical",
    "Global.use_cls": False,  # lines that are upside down, at the cost of one more model
    "Global.max_side_len": limits.SIDE,
    # The default enlarges small pictures, which takes three times the time and memory.
    "Det.limit_type": "max",
    "Det.limit_side_len": limits.FOUND_SIDE,
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
}


class TextRecognizer:
    """Reads pictures; its models are loaded once."""

    def __init__(self) -> None:
        from rapidocr import RapidOCR

        self._engine = RapidOCR(params=_SETTINGS)

    def read_lines(self, picture: NDArray[Any]) -> str:
        """The lines of text in a picture (rows, columns, blue green red), from its top."""
        found: Any = self._engine(picture)
        if found.boxes is None or found.txts is None:
            return ""
        boxes = [(box[:, 1].min(), box[:, 1].max(), box[:, 0].min()) for box in found.boxes]
        return join_boxes([(float(top), float(low), float(left)) for top, low, left in boxes], list(found.txts))


def join_boxes(boxes: list[tuple[float, float, float]], texts: list[str]) -> str:
    """Texts at (top, bottom, left) as lines: what is side by side is one line."""
    made: list[list[tuple[float, str]]] = []
    middle = 0.0
    for (top, low, left), text in sorted(zip(boxes, texts, strict=True)):
        if not made or top > middle:
            made.append([])
            middle = (top + low) / 2
        made[-1].append((left, text))
    return "\n".join(" ".join(text for _, text in sorted(row)) for row in made)
