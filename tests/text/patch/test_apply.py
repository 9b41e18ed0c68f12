"""A hunk goes where it is meant, or nowhere; every line that it does not change stays as it is."""

import difflib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolroll import ToolError
from toolroll.text.patch.apply import APPLIED, Applied, Landed, apply
from toolroll.text.patch.plan import parse


def hunks(text: str):
    """The hunks of a diff of one file, given without the file's header."""
    return parse("--- a/f\n+++ b/f\n" + text)[0].hunks


def chunks(text: str):
    return parse(f"*** Begin Patch\n*** Update File: f\n{text}*** End Patch\n")[0].hunks


def test_where_each_hunk_went_is_told():
    text = "".join(f"{number}\n" for number in range(1, 21))
    diff = "@@ -2,3 +2,4 @@\n 2\n-3\n+three\n+more\n 4\n@@ -15,2 +14,1 @@\n 17 \n-18\n"
    expected = text.replace("\n3\n", "\nthree\nmore\n").replace("\n18\n", "\n")
    assert apply(text, hunks(diff)) == Applied(
        expected, (Landed(2, 0, True, 2, 1), Landed(18, 2, False, 0, 1, "differed in: trailing blanks or line endings"))
    )
    assert apply(text, chunks(" 17\n-18\n+x\n")).hunks == (Landed(17, None, True, 1, 1),)


@pytest.mark.parametrize("old", ["beta = 2", "beta = 2 ", "  beta = 2", "beta=2", "beta\u00a0= 2"])
@pytest.mark.parametrize("around", ["alpha\n{}\nomega\n", "{}\nomega\n", "alpha\n{}\n", "alpha\n{}", "alpha\r\n{}\r\n"])
def test_no_relation_changes_where_lines_end(old, around):
    text = around.format("beta = 2")
    expected = around.format("NEW = 2")
    for body in (f"-{old}\n+NEW = 2\n", f"-{old}\n+NEW = 2\n \n", f" alpha\n-{old}\n+NEW = 2\n omega\n"):
        for parsed in (hunks(f"@@ -1,1 +1,1 @@\n{body}"), chunks(body)):
            try:
                assert apply(text, parsed).text == expected
            except ToolError:
                continue


A, B = "a\nb\nc\nd\ne\n", "a\nb\nC\nd\ne\n"
C = "@@ -2,3 +2,3 @@\n b\n-c\n+C\n d\n"


