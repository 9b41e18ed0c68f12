"""A short diff for the eye."""

from itertools import takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolroll.text import diff
from toolroll.text.diff import unified


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("a\n", "a\n", ""),
        ("", "a\n", "@@ -1,0 +1,1 @@\n+a"),
        ("a\n", "", "@@ -1,1 +1,0 @@\n-a"),
        ("a\nb\nc\n", "a\nB\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c"),
        ("1\n2\n3\n4\n5\n6\n7\n", "1\n2\n3\n4\n5\n6\nX\n", "@@ -4,4 +4,4 @@\n 4\n 5\n 6\n-7\n+X"),
        ("a\na\n", "a\na\na\n", "@@ -1,2 +1,3 @@\n a\n a\n+a"),
        ("x\r\n", "y\r\n", "@@ -1,1 +1,1 @@\n-x\n+y"),
    ],
)
def test_changed_lines_with_three_around_them(before, after, expected):
    assert unified(before, after) == expected


def test_two_changes_far_apart_are_two_hunks():
    text = "".join(f"{n}\n" for n in range(30))
    shown = unified(text, text.replace("\n3\n", "\nX\n").replace("\n25\n", "\nY\n"))
    assert shown.count("@@ -") == 2


def test_a_huge_change_shows_both_sides_and_is_bounded():
    shown = unified("x\n" * 20_000, "y\n" * 20_000).split("\n")
    assert (len(shown), shown.count("-x"), shown.count("+y")) == (123, 60, 60)
    assert shown[-1] == "[19940 more lines with +]"
    many = unified("".join(f"{n}\n" for n in range(5000)), "".join(f"{n}{'!' * (n % 9 == 0)}\n" for n in range(5000)))
    assert many.split("\n")[-1].endswith("more lines of this diff]")


@pytest.mark.parametrize("line", ["value_{}\n", "same\n"])
def test_changes_far_apart_in_a_long_text_are_hunks_of_their_own(line):
    lines = [line.format(number) for number in range(20_000)]
    changed = [*lines[:5], "new\n", *lines[6:15_000], "other\n", *lines[15_001:]]
    shown = unified("".join(lines), "".join(changed)).split("\n")
    assert (shown.count("+new"), shown.count("+other"), len(shown)) == (1, 1, 18)


def test_of_a_long_line_the_part_that_changes_is_shown():
    shown = unified("a" * 5000 + "b" + "c" * 5000, "a" * 5000 + "X" + "c" * 5000).split("\n")
    assert max(map(len, shown)) < 330
    assert [("b" in shown[1], "X" in shown[2])] == [(True, True)]
    assert shown[1].startswith("-...a")


SOME = st.lists(st.sampled_from(["a\n", "b\n", "\u00e9\u4e2d\n", "\n", "a", "x\r\n"]), max_size=30).map("".join)


def alike(a, b):
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


@given(SOME, SOME)
def test_what_two_texts_have_in_common(a, b):
    head, tail = diff.common_ends(a, b)
    assert head == alike(a, b)
    assert tail == alike(a[head:][::-1], b[head:][::-1])


def test_common_parts_that_are_longer_than_one_look():
    a, b = "x" * 200_001 + "1" + "y" * 100_003, "x" * 200_001 + "22" + "y" * 100_003
    assert diff.common_ends(a, b) == (200_001, 100_003)


@given(SOME, SOME, SOME, SOME)
def test_bytes_give_the_same_diff_whatever_is_known(head, old, new, tail):
    before, after = head + old + tail, head + new + tail
    wanted = diff.unified(before, after)
    sizes = [len(part.encode()) for part in (head, tail)]
    for same in (diff.NOTHING, diff.Same(sizes[0], sizes[1], head.count("\n"))):
        assert diff.unified_bytes(before.encode(), after.encode(), bytes.decode, same) == wanted


@given(SOME, SOME)
def test_a_diff_tells_the_change(before, after):
    """What it shows of the old text, changed as it says, is what it shows of the new one."""
    old, new = before.split("\n"), after.split("\n")
    for hunk in [part for part in diff.unified(before, after).split("@@ -") if part]:
        head, *lines = hunk.removesuffix("\n").split("\n")
        (old_at, olds), (new_at, news) = (
            [int(number) for number in side.split(",")] for side in head.removesuffix(" @@").split(" +")
        )
        for sign, whole, at, count in (("-", old, old_at, olds), ("+", new, new_at, news)):
            shown = [line[1:] for line in lines if line[:1] in (" ", sign)]
            assert shown == [line.rstrip("\r") for line in whole[at - 1 : at - 1 + count]]
