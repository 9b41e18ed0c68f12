"""Diffs as tools write them, and as models do."""

import pytest

from toolroll import ToolError
from toolroll.text.patch.model import FilePatch, Hunk
from toolroll.text.patch.unified import parse


def lines(*marked: str) -> tuple[str, tuple[str, ...]]:
    """The marks and the texts of lines."""
    return "".join(line[0] for line in marked), tuple(line[1:] for line in marked)


HUNK = "@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
READ = Hunk(*lines(" a", "-b", "+c"), 1, 1, counted=True, line=3)


def test_a_plain_diff_is_read_whole():
    text = (
        "--- a/x.py\t2024-01-01 10:00:00.000000000 +0100\n+++ b/x.py\t2024-01-02\n"
        "@@ -3 +3,2 @@ def f():\n-a\n+b\n+c\n@@ -9,2 +10,1 @@\n d\n-e\n"
        "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+n\n"
        "--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-g\n"
    )
    assert parse(text) == [
        FilePatch(
            "change",
            "a/x.py",
            "b/x.py",
            (
                Hunk(*lines("-a", "+b", "+c"), 3, 3, "def f():", counted=True, line=3),
                Hunk(*lines(" d", "-e"), 9, 10, counted=True, line=7),
            ),
            line=1,
        ),
        FilePatch("create", None, "b/new", (Hunk(*lines("+n"), 0, 1, counted=True, line=12),), line=10),
        FilePatch("delete", "a/gone", None, (Hunk(*lines("-g"), 1, 0, counted=True, line=16),), line=14),
    ]


def test_a_git_diff_is_read_whole():
    text = (
        "diff --git a/run b/run\nold mode 100644\nnew mode 100755\n"
        "diff --git a/old name b/new name\nsimilarity index 90%\nrename from old name\nrename to new name\n"
        "index 1..2 100644\n--- a/old name\t\n+++ b/new name\t\n"
        + HUNK
        + "diff --git a/e b/e\nnew file mode 100755\nindex 0000000..e69de29\n"
        "diff --git a/d b/d\ndeleted file mode 100644\nindex e69de29..0000000\n"
        "diff --git a/c b/c2\nsimilarity index 100%\ncopy from c\ncopy to c2\n"
    )
    assert parse(text) == [
        FilePatch("change", "a/run", "b/run", (), 0o100644, 0o100755, git=True, line=1),
        FilePatch(
            "rename",
            "old name",
            "new name",
            (Hunk(*lines(" a", "-b", "+c"), 1, 1, counted=True, line=11),),
            0o100644,
            0o100644,
            git=True,
            bare_names=True,
            line=4,
        ),
        FilePatch("create", "a/e", "b/e", (), None, 0o100755, git=True, line=15),
        FilePatch("delete", "a/d", "b/d", (), 0o100644, None, git=True, line=18),
        FilePatch("copy", "c", "c2", git=True, bare_names=True, line=21),
    ]


@pytest.mark.parametrize(
    ("header", "old", "new"),
    [
        ("--- a/x\n+++ b/x\n", "a/x", "b/x"),
        ("--- x\n+++ x\n", "x", "x"),
        ("--- a/x y\t\n+++ b/x y\t\n", "a/x y", "b/x y"),
        ("--- a/x y 2024-01-02 03:04:05\n+++ b/x y\n", "a/x y", "b/x y"),
        ("--- x.orig\tMon Jan  1 10:00:00 2024\n+++ x\tMon Jan  1 10:00:00 2024\n", "x.orig", "x"),
        ('--- "a/t\\tb\\"\\\\"\n+++ "b/t\\tb\\"\\\\"\n', 'a/t\tb"\\', 'b/t\tb"\\'),
        ('--- "a/\\303\\274"\n+++ "b/\\303\\274"\n', "a/ü", "b/ü"),
        ('--- "a/\\377"\n+++ "b/\\377"\n', "a/\udcff", "b/\udcff"),
        ("--- a/x\r\n+++ b/x\r\n", "a/x", "b/x"),
        ("Index: x\n====\n--- x\t(revision 1)\n+++ x\t(working copy)\n", "x", "x"),
        ("diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n", "a/x", "b/x"),
    ],
)
def test_names(header, old, new):
    (file,) = parse(header + HUNK)
    assert (file.old, file.new, file.kind) == (old, new, "change")


