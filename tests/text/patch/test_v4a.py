"""The form between `*** Begin Patch` and `*** End Patch`."""

from dataclasses import replace

import pytest

from toolroll import ToolError
from toolroll.text.patch.model import FilePatch, Hunk
from toolroll.text.patch.plan import parse


def lines(*marked: str) -> tuple[str, tuple[str, ...]]:
    """The marks and the texts of lines."""
    return "".join(line[0] for line in marked), tuple(line[1:] for line in marked)


WHOLE = """*** Begin Patch
*** Add File: new.txt
+one
+
+two

*** Delete File: gone.txt
*** Update File: a.py
*** Move to: b.py
@@ class A
@@ def f(self):
 x

-y
+z
@@
-last
*** End of File
*** Update File: c.py
-p
+q
*** End Patch
"""

READ = [
    FilePatch("create", None, "new.txt", (Hunk(*lines("+one", "+", "+two"), 0, 1, line=3),), bare_names=True, line=2),
    FilePatch("delete", "gone.txt", None, bare_names=True, blind=True, line=7),
    FilePatch(
        "rename",
        "a.py",
        "b.py",
        (
            Hunk(*lines(" x", " ", "-y", "+z"), anchors=("class A", "def f(self):"), ordered=True, line=10),
            Hunk(*lines("-last"), at_end=True, ordered=True, line=16),
        ),
        bare_names=True,
        line=8,
    ),
    FilePatch("change", "c.py", "c.py", (Hunk(*lines("-p", "+q"), ordered=True, line=20),), bare_names=True, line=19),
]  # fmt: skip


def test_it_is_read_whole():
    assert parse(WHOLE) == READ


def test_markers_may_be_padded_or_missing():
    padded = WHOLE.replace("*** ", "  *** ").replace("  *** End of File", "*** End of File")
    assert parse(padded) == READ
    bare = [
        replace(one, line=one.line - 1, hunks=tuple(h._replace(line=h.line - 1) for h in one.hunks)) for one in READ
    ]
    assert parse(WHOLE.removeprefix("*** Begin Patch\n").removesuffix("*** End Patch\n")) == bare


@pytest.mark.parametrize("wrapped", ["apply_patch <<'EOF'\n{}EOF\n", "```\n{}```", "Here:\n\n{}\nDone."])
def test_what_it_is_wrapped_in_does_not_matter(wrapped):
    text = WHOLE.replace("*** Begin Patch", "*** Begin Patch  ")
    assert [(one.kind, one.old, one.new, len(one.hunks)) for one in parse(wrapped.format(text))] == [
        (one.kind, one.old, one.new, len(one.hunks)) for one in READ
    ]


def patch(body: str) -> str:
    return f"*** Begin Patch\n{body}*** End Patch\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("*** Begin Patch\n*** Update File: a\n-x\n", "Line 4 .*'\\*\\*\\* End Patch' is missing"),
        (patch(""), "names no file"),
        (patch("hello\n"), "Line 2 .*'hello' is not expected here"),
        (patch("*** Add File: a\nx\n"), "Line 3 .*must begin with '\\+'"),
        (patch("*** Update File: a\n"), "Line 2 .*nothing is said about 'a'"),
        (patch("*** Update File: a\n@@ def f\n"), "Line 3 .*no lines follow"),
        (patch("*** Update File: a\n x\ny\n-z\n"), "Line 4 .*'y' does not begin with"),
        (patch("*** Update File: a\n-x\n*** Move to: b\n"), "Line 4 .*not expected here"),
    ],
)
def test_what_cannot_be_read_is_said(text, words):
    with pytest.raises(ToolError, match=words) as caught:
        parse(text)
    assert caught.value.code == "ValidationError"
