"""A client that reads again what it was shown."""

from typing import Any

from toolroll import Image, Result
from toolroll.mcp.repeated_reads import RepeatedReads

TEXT = "line\n" * 200


def shown(reads: RepeatedReads, text: str = TEXT, **arguments: Any) -> bool:
    """Whether the text is sent."""
    result = Result("success", text)
    reads.replace_text({"path": "a.py", **arguments}, result)
    assert result.text == text or "'a.py'" in result.text
    return result.text == text


def test_the_same_lines_are_sent_once_and_again_when_asked_once_more() -> None:
    reads = RepeatedReads()
    assert [shown(reads) for _ in range(4)] == [True, False, True, False]


def test_other_lines_other_text_or_force_are_sent() -> None:
    reads = RepeatedReads()
    assert shown(reads)
    assert shown(reads, offset=2)
    assert shown(reads, TEXT + "more")
    assert shown(reads, TEXT + "more", force=True)
    assert not shown(reads, TEXT + "more")
    reads.clear()
    assert shown(reads, offset=2)


def test_short_texts_and_errors_are_sent() -> None:
    reads = RepeatedReads()
    assert [shown(reads, "short") for _ in range(2)] == [True, True]
    failed = Result("error", TEXT)
    for _ in range(2):
        reads.replace_text({"path": "a.py"}, failed)
    assert failed.text == TEXT


def test_what_was_read_long_ago_is_sent() -> None:
    reads = RepeatedReads()
    for line in range(1, 60):
        assert shown(reads, offset=line)
    assert not shown(reads, offset=59)
    assert shown(reads, offset=1)


def test_the_bounds_are_exact() -> None:
    reads = RepeatedReads()
    assert [shown(reads, "x" * size) for size in (399, 399, 400, 400)] == [True, True, True, False]
    reads.clear()
    for line in range(50):
        assert shown(reads, offset=line)
    assert not shown(reads, offset=0)
    for line in range(100, 102):  # fifty are remembered: the first is forgotten now, and no other
        assert shown(reads, offset=line)
    assert [shown(reads, offset=line) for line in (2, 1)] == [False, True]


def test_pictures_are_sent() -> None:
    reads = RepeatedReads()
    for _ in range(2):
        result = Result("success", TEXT, images=(Image(b"x", "image/png"),))
        reads.replace_text({"path": "a.py"}, result)
        assert result.text == TEXT
