"""Apply a patch to files: all of them or none."""

import os
import subprocess

import pytest

DIFF = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+zwei\n three\n"
GIT = """\
diff --git a/new.sh b/new.sh
new file mode 100755
--- /dev/null
+++ b/new.sh
@@ -0,0 +1 @@
+echo
diff --git a/d/x b/d/y
similarity index 50%
rename from d/x
rename to d/y
--- a/d/x
+++ b/d/y
@@ -1,2 +1,2 @@
 keep
-old
+new
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-bye
diff --git a/run b/run
old mode 100644
new mode 100755
"""
V4A = """\
*** Begin Patch
*** Update File: a.txt
@@
 one
-two
+zwei
*** Add File: b/new.txt
+hello
*** Delete File: gone
*** End Patch
"""


@pytest.fixture(autouse=True)
def files(put):
    put(
        {
            "a.txt": "one\ntwo\nthree\n",
            "d/x": "keep\nold\n",
            "gone": "bye\n",
            "run": "#!\n",
            "c.txt": "one\r\ntwo\r\nthree\r\n",
        }
    )


def tree(ws):
    return {str(p.relative_to(ws)): (p.read_bytes(), os.access(p, os.X_OK)) for p in ws.rglob("*") if p.is_file()}


def test_a_unified_diff(kit, ws):
    result = kit.call("patch", {"patch": DIFF})
    assert result.text == "Applied:\nwrite  a.txt (+1 -1)"
    assert (ws / "a.txt").read_text() == "one\nzwei\nthree\n"


def test_everything_a_git_diff_can_do_and_back(kit, ws):
    before = tree(ws)
    result = kit.call("patch", {"patch": GIT})
    assert result.ok, result.text
    after = tree(ws)
    assert (after["new.sh"], after["d/y"], after["run"]) == (
        (b"echo\n", True),
        (b"keep\nnew\n", False),
        (b"#!\n", True),
    )
    assert not {"gone", "d/x"} & after.keys()
    assert kit.call("patch", {"patch": GIT, "reverse": True}).ok
    assert tree(ws) == before
    assert kit.call("undo", {"steps": 2}).ok
    assert tree(ws) == before


def test_the_begin_patch_form(kit, ws):
    assert kit.call("patch", {"patch": V4A}).ok
    assert (ws / "a.txt").read_text() == "one\nzwei\nthree\n"
    assert (ws / "b/new.txt").read_text() == "hello\n"
    assert not (ws / "gone").exists()


def test_a_dry_run_changes_nothing(kit, ws):
    before = tree(ws)
    result = kit.call("patch", {"patch": GIT, "dry_run": True})
    assert (result.ok, result.data["applied"]) == (True, False)
    assert tree(ws) == before


def test_another_folder_and_strip(kit, ws, put):
    put({"sub/a.txt": "one\ntwo\nthree\n"})
    assert kit.call("patch", {"patch": DIFF, "path": "sub"}).data["files"][0]["path"] == "sub/a.txt"
    assert kit.call(
        "patch", {"patch": DIFF.replace("a/a.txt", "x/y/a.txt").replace("b/a.txt", "x/y/a.txt"), "strip": 2}
    ).ok
    assert (ws / "sub/a.txt").read_text() == (ws / "a.txt").read_text() == "one\nzwei\nthree\n"


def test_line_endings_of_the_file_stay(kit, ws):
    assert kit.call("patch", {"patch": DIFF.replace("a.txt", "c.txt")}).ok
    assert (ws / "c.txt").read_bytes() == b"one\r\nzwei\r\nthree\r\n"


def test_a_hunk_at_another_line_is_found_and_told(kit, ws, put):
    put({"a.txt": "0\n" * 5 + "one\ntwo\nthree\n"})
    assert "hunks off by 5 lines" in kit.call("patch", {"patch": DIFF}).text


@pytest.mark.parametrize(
    ("patch", "code", "words"),
    [
        ("", "ValidationError", "`patch`"),
        ("hello", "ValidationError", "no patch"),
        (DIFF.replace("-two", "-tow"), "Conflict", "'two'"),
        (DIFF.replace("a.txt", "none.txt"), "NotFound", "none.txt"),
        (DIFF.replace("a.txt", "../a.txt"), "SecurityError", ".."),
        (DIFF.replace("a/a.txt", "/etc/passwd").replace("b/a.txt", "/etc/passwd"), "SecurityError", "absolute"),
        (GIT + DIFF.replace("two", "tow"), "Conflict", "hunk 1"),
        (GIT.replace("100755", "120000", 1), "SecurityError", "link"),
    ],
)
def test_all_or_none(kit, ws, patch, code, words):
    before = tree(ws)
    result = kit.call("patch", {"patch": patch})
    assert (result.error.code, words in result.text) == (code, True), result.text
    assert tree(ws) == before
    assert kit.journal.entries() == []


