"""Hunks that stand where they say go in without a look at all lines; in doubt there is such a look."""

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolroll import ToolError
from toolroll.text.patch import direct
from toolroll.text.patch.apply import Applied, apply
from toolroll.text.patch.plan import parse


def hunks(text: str):
    return parse("--- a/f\n+++ b/f\n" + text)[0].hunks


def replaced(text: str, given) -> str | None:
    """The text with the hunks in it, when that takes no closer look."""
    return None if direct.places(text, given) is None else apply(text, given).text


LINES = st.lists(st.sampled_from(["", "a", "b", "aa", "  a", "def f():", "def g():"]), max_size=14)


@given(LINES, LINES, st.integers(0, 3))
def test_a_true_diff_gives_the_other_file(before, after, context):
    old, new = ("".join(f"{line}\n" for line in lines) for lines in (before, after))
    made = list(difflib.unified_diff(old.splitlines(True), new.splitlines(True), "a/f", "b/f", n=context))
    if not made:
        return
    found = parse("".join(made))[0].hunks
    shown = all(hunk.old for hunk in found)
    assert replaced(old, found) == (new if shown else None)
    back = [hunk.reversed() for hunk in found]
    assert replaced(new, back) == (old if all(hunk.old for hunk in back) else None)


TEXT = "def f():\n    x\n    y\n\ndef g():\n    x\n    y\n"
HUNK = "     x\n-    y\n+    z\n"


@pytest.mark.parametrize(
    ("text", "diff", "expected"),
    [
        (TEXT, f"@@ -6,2 +6,2 @@ def g():\n{HUNK}", TEXT[:-6] + "    z\n"),
        (TEXT, f"@@ -2,2 +2,2 @@ def f():\n{HUNK}@@ -6,2 +6,2 @@ def g():\n{HUNK}", TEXT.replace("y", "z")),
        (TEXT * 2, f"@@ -2,2 +2,2 @@ def f():\n{HUNK}@@ -9,2 +9,2 @@ def f():\n{HUNK}", TEXT.replace("y", "z", 1) * 2),
        (TEXT, "@@ -1,2 +1 @@\n-def f():\n     x\n@@ -3,2 +2,1 @@\n     y\n-\n", "    x\n    y\n" + TEXT[22:]),
        (TEXT, "@@ -1,7 +0,0 @@\n" + "".join(f"-{line}\n" for line in TEXT.split("\n")[:-1]), ""),
        # The number or the section says otherwise.
        (TEXT, f"@@ -5,2 +5,2 @@\n{HUNK}", None),
        (TEXT, f"@@ -60,2 +60,2 @@\n{HUNK}", None),
        (TEXT, f"@@ -6,2 +6,2 @@ def f():\n{HUNK}", None),
        (TEXT, f"@@ -6,2 +6,2 @@ def\n{HUNK}", TEXT[:-6] + "    z\n"),
        (TEXT, f"@@ -6,2 +6,2 @@ de\n{HUNK}", None),
        (TEXT, "@@ -1,2 +1,2 @@ def f():\n def f():\n-    x\n+    z\n", None),
        (TEXT, f"@@\n{HUNK}", None),
        (TEXT, f"@@ -6,2 +6,2 @@\n{HUNK}@@ -2,2 +2,2 @@\n{HUNK}", None),
        # Half a line is none.
        ("aab\nabb\n", "@@ -1,1 +1,1 @@\n-ab\n+c\n", None),
        ("aab\nab\n", "@@ -1,1 +1,1 @@\n-ab\n+c\n", "aab\nc\n"),
        ("aab\nab\n", "@@ -2,1 +2,1 @@\n-ab\n+c\n", "aab\nc\n"),
        # Line endings, the end of the file and lines without context are for the closer look.
        (TEXT[:-1], f"@@ -6,2 +6,2 @@\n{HUNK}", None),
        (TEXT[:-1], f"@@ -2,2 +2,2 @@\n{HUNK}", TEXT[:-1].replace("y", "z", 1)),
        (TEXT[:-1], f"@@ -6,2 +6,2 @@\n{HUNK}\\ No newline\n", None),
        (TEXT.replace("\n", "\r\n"), f"@@ -2,2 +2,2 @@\n{HUNK}", None),
        ("\ufeff" + TEXT, f"@@ -2,2 +2,2 @@\n{HUNK}", None),
        ("", "@@ -0,0 +1 @@\n+x\n", None),
        # Too many places that look alike are not counted one by one.
        ("x\n" * 40, "@@ -9 +9 @@\n-x\n+y\n", "x\n" * 8 + "y\n" + "x\n" * 31),
        ("x\n" * 40, "@@ -39 +39 @@\n-x\n+y\n", None),
    ],
)  # fmt: skip
def test_replaced(text, diff, expected):
    assert replaced(text, hunks(diff)) == expected


