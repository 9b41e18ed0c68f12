"""A whole patch becomes a list of steps, or an error and nothing at all."""

import pytest

from toolroll import ToolError
from toolroll.text.patch.apply import Landed
from toolroll.text.patch.plan import plan
from toolroll.text.patch.tree import PatchStep

FILES = {"x": "a\n", "y": "one\ntwo\nthree\n", "dir/z": "z\n", "empty": "", "a/deep": "a\n"}
AT_1 = (Landed(1, 0, True, 1, 1),)


def planned(patch: str, files: dict[str, str] = FILES, *, strip: int | None = None, reverse: bool = False):
    return plan(patch, strip=strip, reverse=reverse, exists=files.__contains__, read=files.__getitem__)


def diff(old: str, new: str, body: str = "@@ -1 +1 @@\n-a\n+b\n") -> str:
    return f"--- {old}\n+++ {new}\n{body}"


def git(old: str, new: str, *header: str) -> str:
    return f"diff --git a/{old} b/{new}\n" + "".join(f"{line}\n" for line in header)


MADE = "@@ -0,0 +1 @@\n+n\n"
ADDED = (Landed(1, 0, True, 1, 0),)
REMOVED = (Landed(1, 0, True, 0, 1),)
WRITE_X = PatchStep("write", "x", "b\n", hunks=AT_1)


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        (diff("a/x", "b/x"), [WRITE_X]),
        (git("x", "x", "index 1..2 100644") + diff("a/x", "b/x"), [WRITE_X]),
        (git("x", "x", "old mode 100644", "new mode 100755", "index 1..2") + diff("a/x", "b/x"), [PatchStep("write", "x", "b\n", mode=0o755, hunks=AT_1)]),
        (git("x", "x", "old mode 100755", "new mode 100644"), [PatchStep("write", "x", mode=0o644)]),
        (git("n", "n", "new file mode 100644"), [PatchStep("write", "n", "", created=True)]),
        (git("n", "n", "new file mode 100755") + diff("/dev/null", "b/n", MADE), [PatchStep("write", "n", "n\n", mode=0o755, created=True, hunks=ADDED)]),
        (diff("/dev/null", "b/n", MADE), [PatchStep("write", "n", "n\n", created=True, hunks=ADDED)]),
        (diff("a/n", "b/n", MADE), [PatchStep("write", "n", "n\n", created=True, hunks=ADDED)]),
        (diff("a/x", "/dev/null", "@@ -1 +0,0 @@\n-a\n"), [PatchStep("delete", "x", hunks=REMOVED)]),
        (git("empty", "empty", "deleted file mode 100644"), [PatchStep("delete", "empty")]),
        (git("x", "n", "similarity index 100%", "rename from x", "rename to n"), [PatchStep("move", "n", source="x", created=True)]),
        (git("x", "n", "rename from x", "rename to n") + diff("a/x", "b/n"), [PatchStep("move", "n", "b\n", "x", created=True, hunks=AT_1)]),
        (git("x", "n", "copy from x", "copy to n"), [PatchStep("copy", "n", source="x", created=True)]),
        (git("x", "n", "copy from x", "copy to n") + diff("a/x", "b/n"), [PatchStep("copy", "n", "b\n", "x", created=True, hunks=AT_1)]),
        # Steps in an order in which they can be done.
        (diff("a/x", "b/x") + git("x", "n", "copy from x", "copy to n"), [PatchStep("copy", "n", source="x", created=True), WRITE_X]),
        (git("x", "n", "rename from x", "rename to n") + git("x", "m", "copy from x", "copy to m"), [PatchStep("copy", "m", source="x", created=True), PatchStep("move", "n", source="x", created=True)]),
        (git("x", "n", "rename from x", "rename to n") + diff("/dev/null", "b/x", MADE), [PatchStep("move", "n", source="x", created=True), PatchStep("write", "x", "n\n", created=True, hunks=ADDED)]),
        # Two files that trade their names.
        (git("x", "y", "rename from x", "rename to y") + git("y", "x", "rename from y", "rename to x"), [PatchStep("write", "y", "a\n", "x"), PatchStep("write", "x", "one\ntwo\nthree\n", "y")]),
        # A file that takes the name of a deleted one, whichever comes first.
        (diff("a/x", "/dev/null", "@@ -1 +0,0 @@\n-a\n") + diff("/dev/null", "b/x", MADE), [PatchStep("write", "x", "n\n", hunks=ADDED)]),
        (git("dir/z", "x", "rename from dir/z", "rename to x") + diff("a/x", "/dev/null", "@@ -1 +0,0 @@\n-a\n"), [PatchStep("delete", "dir/z"), PatchStep("write", "x", "z\n", "dir/z")]),
        # A part sees what the parts before it did.
        (git("x", "n", "rename from x", "rename to n") + diff("a/n", "b/n"), [PatchStep("move", "n", "b\n", "x", created=True, hunks=AT_1)]),
        (diff("a/x", "b/x") + diff("a/x", "b/x", "@@ -1 +1 @@\n-b\n+c\n"), [PatchStep("write", "x", "c\n", hunks=(*AT_1, *AT_1))]),
        (diff("a/x", "b/x") + git("x", "n", "rename from x", "rename to n"), [PatchStep("move", "n", "b\n", "x", created=True, hunks=AT_1)]),
        (diff("/dev/null", "b/n", MADE) + git("n", "m", "rename from n", "rename to m"), [PatchStep("write", "m", "n\n", created=True, hunks=ADDED)]),
        (diff("/dev/null", "b/n", MADE) + diff("a/n", "/dev/null", "@@ -1 +0,0 @@\n-n\n"), []),
        # No step where nothing changes.
        (diff("a/x", "b/x", "@@ -1 +1 @@\n a\n"), []),
        # The Begin/End Patch form.
        ("*** Begin Patch\n*** Update File: x\n-a\n+b\n*** End Patch", [PatchStep("write", "x", "b\n", hunks=(Landed(1, None, True, 1, 1),))]),
        ("*** Begin Patch\n*** Update File: x\n*** Move to: n\n*** End Patch", [PatchStep("move", "n", source="x", created=True)]),
        ("*** Begin Patch\n*** Add File: n\n+n\n*** Delete File: y\n*** End Patch", [PatchStep("delete", "y"), PatchStep("write", "n", "n\n", created=True, hunks=ADDED)]),
        ("*** Begin Patch\n*** Update File: a/deep\n-a\n+b\n*** End Patch", [PatchStep("write", "a/deep", "b\n", hunks=(Landed(1, None, True, 1, 1),))]),
    ],
)  # fmt: skip
def test_plan(patch, expected):
    assert planned(patch) == expected


