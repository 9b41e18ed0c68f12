"""Lines: numbers from 1, inclusive ends, endings as the file has them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolroll import ToolError
from toolroll.text import lines


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("a", ["a"]),
        ("a\n", ["a\n"]),
        ("a\nb", ["a\n", "b"]),
        ("a\r\nb\r\n", ["a\r\n", "b\r\n"]),
        ("a\x0cb\u2028c\rd\n", ["a\x0cb\u2028c\rd\n"]),  # only a line feed ends a line
        ("\n\n", ["\n", "\n"]),
    ],
)
def test_split(text, expected):
    assert lines.split(text) == expected


def test_numbers_with_their_nouns():
    assert [lines.counted(number, "file") for number in (0, 1, 2)] == ["0 files", "1 file", "2 files"]
    assert [lines.line_range(3, 3), lines.line_range(3, 5)] == ["line 3", "lines 3-5"]


@given(st.text(alphabet="ab\r\n\x0c\u2028"))
def test_split_loses_nothing(text):
    assert "".join(lines.split(text)) == text


@pytest.mark.parametrize(
    ("text", "line", "content", "expected"),
    [
        ("a\nb\n", 1, "x\n", "x\na\nb\n"),
        ("a\nb\n", 2, "x", "a\nx\nb\n"),
        ("a\nb\n", 3, "x\n", "a\nb\nx\n"),
        ("a\nb\n", 3, "x", "a\nb\nx\n"),
        ("a\nb", 3, "x", "a\nb\nx"),
        ("a\nb", None, "x\n", "a\nb\nx\n"),
        ("", 1, "x\n", "x\n"),
        ("a\r\nb\r\n", 2, "x\ny\n", "a\r\nx\r\ny\r\nb\r\n"),
    ],
)
def test_insert(text, line, content, expected):
    assert lines.insert(text, line, content) == expected


@pytest.mark.parametrize(
    ("text", "start", "end", "content", "expected"),
    [
        ("a\nb\nc\n", 2, 2, "x\n", "a\nx\nc\n"),
        ("a\nb\nc\n", 2, 2, "x", "a\nx\nc\n"),
        ("a\nb\nc\n", 1, 3, "x\n", "x\n"),
        ("a\nb\nc\n", 2, 3, "", "a\n"),
        ("a\nb\nc", 3, 3, "x", "a\nb\nx"),
        ("a\r\nb\r\n", 2, 2, "x", "a\r\nx\r\n"),
        ("a\nb", 2, 2, "", "a\n"),
        ("a\r\nb\r\n", 1, 1, "x\ny", "x\r\ny\r\nb\r\n"),
    ],
)
def test_replace(text, start, end, content, expected):
    assert lines.replace(text, start, end, content) == expected


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: lines.insert("a\n", 3, "x"), "Use 1 to 2"),
        (lambda: lines.insert("a\n", 1, ""), "is empty"),
        (lambda: lines.replace("a\n", 1, 2, "x"), r"has 1 line\."),
        (lambda: lines.replace("a\nb\n", 2, 1, "x"), "is after"),
    ],
)
def test_lines_that_are_not_there(call, words):
    with pytest.raises(ToolError, match=words):
        call()


def test_fitting_cuts_long_lines_and_stops_when_full():
    assert lines.cut_to_fit(["x" * 20, "b"], 10, 1000) == ["xxxxxxxxxx... [10 more]", "b"]
    assert lines.cut_to_fit(["aaaa"] * 10, 100, 30) == ["aaaa", "aaaa"]
    assert lines.cut_to_fit(["a" * 50], 100, 5) == ["a" * 50]


@given(st.lists(st.sampled_from([b"\n", b"x", b"word" * 9, b"line " * 30 + b"\n", b"\r\n", b"\n" * 700])), st.data())
def test_line_feeds_are_counted_and_found(pieces, data):
    text = b"".join(pieces) * 3
    end = data.draw(st.integers(0, len(text)))
    assert lines.feeds(text) == text.count(b"\n")
    assert lines.feeds(text, end) == text[:end].count(b"\n")
    expected = data.draw(st.integers(0, 2 * len(text)))
    assert lines.as_many(text, expected) == text.count(b"\n")
    if number := text.count(b"\n"):
        wanted = data.draw(st.integers(1, number))
        at = lines.nth_feed(text, wanted)
        assert (text[at : at + 1], text[:at].count(b"\n")) == (b"\n", wanted - 1)


def test_many_pieces_are_counted_as_one():
    text = (b"x" * 60 + b"\n") * 9_000 + b"\n" * 300_000
    assert (lines.feeds(text), lines.feeds(text, 540_000)) == (309_000, 540_000 // 61)
    assert lines.nth_feed(text, 9_000) == 9_000 * 61 - 1


@pytest.mark.parametrize("expected", [0, 1, 15, 16, 990, 1_000, 1_066, 1_067, 2_000, 100_000])
def test_as_many_is_right_whatever_is_expected(expected):
    assert lines.as_many((b"x" * 60 + b"\n") * 1_000 + b"rest", expected) == 1_000


def test_a_line_feed_that_is_not_there():
    with pytest.raises(ValueError, match="not found"):
        lines.nth_feed(b"a\n", 2)


@pytest.mark.parametrize("content", ["new", "new\n", "new\n\n", "\nnew", "\n\nnew\n"])
@pytest.mark.parametrize("text", ["a\nb\n", "a\nb", "a\r\nb\r\n", "a\r\nb", ""])
def test_whole_lines_are_never_glued(text, content):
    for line in range(1, len(lines.split(text)) + 2):
        made = lines.insert(text, line, content).replace("\r\n", "\n").split("\n")
        assert made.count("new") == 1
        assert [one for one in made if one in "ab" and one] == text.split()
