"""Every occurrence is replaced, and told by its line and column."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolroll import ToolError
from toolroll.text import diff
from toolroll.text.edit.replace import Finder

TEXTS = st.lists(st.sampled_from(["ab", "a", "\n", "b\n", "x", "\r\n"]), max_size=20).map("".join)


@given(TEXTS)
def test_places_are_lines_and_columns(text):
    made = Finder("ab", regex=False, case=True, words=False).replace(text, "AB\n")
    wanted = [
        (number, column + 1)
        for number, line in enumerate(text.split("\n"), 1)
        for column in range(len(line))
        if line.startswith("ab", column)
    ]
    assert made.places == wanted
    assert [text[start:end] for start, end in made.spans] == ["ab"] * len(wanted)


@given(TEXTS)
def test_what_stays_the_same_changes_nothing_of_the_diff(text):
    made = Finder("ab", regex=False, case=True, words=False).replace(text, "b")
    same = made.same(text)
    assert text[: same.head] == made.text[: same.head]
    assert text[len(text) - same.tail :] == made.text[len(made.text) - same.tail :]
    assert diff.unified(text, made.text, same) == diff.unified(text, made.text)


@pytest.mark.parametrize(
    ("text", "find", "replacement", "expected"),
    [
        ("v = 1\r\nb\n", "v = .*", "v = 2", "v = 2\r\nb\n"),  # a line's ending is no part of it
        ("a;\r\nb\r\na;\r\n", ";$", "", "a\r\nb\r\na\r\n"),
        ("a\r\nb\r\nc\n", "(a)\\n(b)", "$2\n$1", "b\r\na\r\nc\n"),
        ("a\r\nb\r\n", "\\r\\n", "\n", "a\nb\n"),  # unless it is named
        ("foo \u00e9foo foo\u00e9", "foo", "x", "x \u00e9foo foo\u00e9"),
    ],
)
def test_by_a_regular_expression(text, find, replacement, expected):
    assert Finder(find, regex=True, case=True, words=find == "foo").replace(text, replacement).text == expected


def test_a_group_as_others_write_it_is_refused():
    with pytest.raises(ToolError, match=r"Write the group as \$1"):
        Finder("(a)", regex=True, case=True, words=False).replace("a", r"<\1>")
    assert Finder("(?:a)", regex=True, case=True, words=False).replace("a", r"<\1>").text == r"<\1>"


@pytest.mark.parametrize("find", ["line", "e 3\nlin", "\n", "line 7\nline 8\n", "e"])
@pytest.mark.parametrize("replacement", ["line", "lines", "inline", "e 3\nlIn", "", "x\ny\n", "line 7\nline 9\n"])
def test_what_is_the_same_on_both_sides_changes_no_diff(find, replacement):
    text = "".join(f"line {number}\n" for number in range(12))
    made = Finder(find, regex=False, case=True, words=False).replace(text, replacement)
    assert made.text == text.replace(find, replacement)
    assert diff.unified(text, made.text, made.same(text)) == diff.unified(text, made.text)
