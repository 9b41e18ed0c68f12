"""Differences, taken apart."""

import pytest

from toolroll.text.git.changes import Diff, DiffPart, FileCounts, parse_counts, parse_part

PATCH = "diff --git a/a b/a\n@@ -1 +1 @@\n-1\n+2\n"


@pytest.mark.parametrize(
    ("printed", "files", "patch"),
    [
        ("", [], ""),
        (f"1\t1\ta\0\0{PATCH}", [FileCounts("a", 1, 1)], PATCH),
        (f"1\t1\ta\tb\0\0{PATCH}", [FileCounts("a\tb", 1, 1)], PATCH),
        ("-\t-\tx.png\0\0Binary files differ\n", [FileCounts("x.png", None, None)], "Binary files differ\n"),
        (f"0\t0\t\0old\0new\x003\t2\tc\0\0{PATCH}", [FileCounts("new", 0, 0, "old"), FileCounts("c", 3, 2)], PATCH),
        ("1\t0\ta\0", [FileCounts("a", 1, 0)], ""),
        ("1\t0\ta\x001\t0", [FileCounts("a", 1, 0)], ""),
        ("1\t0\ta\0\0with a \0 inside", [FileCounts("a", 1, 0)], "with a \0 inside"),
    ],
)
def test_counts_and_patch(printed, files, patch):
    assert parse_counts(printed) == (files, patch)


def test_paths_are_those_of_the_workspace():
    files, _ = parse_counts("0\t0\t\0old\0new\0", inside="sub/")
    assert files == [FileCounts("sub/new", 0, 0, "sub/old")]


def test_one_file():
    assert str(Diff([parse_part("Staged", f"1\t1\ta\0\0{PATCH}")])) == f"Staged: 1 file, +1 -1\n{PATCH.rstrip()}"


def test_several_files_are_listed_first():
    files = [FileCounts("a", 1, 1), FileCounts("new", 0, 0, "old"), FileCounts("x.png", None, None)]
    assert str(DiffPart("Compared with HEAD", files, PATCH)) == (
        f"Compared with HEAD: 3 files, +1 -1\n  a +1 -1\n  old -> new +0 -0\n  x.png binary\n{PATCH.rstrip()}"
    )


def test_no_difference():
    assert parse_part("Staged", "") is None
    assert str(Diff()) == "No differences. (Untracked files are not compared.)"