@pytest.mark.parametrize(
    ("text", "diff", "expected"),
    [
        (A, C, B),
        ("x\n" * 50 + A, C, "x\n" * 50 + B),
        (A, C.replace("-2,3 +2,3", "-900,3 +900,3"), B),
        (A, C.replace("@@ -2,3 +2,3 @@", "@@"), B),
        # Hunks in any order, as long as each has but one place.
        (A, "@@ -5 +5 @@\n-e\n+E\n@@ -1 +1 @@\n-a\n+A\n", "A\nb\nc\nd\nE\n"),
        (A, "@@ -1 +1 @@\n-a\n+A\n@@ -2 +2 @@\n-b\n+B\n", "A\nB\nc\nd\ne\n"),
        # Blanks at the ends of lines that stay.
        (A, C.replace(" b\n", " b  \n").replace(" d\n", " d\t\n"), B),
        (A.replace("b", "b  ").replace("d", "d "), C, B.replace("b", "b  ").replace("d", "d ")),
        (A.replace("b", "   "), C.replace(" b\n", "\n"), B.replace("b", "   ")),
        # The file's line endings, and those of the lines around where it has both.
        (A.replace("\n", "\r\n"), C, B.replace("\n", "\r\n")),
        (A, C.replace("\n", "\r\n"), B),
        (A.replace("\n", "\r\n"), C.replace("\n", "\r\n"), B.replace("\n", "\r\n")),
        ("a\nb\r\nc\r\nd\r\ne\n", C, "a\nb\r\nC\r\nd\r\ne\n"),
        ("a\r\nb\nc\nd\ne\r\n", C.replace("\n", "\r\n"), "a\r\nb\nC\nd\ne\r\n"),
        ("a\r\nb\r\n", "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+b\n", "a\r\nb\n"),
        # The newline at the end of the file.
        ("a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline\n+B\n\\ No newline\n", "a\nB"),
        ("a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline\n+b\n", "a\nb\n"),
        ("a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline\n", "a\nb"),
        ("a\r\nb", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline\n+b\n", "a\r\nb\r\n"),
        # A patch that does not know that there is none leaves it so.
        ("a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n+B\n", "a\nB"),
        ("a\nb", "@@ -1,2 +1,3 @@\n a\n b\n+c\n", "a\nb\nc"),
        ("a\r\nb", "@@ -1,2 +1,3 @@\n a\n b\n+c\n", "a\r\nb\r\nc"),
        ("a\nb", "@@ -1,2 +1,1 @@\n a\n-b\n", "a"),
        # Byte order marks.
        ("\ufeffa\nb\n", "@@ -1 +1 @@\n-a\n+A\n", "\ufeffA\nb\n"),
        ("\ufeffa\nb\n", "@@ -1 +1 @@\n-\ufeffa\n+\ufeffA\n", "\ufeffA\nb\n"),
        ("\ufeffa\nb\n", "@@ -1 +1 @@\n-\ufeffa\n+A\n", "A\nb\n"),
        ("a\nb\n", "@@ -1 +1 @@\n-\ufeffa\n+\ufeffA\n", "A\nb\n"),
        # Empty files.
        ("", "@@ -0,0 +1 @@\n+a\n", "a\n"),
        ("", "@@ -0,0 +1 @@\n+a\n\\ No newline\n", "a"),
        ("a\n", "@@ -1 +0,0 @@\n-a\n", ""),
        ("\n", "@@ -1 +1,2 @@\n \n+\n", "\n\n"),
        # Only a line feed ends a line.
        ("a\x0cb\u2028c\x85d\re\n", "@@ -1 +1 @@\n-a\x0cb\u2028c\x85d\re\n+x\n", "x\n"),
    ],
)  # fmt: skip
def test_apply(text, diff, expected):
    assert apply(text, hunks(diff)).text == expected


@pytest.mark.parametrize(
    ("text", "chunk", "expected"),
    [
        (A, "@@\n b\n-c\n+C\n", B),
        (A, "-e\n+E\n*** End of File\n", "a\nb\nc\nd\nE\n"),
        ("x\n1\nx\n", "-x\n+X\n*** End of File\n", "x\n1\nX\n"),
        (A, "+f\n*** End of File\n", A + "f\n"),
        ("a\r\nb", "+f\n*** End of File\n", "a\r\nb\r\nf"),
        ("def f():\n    x\ndef g():\n    x\n", "@@ def g():\n-    x\n+    y\n", "def f():\n    x\ndef g():\n    y\n"),
        ("def f():\n    x\ndef g():\n    x\n", "@@ def f():\n-    x\n+    y\n", "def f():\n    y\ndef g():\n    x\n"),
        ("class A:\n  def f():\n    x\nclass B:\n  def f():\n    x\n", "@@ class B:\n@@ def f():\n-    x\n+    y\n", "class A:\n  def f():\n    x\nclass B:\n  def f():\n    y\n"),
        ("int f()\n{\n  x;\n}\nint g()\n{\n  x;\n}\n", "@@ int g()\n-  x;\n+  y;\n", "int f()\n{\n  x;\n}\nint g()\n{\n  y;\n}\n"),
        # Lines that are only added.
        (A, "@@\n+f\n", A + "f\n"),
        (A, "@@\n+f\n@@\n-a\n+A\n", "A\nb\nc\nd\ne\nf\n"),
        (A, "@@ b\n+x\n", "a\nb\nx\nc\nd\ne\n"),
        # A blank line that was lost behind the chunk.
        ("a\nb\n", "@@\n-b\n-\n", "a\n"),
        ("a\rb\rc\r", "@@\n b\n-c\n+C\n", "a\rb\rC\r"),
        ("# One\ntext\n# Two\nmore\n", "@@ # One\n more\n+end\n", "# One\ntext\n# Two\nmore\nend\n"),
    ],
)  # fmt: skip
def test_apply_chunks(text, chunk, expected):
    assert apply(text, chunks(chunk)).text == expected


TWINS = "def f():\n    x\n    y\n\ndef g():\n    x\n    y\n"
TWIN = "     x\n-    y\n+    z\n"
FAR = "def f():\n    x\n    y\n" + "\n".join(f"#{n}" for n in range(60)) + "\ndef g():\n    x\n    y\n"


@pytest.mark.parametrize(
    ("text", "diff", "line"),
    [
        (TWINS, "@@ -2,2 +2,2 @@\n", 3),
        (TWINS, "@@ -6,2 +6,2 @@\n", 7),
        (TWINS, "@@ -4,2 +4,2 @@ def g():\n", 7),
        (TWINS, "@@ -3,2 +3,2 @@ def f():\n", 3),
        (TWINS, "@@ def g():\n", 7),
        (FAR, "@@ -3,2 +3,2 @@\n", 3),
        (FAR, "@@ -70,2 +70,2 @@\n", 66),
    ],
)
def test_a_twin_is_told_by_number_section_or_distance(text, diff, line):
    expected = text.split("\n")
    expected[line - 1] = "    z"
    assert apply(text, hunks(diff + TWIN)).text.split("\n") == expected


CHORUS = "1\n2\n3\n"
SUNG = f"{CHORUS}verse\n{CHORUS}"
ENDS = " 1\n 2\n 3\n+4\n"
BEGINS = "+0\n 1\n 2\n 3\n"


@pytest.mark.parametrize(
    ("diff", "expected"),
    [
        ("@@ -3,3 +3,4 @@\n" + ENDS, f"{SUNG}4\n"),
        ("@@ -44,3 +44,4 @@\n" + ENDS, f"{SUNG}4\n"),
        ("@@ -3,3 +3,4 @@\n" + BEGINS, f"0\n{SUNG}"),
        # The number comes first.
        ("@@ -1,3 +1,4 @@\n" + ENDS, SUNG.replace("verse", "4\nverse")),
        ("@@ -5,3 +5,4 @@\n" + BEGINS, SUNG.replace("verse\n", "verse\n0\n")),
    ],
)
def test_a_program_leaves_lines_out_only_where_a_file_begins_or_ends(diff, expected):
    assert apply(SUNG, hunks(diff)).text == expected


@pytest.mark.parametrize(
    ("text", "diff"),
    [
        (SUNG, "@@ -3,4 +3,5 @@\n" + ENDS),  # miscounted: a program did not write it
        (SUNG, "@@ -3,2 +3,3 @@\n 2\n 3\n+4\n"),  # too little to tell that lines were left out
        (SUNG, "@@ -46,3 +46,4 @@\n" + ENDS),  # too far from the number
        (SUNG + "end\n", "@@ -3,3 +3,4 @@\n" + ENDS),  # no place at the end
    ],
)
def test_otherwise_places_that_are_alike_are_refused(text, diff):
    with pytest.raises(ToolError, match="fits at several places"):
        apply(text, hunks(diff))


def test_hunks_that_are_all_off_by_as_much_tell_each_other_apart():
    block = "one\n    x\n    y\n"
    text = "#\n" * 7 + "first\n" + block * 9
    diff = "@@ -1 +1 @@\n-first\n+FIRST\n@@ -9,2 +9,2 @@\n     x\n-    y\n+    z\n"
    expected = text.replace("first", "FIRST").split("\n")
    expected[16] = "    z"
    assert apply(text, hunks(diff)).text.split("\n") == expected


@pytest.mark.parametrize(
    ("text", "diff", "words"),
    [
        # Several places.
        (TWINS, "@@\n" + TWIN, r"hunk 1 of 1 \(line 3 of the patch\) fits at several places \(lines 2, 6\)"),
        (TWINS, "@@ -4,2 +4,2 @@\n" + TWIN, r"fits at several places \(lines 2, 6\)"),
        (TWINS, "@@ -3,2 +3,2 @@\n" + TWIN, r"fits at several places \(lines 2, 6\)"),
        (TWINS, "@@ -2,2 +2,2 @@ def g():\n" + TWIN, r"fits at several places \(lines 2, 6\)"),
        ("x \n1\nx\n", "@@ -1,1 +1,2 @@\n x\n+y\n", r"fits at several places \(lines 1, 3\)"),
        # Words are never passed over, and lines that stay are not indented unevenly.
        (A, C.replace(" b", "  b"), "fits line 2 only with other uneven indentation"),
        (A, C.replace("\n ", "\n   ").replace("-c", "-  c") + "@@ -5 +5 @@\n-e\n+E\n", "fits line 2 only with other indentation"),
        (A, "@@\n-  c\n+  C\n", "fits line 3 only with other indentation"),
        (A, C.replace(" d", " D"), "line 4 is 'd', the patch expects 'D'"),
        (A, "@@ -4,2 +4,3 @@\n d\n e\n f\n+g\n", "the file ends at line 5, the patch expects 'f'"),
        (A, "@@ -4,2 +4,3 @@\n x\n-y\n", "line 4 is 'd', the patch expects 'x'"),
        (A, "@@\n x\n-y\n", "none of its lines, such as 'x', is in the file"),
        # The place that is meant was changed; a twin elsewhere is not taken for it.
        (FAR.replace("    y", "    Y", 1), "@@ -2,2 +2,2 @@ def f():\n" + TWIN, "fits only at line 65, which is not beneath 'def f"),
        ("a\nb\nc\nd\n" + "-\n" * 50 + "a\nb\nx\nd\n", "@@ -55,4 +55,4 @@\n a\n b\n-c\n+C\n d\n", "line 57 is 'x', the patch expects 'c'"),
        # Ends of lines and of the file.
        ("a\nb\n", "@@ -2 +2 @@\n-b\n\\ No newline\n+c\n", "expects no newline at the end of the file, but there is one"),
        ("a\nb\n", "@@ -1 +1 @@\n-a\n+c\n\\ No newline\n", "expects the end of the file after it, but the file has 2 lines"),
        # Nothing says where.
        (A, "@@ -3,0 +4 @@\n+x\n", "only adds lines and shows none around them"),
        (A, "@@ -0,0 +1 @@\n+x\n", "only adds lines and shows none around them"),
        (A, "@@ -1,2 +1 @@\n-a\n-b\n@@ -2,2 +2 @@\n-b\n-c\n", "hunk 2 of 2 .* where it meets another hunk"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(text, diff, words):
    with pytest.raises(ToolError, match=words) as caught:
        apply(text, hunks(diff), name="f.py")
    assert caught.value.code == "Conflict"
    assert caught.value.message.startswith("'f.py': hunk ")


@pytest.mark.parametrize(
    ("text", "chunk", "words"),
    [
        (TWINS, "@@ def h():\n" + TWIN, "fits only at line 2, which is not beneath 'def h"),
        ("x\ndef g():\n    y\n", "@@ def g():\n-x\n", "not beneath 'def g"),
        (A, "@@ nowhere\n+x\n", "only adds lines"),
        ("x\n1\n", "-x\n*** End of File\n", "expects the end of the file after it"),
    ],
)
def test_what_chunks_do_not_fit_is_refused(text, chunk, words):
    with pytest.raises(ToolError, match=words) as caught:
        apply(text, chunks(chunk))
    assert caught.value.code == "Conflict"


@pytest.mark.parametrize(
    ("text", "diff"),
    [
        (B, C),
        (B, "@@\n b\n-c\n+C\n"),
        ("a\r\n", "@@ -1 +1 @@\n-a\n+a\r\n"),
        ("a\nb", "@@ -2 +2 @@\n-b\n+b\n\\ No newline\n"),
        # With lines on one side alone the hunk would fit once more.
        ("a\nb\nc\n", "@@ -1,2 +1,3 @@\n+a\n b\n c\n"),
        ("a\nb\nc\nd\n", "@@ -1,2 +1,3 @@\n a\n b\n+c\n"),
    ],
)
def test_a_hunk_whose_result_is_there_changes_nothing(text, diff):
    found = apply(text, hunks(diff))
    assert (found.text, [hunk.note for hunk in found.hunks]) == (text, ["is there already"])


def test_only_the_hunks_that_are_not_there_are_applied():
    found = apply(B, hunks(C + "@@ -5 +5 @@\n-e\n+E\n"))
    assert (found.text, [hunk.note for hunk in found.hunks]) == (B.replace("e", "E"), ["is there already", ""])
    twice = apply("x\ny\nx\n\nz\n", chunks("@@\n x\n+y\n@@\n x\n+y\n"))
    assert (twice.text, [hunk.note for hunk in twice.hunks]) == ("x\ny\nx\ny\n\nz\n", ["is there already", ""])


@pytest.mark.parametrize(
    ("text", "diff", "expected", "relation"),
    [
        ("a  \nb\t\nc\n", "@@\n a\n-b\n+B\n", "a  \nB\nc\n", "trailing blanks or line endings"),
        ("if a:\n    b()\n    c()\n", "@@\n b()\n-c()\n+d()\n", "if a:\n    b()\n    d()\n", "indentation"),
        ("if a:\n\tb()\n\tc()\n", "@@ -3,2 +3,2 @@\n     b()\n-    c()\n+    d()\n", "if a:\n\tb()\n\td()\n", "indentation"),
        ("<a>\n<b>\n</b>\n", "@@\n <a>\n-\t<b>\n-\t</b>\n+\t<c/>\n", "<a>\n\t<c/>\n", "uneven indentation"),
        ("say \u201chi\u201d\nx\n", '@@\n-say "hi"\n+say "ho"\n', 'say "ho"\nx\n', "typographic marks"),
        ("a = f(1,2)\nb\n", "@@\n a = f(1, 2)\n-b\n+c\n", "a = f(1,2)\nc\n", "blanks between tokens"),
    ],
)  # fmt: skip
def test_a_hunk_is_found_by_the_relations_of_edit(text, diff, expected, relation):
    found = apply(text, hunks(diff))
    assert (found.text, found.hunks[0].note) == (expected, f"differed in: {relation}")


@pytest.mark.parametrize(
    ("chunk", "line", "note"),
    [
        ("@@\n" + TWIN, 3, ": 2 places fit; took the first, as the format says"),
        ("@@\n-\n+\n+#\n@@\n" + TWIN, 7, ""),
        ("@@\n def f():\n@@\n" + TWIN, 3, ": 2 places fit; took the first after line 1, as the format says"),
    ],
)
def test_a_chunk_is_the_first_that_fits_behind_the_one_before_it(chunk, line, note):
    found = apply(TWINS, chunks(chunk))
    expected = TWINS.replace("\n\n", "\n\n#\n") if "#" in chunk else TWINS
    lines = expected.split("\n")
    lines[line - 1 + ("#" in chunk)] = "    z"
    assert (found.text.split("\n"), found.hunks[-1].note) == (lines, note)


@pytest.mark.parametrize(
    ("name", "text", "chunk", "expected"),
    [
        ("a.json", "{\n    a: 1,\n    b: 2\n}\n", "-\t\ta: 1,\n+\t\ta: 3,\n", "{\n\t\ta: 3,\n    b: 2\n}\n"),
        ("a.sh", "f() {\n    a\n}\n", "-\ta\n+\tb\n", "f() {\n\tb\n}\n"),
        ("a.sh", "f() {\n    a\n    b\n}\n", " f() {\n   a\n-    b\n", None),
        ("a.ts", "f(\n  1,\n  2)\ng()\n", " f(\n    1,\n-  2)\n+  3)\n", "f(\n   1,\n  3)\ng()\n"),
        ("a.ts", "f(`\n  1,\n  2`)\n", " f(`\n    1,\n-  2`)\n+  3`)\n", None),
        ("a.py", "f(\n  1,\n  2)\n", " f(\n    1,\n-  2)\n+  3)\n", None),
    ],
)  # fmt: skip
def test_a_chunk_is_taken_as_written_where_indentation_has_no_meaning(name, text, chunk, expected):
    found = chunks(f"@@\n{chunk}")
    if expected is None:
        with pytest.raises(ToolError, match="is not certain"):
            apply(text, found, name=name)
    else:
        made = apply(text, found, name=name)
        assert (made.text, made.hunks[0].note.endswith("as the format says")) == (expected, True)


ENTRY = "* Fix the parser of long dates\n* Fix the parser of local times\n"
NEWS = "News\n\n{}1.0\n\n* First\n\n0.9\n\n* First\n"


def test_what_stands_nearer_than_the_place_is_not_added_twice():
    diff = "@@ -3,3 +3,4 @@\n 1.0\n \n+* Fixes a fault in parsers\n * First\n"
    done = NEWS.format("1.1\n\n").replace("1.0\n\n", "1.0\n\n* Fixes a fault in parsers\n")
    assert apply(done, hunks(diff)).hunks[0].note == "is there already"
    moved = f"News\n\n2.0\n\n{ENTRY}{'x' * 3}\n\nend\n\n1.0\n\n* First\n"
    with pytest.raises(
        ToolError, match="the lines that it adds, or most of them, are in the file already, near line 3"
    ):
        apply(moved, hunks("@@ -3,3 +3,5 @@\n 1.0\n \n+" + ENTRY.replace("\n", "\n+", 1) + " * First\n"))


def test_a_refusal_can_be_acted_on():
    with pytest.raises(ToolError) as caught:
        apply(A, hunks("@@ -1 +1 @@\n-a\n+A\n@@ -2,3 +2,3 @@\n b\n-x\n+C\n d\n"), name="dir/f.py")
    assert caught.value.message == (
        "'dir/f.py': hunk 2 of 2 (line 6 of the patch) does not fit: line 3 is 'c', the patch expects 'x'. "
        "Read the file and make the patch from what it says now. It has there:\n1: a\n2: b\n3: c\n4: d\n5: e"
    )
    assert caught.value.details == {
        "path": "dir/f.py",
        "hunk": 2,
        "patch_line": 6,
        "line": 3,
        "expected": "x",
        "actual": "c",
    }


@given(st.lists(st.sampled_from(["a", "b", "c"]), max_size=12), st.lists(st.tuples(st.integers(0, 12), st.booleans())))
def test_reverse_takes_back(words, edits):
    before = [f"{word} {number}\n" for number, word in enumerate(words)]
    marked = [("-" if (n, True) in edits else " ", line) for n, line in enumerate(before)]
    body = "".join(mark + line + ("+new\n" if (n, False) in edits else "") for n, (mark, line) in enumerate(marked))
    if not body:
        return
    found = apply("".join(before), hunks(f"@@ -1,{len(before)} +1 @@\n{body}"))
    back = apply(found.text, hunks(f"@@ -1,{len(before)} +1 @@\n{body}"), reverse=True)
    assert back.text == "".join(before)


SAME = "same line\n" * 100_000


@pytest.mark.parametrize(
    ("text", "diff"),
    [
        (SAME, "@@ -900000,3 +1,4 @@\n same line\n same line\n same line\n+x\n"),
        (SAME, "@@ @@\n" + " same line\n" * 20_000 + "+x\n"),
        (SAME, "@@ -1 +1 @@\n" + " same line\n" * 20_000 + " other\n+x\n"),
        (SAME + "b\n", "@@ -1 +1 @@\n" + " same line\n" * 20_000 + " b\n b\n+x\n"),
        ("\n" * 100_000, "@@ -9,3 +9,4 @@\n \n \n z\n+x\n"),
        (("    a\n" * 20 + "x\n") * 10_000, "".join(f"@@ -{n}00,2 +1 @@ foo\n     a\n-    a\n" for n in range(2, 900)) + "@@ -1 +1 @@\n-z\n"),
        (SAME, "".join(f"@@ -{n * 5 + 3},2 +1 @@\n same line\n-same line\n" for n in range(2_000)) + "@@ -9 +9 @@\n-same line\n"),
    ],
)  # fmt: skip
def test_no_file_takes_long(text, diff):
    found = hunks(diff)
    start = time.process_time()
    with pytest.raises(ToolError):
        apply(text, found)
    assert time.process_time() - start < 4


LINES = st.lists(st.sampled_from(["", "a", "b", "aa", "  a", "def f():", "def g():"]), max_size=14)


@given(LINES, LINES, st.integers(0, 3))
def test_a_true_diff_gives_the_other_file(before, after, context):
    old, new = ("".join(f"{line}\n" for line in lines) for lines in (before, after))
    made = list(difflib.unified_diff(old.splitlines(True), new.splitlines(True), "a/f", "b/f", n=context))
    if not made:
        return
    found = parse("".join(made))[0].hunks
    if all(hunk.old for hunk in found):
        assert_applied(apply(old, found), new)
    if all(hunk.reversed().old for hunk in found):
        assert_applied(apply(new, found, reverse=True), old)


def assert_applied(made, text):
    """Lines that are added beside their like may count as there already."""
    assert made.text == text or any(one.note == APPLIED for one in made.hunks)


TEXT = "def f():\n    x\n    y\n\ndef g():\n    x\n    y\n"
HUNK = "     x\n-    y\n+    z\n"


LONG = "".join(f"line {number}\n" for number in range(1, 41)) + TEXT
CHANGE = "@@ -{0},3 +{0},3 @@\n line 7{1}\n-line 8\n+8\n line 9{1}\n"
SURE_TWIN = "@@ -{0},2 +{0},2 @@\n     x{1}\n-    y\n+    z\n"
CHANGED = LONG.replace("line 8\n", "8\n")


@pytest.mark.parametrize(
    ("text", "diff", "expected"),
    [
        (TEXT, f"@@ -6,2 +6,2 @@ def g():\n{HUNK}", TEXT[:-6] + "    z\n"),
        (TEXT, f"@@ -2,2 +2,2 @@ def f():\n{HUNK}@@ -6,2 +6,2 @@ def g():\n{HUNK}", TEXT.replace("y", "z")),
        (TEXT * 2, f"@@ -2,2 +2,2 @@ def f():\n{HUNK}@@ -9,2 +9,2 @@ def f():\n{HUNK}", TEXT.replace("y", "z", 1) * 2),
        (TEXT, "@@ -1,2 +1 @@\n-def f():\n     x\n@@ -3,2 +2,1 @@\n     y\n-\n", "    x\n    y\n" + TEXT[22:]),
        (TEXT, "@@ -1,7 +0,0 @@\n" + "".join(f"-{line}\n" for line in TEXT.split("\n")[:-1]), ""),
        (TEXT, f"@@ -6,2 +6,2 @@ def\n{HUNK}", TEXT[:-6] + "    z\n"),
        ("aab\nab\n", "@@ -1,1 +1,1 @@\n-ab\n+c\n", "aab\nc\n"),
        ("aab\nab\n", "@@ -2,1 +2,1 @@\n-ab\n+c\n", "aab\nc\n"),
        (TEXT[:-1], f"@@ -2,2 +2,2 @@\n{HUNK}", TEXT[:-1].replace("y", "z", 1)),
        ("x\n" * 40, "@@ -9 +9 @@\n-x\n+y\n", "x\n" * 8 + "y\n" + "x\n" * 31),
        # Off by as much as the first hunk, or with other blanks at the ends of lines that stay.
        (LONG, CHANGE.format(9, ""), CHANGED),
        (LONG, CHANGE.format(2, ""), CHANGED),
        (LONG, CHANGE.format(4, "") + SURE_TWIN.format(43, ""), CHANGED[:-6] + "    z\n"),
        (LONG[:-1], CHANGE.format(9, ""), CHANGED[:-1]),
        ("a\nb\nc\nd\ne\n_\na\nb\nx\ny\ne\n", "@@ -7,5 +7,4 @@\n a\n b\n-c\n d\n e\n", "a\nb\nd\ne\n_\na\nb\nx\ny\ne\n"),
        (LONG, CHANGE.format(7, " "), CHANGED),
        (LONG, CHANGE.format(7, "\t") + SURE_TWIN.format(42, " "), CHANGED.replace("y", "z", 1)),
        (LONG.replace("line 9", "line 9  "), CHANGE.format(7, ""), CHANGED.replace("line 9", "line 9  ")),
    ],
)  # fmt: skip
def test_a_hunk_with_a_sure_place(text, diff, expected):
    assert apply(text, hunks(diff)).text == expected
