"""Underlined headings: which lines they are, how deep, and what only looks like one."""

import pytest

from toolroll.text.knowledge.chunks import find_underlined

PAGE = """\
=====
Title
=====

Text.

Section
=======

Part
----
Text.

Other
=====
"""


def test_signs_are_levels_in_the_order_of_their_appearance():
    assert list(find_underlined(PAGE.split("\n"))) == [
        (1, 3, 1, "Title"),
        (7, 8, 2, "Section"),
        (10, 11, 3, "Part"),
        (14, 15, 2, "Other"),
    ]


@pytest.mark.parametrize("sign", ["=", "-", "~", "^", '"', "'", "*", "`", "#", "+", "."])
def test_any_sign_will_do(sign):
    assert list(find_underlined(["Name", sign * 4])) == [(1, 2, 1, "Name")]


def test_a_title_between_two_lines_may_be_indented():
    assert list(find_underlined(["=======", " Title ", "======="])) == [(1, 3, 1, "Title")]


@pytest.mark.parametrize(
    "lines",
    [
        ["A heading", "---"],  # shorter than the words
        ["One line", "of a paragraph", "--------------"],
        ["", "-----", ""],
        ["  indented", "----------"],
        ["====  ====", "a     b", "====  ===="],
        ["-----", "-----"],
        ["ab", "=="],
        ["Mixed", "=-=-="],
        [],
        ["x" * 201, "=" * 201],
    ],
)
def test_what_only_looks_like_a_heading(lines):
    assert list(find_underlined(lines)) == []


def test_a_heading_right_below_another_one_counts():
    assert list(find_underlined(["Title", "=====", "Part", "----"])) == [(1, 2, 1, "Title"), (3, 4, 2, "Part")]
