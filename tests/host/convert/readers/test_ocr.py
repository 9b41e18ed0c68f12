from __future__ import annotations

from toolroll.host.convert.readers.ocr import join_boxes


def test_what_is_side_by_side_is_one_line() -> None:
    boxes = [(100.0, 120.0, 10.0), (12.0, 32.0, 300.0), (10.0, 30.0, 10.0), (103.0, 121.0, 200.0), (119.0, 140.0, 10.0)]
    assert join_boxes(boxes, ["c", "b", "a", "d", "e"]) == "a b\nc d\ne"
    assert join_boxes([], []) == ""