@pytest.mark.parametrize(
    ("patch", "files", "expected"),
    [
        (diff("a/x", "b/x"), {"x": "b\n"}, [PatchStep("write", "x", "a\n", hunks=AT_1)]),
        (git("x", "n", "rename from x", "rename to n") + diff("a/x", "b/n"), {"n": "b\n"}, [PatchStep("move", "x", "a\n", "n", created=True, hunks=AT_1)]),
        (diff("/dev/null", "b/n", MADE), {"n": "n\n"}, [PatchStep("delete", "n", hunks=REMOVED)]),
        (git("x", "x", "deleted file mode 100755") + diff("a/x", "/dev/null", "@@ -1 +0,0 @@\n-n\n"), {}, [PatchStep("write", "x", "n\n", mode=0o755, created=True, hunks=(Landed(1, 0, True, 1, 0),))]),
        (git("x", "x", "old mode 100644", "new mode 100755"), {"x": ""}, [PatchStep("write", "x", mode=0o644)]),
        (git("x", "n", "copy from x", "copy to n"), {"x": "a\n", "n": "a\n"}, [PatchStep("delete", "n")]),
        (diff("a/x", "b/x") + git("x", "n", "copy from x", "copy to n"), {"x": "b\n", "n": "a\n"}, [PatchStep("delete", "n"), PatchStep("write", "x", "a\n", hunks=AT_1)]),
        (diff("a/x", "b/x") + diff("a/x", "b/x", "@@ -1 +1 @@\n-b\n+c\n"), {"x": "c\n"}, [PatchStep("write", "x", "a\n", hunks=(*AT_1, *AT_1))]),
        ("*** Begin Patch\n*** Add File: n\n+n\n*** End Patch", {"n": "n\n"}, [PatchStep("delete", "n", hunks=REMOVED)]),
    ],
)  # fmt: skip
def test_plan_in_reverse(patch, files, expected):
    assert planned(patch, files, reverse=True) == expected