LONG = "".join(f"line {number}\n" for number in range(1, 41)) + TEXT
CHANGE = "@@ -{0},3 +{0},3 @@\n line 7{1}\n-line 8\n+8\n line 9{1}\n"
TWIN = "@@ -{0},2 +{0},2 @@\n     x{1}\n-    y\n+    z\n"
CHANGED = LONG.replace("line 8\n", "8\n")


@pytest.mark.parametrize(
    ("text", "diff", "expected"),
    [
        # Off by as much as the first hunk, which has but one place.
        (LONG, CHANGE.format(9, ""), CHANGED),
        (LONG, CHANGE.format(2, ""), CHANGED),
        (LONG, CHANGE.format(4, "") + TWIN.format(43, ""), CHANGED[:-6] + "    z\n"),
        (LONG[:-1], CHANGE.format(9, ""), CHANGED[:-1]),
        # But not by as much as each other, too far, or without a place that is sure.
        (LONG, CHANGE.format(4, "") + TWIN.format(41, ""), None),
        (LONG, CHANGE.format(4, "") + TWIN.format(39, ""), None),
        (LONG, CHANGE.format(300, ""), None),
        (LONG, TWIN.format(40, ""), None),
        (LONG, TWIN.format(40, "") + "@@ -44 +44 @@\n-    y\n+    z\n", None),
        (LONG.replace("line 20", "line 7\nline 8 \nline 9"), CHANGE.format(9, ""), None),
        # Where its number says it fits too, or is there but for a line that was changed.
        (LONG.replace("line 20", "line 20\n    x"), TWIN.format(40, ""), None),
        ("a\nb\nc\nd\ne\n_\na\nb\nx\nd\ne\n", "@@ -7,5 +7,4 @@\n a\n b\n-c\n d\n e\n", None),
        ("a\nb\nc\nd\ne\n_\na\nb\nx\ny\ne\n", "@@ -7,5 +7,4 @@\n a\n b\n-c\n d\n e\n", "a\nb\nd\ne\n_\na\nb\nx\ny\ne\n"),
        # Blanks at the ends of lines that stay.
        (LONG, CHANGE.format(7, " "), CHANGED),
        (LONG, CHANGE.format(7, "\t") + TWIN.format(42, " "), CHANGED.replace("y", "z", 1)),
        (LONG.replace("line 9", "line 9  "), CHANGE.format(7, ""), CHANGED.replace("line 9", "line 9  ")),
        (LONG, CHANGE.format(7, " ").replace("-line 8", "-line 8 "), None),
        (LONG, CHANGE.format(7, " ").replace("+8", "+8\r"), None),
        (LONG, CHANGE.format(8, " "), None),
        (LONG + "line 7 \nline 8\nline 9 \n", CHANGE.format(7, " "), None),
        (LONG + "line 7 \nline 8\nline 9 ", CHANGE.format(7, " "), None),
        (LONG + "line 7\nline 8\nline 9", CHANGE.format(48, " "), None),
    ],
)  # fmt: skip
def test_hunks_that_are_off_and_hunks_with_blanks(text, diff, expected):
    assert replaced(text, hunks(diff)) == expected


def outcome(text: str, given) -> Applied | str:
    try:
        return apply(text, given)
    except ToolError as error:
        return str(error)


@given(
    st.lists(st.sampled_from(["", "a", "b", "c ", "d", "e", "f", "def f():", "def g():"]), min_size=1, max_size=30),
    st.lists(st.tuples(st.integers(0, 29), st.sampled_from(["+x", "-", "~y"])), min_size=1, max_size=4),
    st.integers(-6, 6),
    st.integers(0, 3),
    st.sampled_from(["", " ", "\t"]),
    st.booleans(),
)
def test_the_closer_look_says_the_same(lines, edits, shift, context, blank, is_open):
    """Whatever goes in directly goes in at the same place, with the same words about it, without the short way."""
    old = [f"{line}\n" for line in lines]
    new = list(old)
    for at, what in sorted(edits, reverse=True):
        if at < len(new):
            new[at : at + (what[0] != "+")] = [f"{what[1:]}\n"] if what[1:] else []
    made = list(difflib.unified_diff(old, new, "a/f", "b/f", n=context))
    if not made:
        return
    marked = [line[:-1] + blank + "\n" if line[0] == " " else line for line in made]
    given = [one._replace(old_start=max(0, one.old_start + shift)) for one in parse("".join(marked))[0].hunks]
    text = "".join(old).removesuffix("\n" if is_open else "")
    with pytest.MonkeyPatch.context() as patched:
        found = direct.places(text, given)
        short = outcome(text, given)
        patched.setattr(direct, "places", lambda *_: None)
        assert found is None or short == outcome(text, given)
