"""Hunks that stand where they say go in without a look at all lines; in doubt there is such a look."""

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolroll.text.patch.direct import replaced
from toolroll.text.patch.plan import parse


def hunks(text: str):
    return parse("--- a/f\n+++ b/f\n" + text)[0].hunks


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
        ("aab\nab\n", "@@ -1,1 +1,1 @@\n-ab\n+c\n", None),
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