def test_two_places_that_fit_are_refused(kit, ws, put):
    put({"a.txt": "one\ntwo\nthree\n" * 2})
    assert kit.call("patch", {"patch": DIFF.replace("@@ -1,3 +1,3 @@", "@@")}).error.code == "Conflict"


def test_real_diffs_of_git_apply_the_same(kit, ws):
    def git(*words):
        return subprocess.run(["git", "-C", ws, *words], check=True, capture_output=True, text=True).stdout

    git("init", "-q", ".")
    git("config", "user.email", "a@example.com")
    git("config", "user.name", "A")
    git("add", "-A")
    git("commit", "-qm", "first")
    (ws / "a.txt").write_text("zero\none\ntwo\nthree")
    (ws / "d/x").rename(ws / "z z\u00e9")
    (ws / "empty").write_text("")
    (ws / "gone").unlink()
    git("add", "-A")
    wanted = tree(ws)
    diff = git("diff", "--cached", "-M")
    git("reset", "-q", "--hard")
    result = kit.call("patch", {"patch": diff})
    assert result.ok, result.text
    assert {name: one for name, one in tree(ws).items() if not name.startswith(".git/")} == {
        name: one for name, one in wanted.items() if not name.startswith(".git/")
    }


def test_a_file_that_becomes_a_folder_keeps_its_executable_bit(kit, ws, put):
    put({"tool": "echo\n"})
    (ws / "tool").chmod(0o755)
    diff = "diff --git a/tool b/tool/run\nsimilarity index 100%\nrename from tool\nrename to tool/run\n"
    assert kit.call("patch", {"patch": diff}).ok
    assert tree(ws)["tool/run"] == (b"echo\n", True)


def test_a_folder_that_becomes_a_file(kit, ws, put):
    put({"tool/run": "echo\n"})
    diff = "diff --git a/tool/run b/tool\nsimilarity index 100%\nrename from tool/run\nrename to tool\n"
    result = kit.call("patch", {"patch": diff})
    assert result.ok, result.text
    assert (ws / "tool").read_text() == "echo\n"
    assert kit.call("undo", {}).ok
    assert (ws / "tool/run").read_text() == "echo\n"


def test_names_may_be_absolute_inside_the_workspace(kit, ws):
    assert kit.call("patch", {"patch": V4A.replace(" File: ", f" File: {ws}/")}).ok
    assert (ws / "a.txt").read_text() == "one\nzwei\nthree\n"
    assert (ws / "b/new.txt").read_text() == "hello\n"


def test_a_refusal_carries_a_call_that_makes_the_change(kit, ws):
    result = kit.call("patch", {"patch": DIFF.replace(" three", " 3")})
    (call,) = result.error.suggest
    assert (call.name, call.arguments["path"]) == ("edit", "a.txt")
    assert kit.call(call.name, call.arguments).ok
    assert (ws / "a.txt").read_text() == "one\nzwei\nthree\n"


def test_a_patch_too_large_is_refused(kit):
    assert kit.call("patch", {"patch": DIFF + "x" * 8_000_000}).error.code == "TooLarge"


def test_a_patch_of_a_file_that_was_changed_since_must_quote_it_once(kit, ws, put):
    kit.call("read", {"path": "a.txt"})
    put({"a.txt": "zero\none\ntwo\nthree\n"})
    assert "a.txt: It was changed since it was read, in line 1" in kit.call("patch", {"patch": DIFF}).text
    put({"a.txt": "one\ntwo\nthree\n" * 2})
    assert "modified since" in kit.call("patch", {"patch": DIFF}).text


def test_a_patch_after_which_a_file_does_not_parse_is_told(kit, put):
    put({"a.py": "f(1)\n"})
    assert kit.call("patch", {"patch": "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-f(1)\n+f(1\n"}).text.endswith(
        "never closed."
    )


def test_a_hunk_that_fits_nowhere_offers_a_look_at_its_file(kit, put):
    put({"sub/a.py": "x = 1\n"})
    hunk = "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n zzz\n-qqq\n+y\n"
    (call,) = kit.call("patch", {"patch": hunk, "path": "sub"}).error.suggest
    assert "x = 1" in kit.call(call.name, call.arguments).text
