"""A short diff for the eye."""

import pytest

from toolroll.text.diff import unified


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("a\n", "a\n", ""),
        ("", "a\n", "@@ -1,0 +1,1 @@\n+a"),
        ("a\n", "", "@@ -1,1 +1,0 @@\n-a"),
        ("a\nb\nc\n", "a\nB\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c"),
        ("1\n2\n3\n4\n5\n6\n7\n", "1\n2\n3\n4\n5\n6\nX\n", "@@ -5,3 +5,3 @@\n 5\n 6\n-7\n+X"),
        ("a\na\n", "a\na\na\n", "@@ -1,2 +1,3 @@\n a\n a\n+a"),
        ("x\r\n", "y\r\n", "@@ -1,1 +1,1 @@\n-x\n+y"),
    ],
)
def test_changed_lines_with_two_around_them(before, after, expected):
    assert unified(before, after) == expected


def test_two_changes_far_apart_are_two_hunks():
    text = "".join(f"{n}\n" for n in range(30))
    shown = unified(text, text.replace("\n3\n", "\nX\n").replace("\n25\n", "\nY\n"))
    assert shown.count("@@ -") == 2


def test_a_huge_change_is_bounded():
    shown = unified("x\n" * 20_000, "y\n" * 20_000)
    assert len(shown.split("\n")) == 81
    assert "more lines of this diff" in shown
