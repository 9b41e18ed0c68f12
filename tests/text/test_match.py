"""An edit finds the one place that is meant, or none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolroll import ToolError
from toolroll.text import match


@pytest.mark.parametrize(
    ("text", "old", "new", "options", "expected", "count"),
    [
        ("a b c", "b", "B", {}, "a B c", 1),
        ("a b c", " b", "", {}, "a c", 1),
        ("x x x", "x", "y", {"every": True}, "y y y", 3),
        ("aaaa", "aa", "b", {"every": True}, "bb", 2),
        ("1\nx\n3\nx\n5\n", "x", "y", {"near_line": 4}, "1\nx\n3\ny\n5\n", 1),
        ("1\nx\n3\nx\n5\n", "x", "y", {"near_line": 1}, "1\ny\n3\nx\n5\n", 1),
        ("a\r\nb\r\nc\r\n", "a\nb", "x\ny", {}, "x\r\ny\r\nc\r\n", 1),
        ("a\r\nb\r\n", "a", "x\ny", {}, "x\r\ny\r\nb\r\n", 1),
        ("a\nb\r\nc", "c", "x\ny", {}, "a\nb\r\nx\r\ny", 1),
        ("cost", "cost", r"$& \1 \g<0>", {}, r"$& \1 \g<0>", 1),
    ],
)
def test_replace(text, old, new, options, expected, count):
    found = match.replace(text, old, new, **options)
    assert (found.text, found.count) == (expected, count)


@pytest.mark.parametrize(
    ("text", "old", "new", "options", "code", "words"),
    [
        ("abc", "z", "y", {}, "NotFound", "not found"),
        ("abc", "", "y", {}, "ValidationError", "`old` is required"),
        ("abc", "b", "b", {}, "ValidationError", "the same"),
        ("x\nx\nx\n", "x", "y", {}, "Conflict", r"occurs 3 times \(multiple matches, lines 1, 2, 3\)"),
        ("x\n1\nx\n", "x", "y", {"near_line": 2}, "Conflict", "occurs 2 times"),
        ("x x", "x", "y", {"near_line": 1}, "Conflict", "occurs 2 times"),
    ],
)
def test_what_is_not_certain_is_refused(text, old, new, options, code, words):
    with pytest.raises(ToolError, match=words) as caught:
        match.replace(text, old, new, **options)
    assert caught.value.code == code


@given(
    st.text("ab\n", max_size=8),
    st.text("ab\n", min_size=1, max_size=3),
    st.text("ab\n", max_size=8),
    st.text("xy"),
)
def test_nothing_outside_the_place_changes(before, old, after, new):
    text = before + old + after
    try:
        found = match.replace(text, old, new)
    except ToolError:
        assert text.count(old) > 1 or text.find(old) != text.rfind(old) or old == new
        return
    at = text.index(old)
    assert found.text == text[:at] + new + text[at + len(old) :]