@pytest.mark.parametrize(
    ("rest", "old", "new"),
    [
        ("a/x b/x", "a/x", "b/x"),
        ("a/x y b/x y", "a/x y", "b/x y"),
        ("x y x y", "x y", "x y"),
        ("a/b/c b/b/c", "a/b/c", "b/b/c"),
        ("left/x y right/x y", "left/x y", "right/x y"),
        ('"a/t\\tb" "b/t\\tb"', "a/t\tb", "b/t\tb"),
        ('"a/t\\tb" b/x', "a/t\tb", "b/x"),
        ('a/x "b/t\\tb"', "a/x", "b/t\tb"),
    ],
)
def test_names_where_only_the_git_header_has_them(rest, old, new):
    (file,) = parse(f"diff --git {rest}\nold mode 100644\nnew mode 100755\n")
    assert (file.old, file.new) == (old, new)


ONE = "--- a/x\n+++ b/x\n"


@pytest.mark.parametrize(
    "text",
    [
        ONE + HUNK,
        ONE + HUNK.rstrip("\n"),
        ONE + HUNK.replace("-1,2 +1,2", "-1,9 +1,9"),
        ONE + HUNK.replace("-1,2 +1,2", "-1 +1"),
        ONE + HUNK.replace("-1,2 +1,2", "-1,0 +1,0"),
        ONE + HUNK + "\n\n",
        ONE + HUNK + "-- \n2.39.5\n\n",
        ONE + HUNK.replace("-1,2 +1,2", "-1,9 +1,9") + "-- \n2.39.5\n",
        ONE + HUNK.replace("-1,2 +1,2", "-1,9 +1,9") + "\nThis changes b.\n",
        f"```diff\n{ONE}{HUNK}```",
        f"```\n{ONE}{HUNK}```\n",
        "\ufeff" + ONE + HUNK,
    ],
)
def test_what_surrounds_a_hunk_is_no_part_of_it(text):
    (file,) = parse(text)
    assert file.hunks == (READ._replace(counted="-1,2 +1,2" in text),)


def test_a_series_of_mails_is_read_through():
    mail = (
        "From 1234 Mon Sep 17 00:00:00 2001\nFrom: A <a@b.c>\nSubject: [PATCH] a\n\n- a point\n+ another\n---\n"
        " x | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n\ndiff --git a/x b/x\nindex 1..2 100644\n"
        + ONE
        + HUNK
        + "-- \n2.39.5\n\n"
    )
    found = parse(mail + mail)
    hunks = [(one.old, [(hunk.marks, hunk.texts) for hunk in one.hunks]) for one in found]
    assert hunks == [("a/x", [(READ.marks, READ.texts)])] * 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Blank lines that lost their leading space, within and at the end of a hunk.
        ("@@ -1,4 +1,4 @@\n a\n\n-b\n+c\n\n", [lines(" a", " ", "-b", "+c", " ")]),
        ("@@ -1,9 +1,9 @@\n a\n\n-b\n+c\n\n", [lines(" a", " ", "-b", "+c")]),
        # Lines that look like headers, as counts tell and as content tells.
        ("@@ -1,2 +1,2 @@\n a\n--- b\n+++ c\n", [lines(" a", "--- b", "+++ c")]),
        ("@@ -1,2 +1,2 @@\n a\n--- b\n+++ c\n@@ -9 +9 @@\n-d\n+e\n", [lines(" a", "--- b", "+++ c"), lines("-d", "+e")]),
        ("@@ -1,2 +1 @@\n a\n-- \n", [lines(" a", "-- ")]),
        # Counts that are too small or too large, with another hunk behind.
        ("@@ -1,1 +1,1 @@\n a\n-b\n+c\n d\n@@ -9 +9 @@\n-e\n", [lines(" a", "-b", "+c", " d"), lines("-e")]),
        ("@@ -1,7 +1,7 @@\n a\n-b\n+c\n d\n\n@@ -9 +9 @@\n-e\n", [lines(" a", "-b", "+c", " d"), lines("-e")]),
        ("@@ -1,7 +1,7 @@\n a\n-b\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-c\n+d\n", [lines(" a", "-b"), lines("-c", "+d")]),
        # Headers without numbers.
        ("@@\n-a\n+b\n@@ @@\n-c\n@@ ... @@\n-d\n", [lines("-a", "+b"), lines("-c"), lines("-d")]),
        # Carriage returns belong to the lines.
        ("@@ -1,2 +1,2 @@\r\n a\r\n-b\r\n+c\r\n", [lines(" a\r", "-b\r", "+c\r")]),
        ("@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\n", [lines(" a\r", "-b\r", "+c")]),
    ],
)  # fmt: skip
def test_where_a_hunk_ends(text, expected):
    assert [(hunk.marks, hunk.texts) for file in parse(ONE + text) for hunk in file.hunks] == expected