@pytest.mark.parametrize(
    ("old", "new", "strip", "path"),
    [
        ("a/x", "b/x", None, "x"),
        ("a/x", "b/x", 1, "x"),
        ("a/x", "b/x", 0, "x"),
        ("x", "x", None, "x"),
        ("x", "x", 0, "x"),
        ("./x", "./x", None, "x"),
        ("a/x", "a/x", None, "x"),
        ("a/x", "x", None, "x"),
        ("x", "b/x", None, "x"),
        ("x.orig", "x", None, "x"),
        ("x", "x.new", None, "x"),
        ("a/deep", "a/deep", None, "a/deep"),
        ("a/a/deep", "b/a/deep", None, "a/deep"),
        ("a/a/deep", "b/a/deep", 0, "a/deep"),
        ("root/of/x", "root/of/x", 2, "x"),
        ("//x", "x", None, None),
    ],
)
def test_prefixes_are_found(old, new, strip, path):
    if path is None:
        with pytest.raises(ToolError, match="absolute path"):
            planned(diff(old, new), strip=strip)
    else:
        assert [one.path for one in planned(diff(old, new), strip=strip)] == [path]


@pytest.mark.parametrize(
    ("patch", "files", "strip", "paths"),
    [
        (diff("/dev/null", "b/n", MADE), {}, None, ["n"]),
        (diff("/dev/null", "b/n", MADE), {}, 0, ["n"]),
        (diff("/dev/null", "b/n", MADE), {}, 1, ["n"]),
        (diff("/dev/null", "dir/n", MADE), {}, None, ["dir/n"]),
        (diff("x", "x") + diff("/dev/null", "b/n", MADE), FILES, None, ["x", "b/n"]),
        (diff("a/x", "b/x") + diff("/dev/null", "b/n", MADE), FILES, 0, ["x", "n"]),
        (diff("a/deep", "/dev/null", "@@ -1 +0,0 @@\n-a\n"), FILES, None, ["a/deep"]),
        (diff("a/x", "b/x"), {"a/x": "a\n", "x": "a\n"}, 0, ["a/x"]),
        (diff("a/x", "b/x"), {"a/x": "a\n", "x": "a\n"}, None, ["x"]),
        ("diff --git i/x w/x\n" + diff("i/x", "w/x"), FILES, None, ["x"]),
        ("diff --git b/x a/x\n" + diff("b/x", "a/x"), FILES, None, ["x"]),
        (git("dir/z", "n", "rename from dir/z", "rename to n"), FILES, 1, ["n"]),
        ("*** Begin Patch\n*** Add File: b/n\n+n\n*** End Patch", {}, None, ["b/n"]),
    ],
)
def test_prefixes_are_found_where_a_file_is_made_or_goes(patch, files, strip, paths):
    assert [one.path for one in planned(patch, files, strip=strip)] == paths


@pytest.mark.parametrize(
    ("patch", "code", "words"),
    [
        ("", "ValidationError", "The patch is empty"),
        (diff("a/../../x", "b/../../x"), "SecurityError", r"'a/\.\./\.\./x', which leads out of the folder"),
        (diff("a/x", "b/../o/x"), "SecurityError", "leads out of the folder"),
        (diff("/etc/passwd", "b/x"), "SecurityError", "absolute path"),
        (diff("x", "x\0y"), "SecurityError", "NUL byte"),
        ('--- "a/x"\n+++ "b/\\056\\056/x"\n@@ -1 +1 @@\n-a\n+b\n', "SecurityError", "leads out of the folder"),
        (git("x", "n", "rename from x", "rename to ../n"), "SecurityError", "leads out of the folder"),
        ("*** Begin Patch\n*** Add File: ../n\n+n\n*** End Patch", "SecurityError", "leads out of the folder"),
        ("*** Begin Patch\n*** Update File: x\n*** Move to: /n\n*** End Patch", "SecurityError", "absolute path"),
        (git("l", "l", "new file mode 120000") + diff("/dev/null", "b/l", MADE), "SecurityError", "symbolic link"),
        (diff("a/dir/", "b/dir/"), "ValidationError", "no name of a file"),
        (diff("a/n", "b/n"), "NotFound", r"The patch changes 'n' \(line 1 of the patch\), but there is no such file"),
        (git("n", "m", "rename from n", "rename to m"), "NotFound", "The patch renames 'n'"),
        (git("n", "m", "copy from n", "copy to m"), "NotFound", "The patch copies 'n'"),
        (git("n", "n", "deleted file mode 100644"), "NotFound", "The patch deletes 'n'"),
        (diff("/dev/null", "b/y", MADE), "Conflict", r"makes 'y' \(line 1 of the patch\), but it exists\. Patch the file"),
        (diff("/dev/null", "b/dir/z", "@@ -0,0 +1 @@\n+z\n"), "Conflict", "with just this text: the patch seems to be applied already"),
        (diff("/dev/null", "b/n", MADE) * 2, "Conflict", "makes 'n'"),
        ("*** Begin Patch\n*** Add File: x\n+n\n*** End Patch", "Conflict", "makes 'x'"),
        (git("x", "y", "rename from x", "rename to y"), "Conflict", "makes 'y'"),
        (git("x", "y", "copy from x", "copy to y"), "Conflict", "makes 'y'"),
        (git("y", "y", "deleted file mode 100644"), "Conflict", "deletes 'y' .* holds more than the patch shows"),
        (diff("a/y", "/dev/null", "@@ -1,2 +0,0 @@\n-one\n-two\n"), "Conflict", "holds more than the patch shows"),
        (diff("a/y", "/dev/null", "@@ -1 +0,0 @@\n-other\n"), "Conflict", "line 1 is 'one', the patch expects 'other'"),
        (diff("a/x", "b/x") + diff("a/y", "b/y"), "Conflict", "'y': hunk 1 of 1"),
        (git("y", "n", "rename from y", "rename to n") + diff("a/n", "b/n"), "Conflict", "'n': hunk 1 of 1"),
        (git("y", "y") + diff("a/x", "b/x"), "ValidationError", "there is no hunk for 'b/y'"),
        (diff("a/x", "b/x", "@@ -1 +1 @@\n-b\n+a\n"), "Conflict", "applied already: what it makes of 'x' stands there, .* line 1"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused(patch, code, words):
    with pytest.raises(ToolError, match=words) as caught:
        planned(patch)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("patch", "files", "code", "words"),
    [
        ("*** Begin Patch\n*** Delete File: x\n*** End Patch", {}, "Unsupported", "without showing its text"),
        (git("x", "n", "copy from x", "copy to n"), {"x": "a\n", "n": "b\n"}, "Conflict", "holds more than the patch shows"),
        (diff("/dev/null", "b/n", MADE), {"n": "n\nmore\n"}, "Conflict", "holds more than the patch shows"),
    ],
)  # fmt: skip
def test_what_cannot_be_taken_back_is_refused(patch, files, code, words):
    with pytest.raises(ToolError, match=words) as caught:
        planned(patch, files, reverse=True)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("strip", "words"),
    [(-1, "`strip` is -1"), (3, r"`strip` is 3, but 'a/x' \(line 1 of the patch\) has only 2 parts")],
)
def test_a_wrong_strip_is_said(strip, words):
    with pytest.raises(ToolError, match=words):
        planned(diff("a/x", "b/x"), strip=strip)


def test_a_file_that_only_moves_is_not_read():
    """So that one which is no text can be renamed too."""

    def read(path: str) -> str:
        raise AssertionError(path)

    patch = git("x", "n", "rename from x", "rename to n") + git("y", "m", "copy from y", "copy to m")
    patch += git("dir/z", "dir/z", "old mode 100644", "new mode 100755")
    steps = plan(patch, strip=None, reverse=False, exists=FILES.__contains__, read=read)
    assert [(one.kind, one.path) for one in steps] == [("copy", "m"), ("move", "n"), ("write", "dir/z")]