@pytest.mark.parametrize(
    ("text", "hunk"),
    [
        ("@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n", Hunk(*lines("-a", "+a"), 1, 1, old_open=True, counted=True, line=3)),
        ("@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n", Hunk(*lines("-a", "+a"), 1, 1, new_open=True, counted=True, line=3)),
        ("@@ -1 +1,2 @@\n+b\n a\n\\ No newline\n", Hunk(*lines("+b", " a"), 1, 1, old_open=True, new_open=True, counted=True, line=3)),
        ("@@ -1 +1 @@\r\n-a\r\n+b\r\n\\ No newline\r\n", Hunk(*lines("-a\r", "+b"), 1, 1, new_open=True, counted=True, line=3)),
        ("@@ def f() @@\n-a\n", Hunk(*lines("-a"), None, None, "def f()", line=3)),
    ],
)  # fmt: skip
def test_what_a_hunk_says_of_itself(text, hunk):
    (file,) = parse(ONE + text)
    assert file.hunks == (hunk,)


def test_a_date_of_1970_means_that_there_is_no_file():
    never = "\t1970-01-01 00:00:00.000000000 +0000\n"
    made, gone = parse(
        f"--- a/x{never}+++ b/x\t2024-01-01\n@@ -0,0 +1 @@\n+a\n--- a/y\t2024\n+++ b/y{never}@@ -1 +0,0 @@\n-a\n"
    )
    assert (made.kind, gone.kind) == ("create", "delete")


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("hello\n", "ValidationError", "There is no patch in this text"),
        (HUNK, "ValidationError", "Line 1 of the patch: a hunk without a file"),
        ("--- a/x\n" + HUNK, "ValidationError", r"Line 2 of the patch: '\+\+\+ b/name' is missing"),
        ("+++ b/x\n" + HUNK, "ValidationError", "Line 1 of the patch: '--- a/name' is missing"),
        (ONE, "ValidationError", "Line 1 of the patch: there is no hunk for 'b/x'"),
        (ONE + "@@ -1 +1 @@\n", "ValidationError", "Line 3 of the patch: this hunk has no lines"),
        (ONE + "@@ -1,3 +1,3 @@\n a\nb\n-c\n+d\n", "ValidationError", "Line 5 of the patch: 'b' stands inside a hunk"),
        (ONE + "@@ -1,2 +1 @@\n-a\n\\ No newline\n-b\n", "ValidationError", "Line 3 .* not the last of the old file"),
        (ONE + "@@ -1,2 +1 @@\n\\ No newline\n-b\n", "ValidationError", "Line 4 .* no line before it"),
        ("diff --git a/x b/x\n", "ValidationError", "there is no hunk for 'b/x'"),
        ("diff --git a/x b/x\nnew file mode banana\n", "ValidationError", "'banana' is no file mode"),
        ("--- /dev/null\n+++ /dev/null\n" + HUNK, "ValidationError", "both names"),
        ("*** a/x\n--- b/x\n***************\n*** 1 ****\n! a\n", "Unsupported", "context diff"),
        ("diff --cc x\nindex 1,2..3\n--- a/x\n+++ b/x\n@@@ -1 -1 +1 @@@\n", "Unsupported", "diff of a merge"),
        ("diff --git a/i.png b/i.png\nindex 1..2\nGIT binary patch\nliteral 3\n", "ValidationError", "has not the 3 bytes"),
        ("diff --git a/i.png b/i.png\nindex 1..2\nBinary files a/i.png and b/i.png differ\n", "Unsupported", "'i.png' is a binary"),
        ("Binary files a/i.png and b/i.png differ\n", "Unsupported", "a/i.png"),
        ("diff --git a/l b/l\nnew file mode 120000\n", "SecurityError", "symbolic link"),
        ("diff --git a/l b/l\nindex 1..2 120000\n" + ONE + HUNK, "SecurityError", "symbolic link"),
        ("diff --git a/l b/l\ndeleted file mode 120000\n", "SecurityError", "symbolic link"),
        ("diff --git a/x b/y\nnew file mode 100644\ncopy from x\ncopy to y\n", "ValidationError", "contradicts"),
        ("diff --git a/f b/f\nnew file mode 100644\n--- /dev/null\n+++ b/g\n" + HUNK, "ValidationError", "same name in both"),
        ("diff --git a/m b/m\nnew file mode 160000\n", "Unsupported", "submodule"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said(text, code, words):
    with pytest.raises(ToolError, match=words) as caught:
        parse(text)
    assert caught.value.code == code
