"""An edit finds the one place that is meant, by the closest relation there is, or none."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolroll import ToolError
from toolroll.text.edit import match

CLASS = "class A:\n    def f(self):\n        x = 1\n        return x\n\n    def g(self):\n        return 2\n"


@pytest.mark.parametrize(
    ("text", "old", "new", "options", "expected", "count"),
    [
        ("a b c", "b", "B", {}, "a B c", 1),
        ("a b c", " b", "", {}, "a c", 1),
        ("x x x", "x", "y", {"every": True}, "y y y", 3),
        ("aaaa", "aa", "b", {"every": True}, "bb", 2),
        ("x x x", "x", "y", {"first": True}, "y x x", 1),
        ("x x x", "x", "y", {"first": True, "every": True}, "y y y", 3),
        ("1\nx\n3\nx\n5\n", "x", "y", {"near_line": 4}, "1\nx\n3\ny\n5\n", 1),
        ("1\nx\n3\nx\n5\n", "x", "y", {"near_line": 1}, "1\ny\n3\nx\n5\n", 1),
        ("a\r\nb\r\n", "a", "x\ny", {}, "x\r\ny\r\nb\r\n", 1),
        ("a\nb\r\nc", "c", "x\ny", {}, "a\nb\r\nx\r\ny", 1),
        ("cost", "cost", r"$& \1 \g<0>", {}, r"$& \1 \g<0>", 1),
    ],
)
def test_to_the_letter(text, old, new, options, expected, count):
    found = match.replace(text, old, new, **options)
    assert (found.text, found.count, found.relation) == (expected, count, "exact")


@pytest.mark.parametrize(
    ("text", "old", "new", "expected", "relation"),
    [
        # line endings and blanks at line ends
        ("a\r\nb\r\nc\r\n", "a\nb", "x\ny", "x\r\ny\r\nc\r\n", "trailing blanks or line endings"),
        ("a\r\nb\r\nc\r\n", "a\nb\n", "x\n", "x\r\nc\r\n", "trailing blanks or line endings"),
        ("call(a,\r\n  b)\r\n", "a,\n  b", "c", "call(c)\r\n", "trailing blanks or line endings"),
        ("x = 1  \ny = 2\nz\n", "x = 1\ny = 2", "x = 3\ny = 2", "x = 3\ny = 2\nz\n", "trailing blanks or line endings"),
        ("x = 1  \ny = 2\t\nz\n", "x = 1\ny = 2\n", "", "z\n", "trailing blanks or line endings"),
        # one constant shift of indentation
        (CLASS, "def g(self):\n    return 2", "def g(self):\n    if 1:\n        return 3", CLASS.replace("return 2", "if 1:\n            return 3"), "indentation"),
        (CLASS, "x = 1\nreturn x", "x = 2\nreturn x", CLASS.replace("x = 1", "x = 2"), "indentation"),
        (CLASS, "            x = 1\n            return x", "            y = 1\n            return y", CLASS.replace("x = 1\n        return x", "y = 1\n        return y"), "indentation"),
        ("\tif a:\n\t\tb()\n", "    if a:\n        b()", "    if a:\n        c()", "\tif a:\n\t\tc()\n", "indentation"),
        ("    if a:\n        b()\n", "\tif a:\n\t\tb()", "\tif a:\n\t\tb()\n\t\tc()", "    if a:\n        b()\n        c()\n", "indentation"),
        # blanks between tokens
        ("a = 1\nb = f(a, 2)\n", "a=1\nb=f(a,2)", "a=1\nb=f(a,3)", "a = 1\nb=f(a,3)\n", "blanks between tokens"),
        # marks, numbers, fences, escapes
        ('print("hi")\n', "print(\u201chi\u201d)", "print(\u201cho\u201d)", 'print("ho")\n', "typographic marks"),
        ("one\ntwo\nthree\n", "     2\u2192two\n     3\u2192three", "     2\u2192zwei\n     3\u2192drei", "one\nzwei\ndrei\n", "line numbers taken off"),
        ("one\ntwo\n", "1\tone\n2\ttwo", "1\tone\n2\tzwei", "one\nzwei\n", "line numbers taken off"),
        ("one\ntwo\n", "```\none\ntwo\n```", "```\none\nzwei\n```", "one\nzwei\n", "fence taken off"),
        ('say("x")\n', 'say(\\"x\\")', 'say(\\"y\\")', 'say("y")\n', "escapes undone"),
        ("one\ntwo\n", "one\\ntwo", 'one\\nsay(\\"x\\\\n\\")', 'one\nsay("x\\n")\n', "escapes undone"),
        ("one\n\ntwo\n", "1\tone\n2\n3\ttwo", "1\tone\n2\n3\tzwei", "one\n\nzwei\n", "line numbers taken off"),
        ("  one\n  two\n", "1:  one\n2:  two", "  one\n  zwei", "  one\n  zwei\n", "line numbers taken off"),
        ("one\ntwo\n", "```\ntwo\n```", "```\n\n```", "one\n\n", "fence taken off"),
        ("one\ntwo\n", "one\r\ntwo\r\n", "one\r\nzwei\r\n", "one\nzwei\n", "line endings"),
        # the new text is indented like the file, not like the quote
        (CLASS, "def g(self):\n    return 2", "    def g(self):\n        return 3", CLASS.replace("return 2", "return 3"), "indentation"),
        (CLASS, "    x = 1\n    return x", "        x = 1\n        return y", CLASS.replace("return x", "return y"), "indentation"),
        (CLASS, "            x = 1\n            return x", "        x = 1\n        return y", CLASS.replace("return x", "return y"), "indentation"),
        ("  // a\n\n  f() {}", "\nf() {}", "\n  g() {}", "  // a\n\n  g() {}", "blank lines around"),
        # a block that is wrapped, and one that is unwrapped
        ("if a:\n    f()\n    g()\n", "f()\ng()", "if b:\n    f()\n    g()", "if a:\n    if b:\n        f()\n        g()\n", "indentation"),
        ("    a()\n    if b:\n        c()\n", "a()\nif b:\n    c()", "    a()\n    c()", "    a()\n    c()\n", "indentation"),
        # half of the indentation, and indentation with other blanks
        ("    if a:\n        b()\n", "  if a:\n    b()", "  if a:\n    b()\n  c()", "    if a:\n        b()\n    c()\n", "indentation"),
        ("  f( a, b ) {\n    c\n", "f(a, b) {", "g(a, b) {", "  g(a, b) {\n    c\n", "indentation and blanks between tokens"),
        ("a {\n\tb\n\t}\nc\n", "a {\nb\n}\nc", "a {\nb\nx\n}\nc", "a {\n\tb\n\tx\n\t}\nc\n", "uneven indentation"),
        ("if a:\n    b()\nc()\n", "if a:\nb()\nc()", "if a:\nb()\nd()", "if a:\n    b()\nd()\n", "uneven indentation"),
        # only the first line is outdented
        ("    a = 1 \n    b = 2\n", "a = 1\n    b = 2", "    a = 3\n    b = 2", "    a = 3\n    b = 2\n", "uneven indentation"),
        ("    a = 1\n    b = 2\n", "a = 1\n    b = 2", "    a = 3\n    b = 2", "    a = 3\n    b = 2\n", "exact"),
        ("    a = 1\n", "a = 1", "    a = 1", "        a = 1\n", "exact"),
        # blank lines around, line ends of the new text, whole lines that go, the Macintosh's line ends
        ("a\nb\nc\n", "b\n\n", "B\n\n", "a\nB\nc\n", "blank lines around"),
        ("a\nb\n", "a", "x\r\ny", "x\ny\nb\n", "exact"),
        ("a\nb\nc\n", "b", "", "a\nc\n", "exact"),
        ("a\r\nb\r\nc", "b", "", "a\r\nc", "exact"),
        ("a b\nc\n", "b", "", "a \nc\n", "exact"),
        ("a\rb\rc\r", "b\nc", "B\nC", "a\rB\rC\r", "exact"),
        ("say \u201chi\u201d\nend\u2014\n", 'say "hi"\nend-', 'say "ho"\nend-', 'say "ho"\nend\u2014\n', "typographic marks"),
        # the quote begins within the indentation of its first line, and stands there to the letter
        ("if a:\n        yield (\n            x\n        )\n", "    yield (\n            x\n        )", "    yield y", "if a:\n        yield y\n", "indentation"),
        ("if a:\n        yield (\n            x\n        )\n", "    yield (\n            x\n        )", "        yield y\n        z", "if a:\n        yield y\n        z\n", "uneven indentation"),
        # tabs and blanks: with blanks behind the tabs, deeper lines, and a unit that is no other
        ("\tf(a,\n\t  b)\n", "    f(a,\n      b)", "    f(a,\n      c)", "\tf(a,\n\t  c)\n", "indentation"),
        ("\t\ta()\n\t\tb()\n", "a()\nb()", "if c:\n    a()\n    if d:\n        b()", "\t\tif c:\n\t\t\ta()\n\t\t\tif d:\n\t\t\t\tb()\n", "indentation"),
        ("    if a:\n        b()\n", "if a:\n    b()", "if a:\n\tc()", "    if a:\n        c()\n", "indentation"),
        ("\tif a:\n\t\tb()\n", "   if a:\n        b()", "   if c:\n        d()", "\tif c:\n\t\td()\n", "uneven indentation"),
        # a quote that leaves out some of the indentation
        ("        a()\n", "    a()", "    if b:\n        a()", "        if b:\n            a()\n", "indentation"),
    ],
)  # fmt: skip
def test_by_a_relation(text, old, new, expected, relation):
    found = match.replace(text, old, new)
    assert (found.text, found.relation) == (expected, relation)


# For each relation: lines of a file, how a model misquotes them, and its new text in the same way of writing.
MISQUOTED = {
    "blank lines around": ("beta = 2\nbeta2()", "beta = 2\nbeta2()", "NEW = 2\nNEW2()"),
    "trailing blanks": ("beta = 2  \nbeta2()\t", "beta = 2\nbeta2()", "NEW = 2\nNEW2()"),
    "indentation": ("    beta = 2\n    beta2()", "beta = 2\nbeta2()", "NEW = 2\nNEW2()"),
    "tabs": ("\tif beta:\n\t\tbeta2()", "    if beta:\n        beta2()", "    if NEW:\n        beta2(NEW)"),
    "uneven indentation": ("if b:\n    beta2()\nbeta()", "if b:\nbeta2()\nbeta()", "if NEW:\nbeta2()\nbeta()"),
    "the first line's indentation": ("    beta = 2 \n    beta2()", "beta = 2\n    beta2()", "NEW = 2\n    beta2()"),
    "blanks between tokens": ("f(beta, 2)\nbeta = 2", "f(beta,2)\nbeta=2", "f(NEW,2)\nNEW=2"),
    "typographic marks": ('f("beta")\nbeta2()', "f(\u201cbeta\u201d)\nbeta2()", "f(\u201cNEW\u201d)\nbeta2()"),
    "line numbers": ("beta = 2\nbeta2()", "2\u2192beta = 2\n3\u2192beta2()", "2\u2192NEW = 2\n3\u2192NEW2()"),
    "line numbers, the new text without": ("beta = 2\nbeta2()", "2\u2192beta = 2\n3\u2192beta2()", "NEW = 2\nNEW2()"),
    "fence": ("beta = 2\nbeta2()", "```\nbeta = 2\nbeta2()\n```", "```\nNEW = 2\nNEW2()\n```"),
    "fence around a blank line": ("beta2()", "```\n\nbeta2()\n```", "```\nNEW2()\n```"),
    "fence, the new text without": ("beta = 2\nbeta2()", "```\nbeta = 2\nbeta2()\n```", "NEW = 2\nNEW2()"),
    "all in one line": ("beta = 2\nbeta2()", "beta = 2\\nbeta2()", "NEW = 2\\nNEW2()"),
    "lines left out": ("beta = 2\nbeta\nbeta2()", "beta = 2\n...\nbeta2()", "NEW = 2\n...\nNEW2()"),
    "escapes": ('f("beta")\nbeta2()', 'f(\\"beta\\")\nbeta2()', 'f(\\"NEW\\")\nNEW2()'),
}
EDGES = ("", "\n", "\n\n", "\n\n\n", " ", "\t", " \n", "\n ", "\n\t\n", "  \n  \n", "\r\n", "\r\n\r\n")
BEFORE = ("", "\n", "aaa = 1\n", "aaa = 1\n\n", "aaa = 1\n  \n", "    aaa = 1\n")
AFTER = ("", "\n", "\nzzz = 9\n", "\n\nzzz = 9", "\n    zzz = 9\n", "\n  \nzzz = 9\n")


def count_misquotes(name, rng, cases):
    """Misquote a block in many ways; return how often it was replaced though the quote is not the file's text."""
    block, quote, new = MISQUOTED[name]
    made = 0
    for _ in range(cases):
        feed, before, after = rng.choice(("\n", "\r\n")), rng.choice(BEFORE), rng.choice(AFTER)
        text = (before + block + after).replace("\n", feed)
        lead, tail, first, last = (rng.choice(EDGES) for _ in range(4))
        level = "lenient" if name == "lines left out" else "safe"
        try:
            found = match.replace(text, lead + quote + tail, first + new + last, level=level)
        except ToolError:
            continue
        if found.relation == "exact":
            continue  # to the letter: what the quote has goes
        made += 1
        case = (text, lead + quote + tail, first + new + last, found)
        lines = found.text.replace("\r\n", "\n").split("\n")
        outside = [line for line in (before + after).split("\n") if line.strip()]
        assert [line for line in lines if "aaa" in line or "zzz" in line] == outside, case
        assert sum("NEW" in line for line in lines) == sum(
            "NEW" in line for line in new.replace("\\n", "\n").split("\n")
        ), case
        assert "\r" not in found.text.replace("\r\n", ""), case
        if not after and last.count("\n") <= tail.count("\n"):
            assert lines[-1].strip(), case  # a file without a line end gets none
    return made


@pytest.mark.parametrize("name", MISQUOTED)
def test_no_relation_changes_where_lines_end(name):
    """Whatever blanks and line ends quote and new text begin and end with, no line is joined to another."""
    assert count_misquotes(name, random.Random(name), 150) > 50


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_no_relation_changes_where_lines_end_in_ten_thousand_cases(seed):
    rng = random.Random(seed)
    assert sum(count_misquotes(name, rng, 1000) for name in MISQUOTED) > 10_000


@pytest.mark.parametrize(("old", "new", "made"), [("\nb", "\nB", "a\r\nB\r\nc"), ("\nb", "B", "aB\r\nc")])
def test_a_quote_begins_before_a_line_end_and_not_within(old, new, made):
    assert match.replace("a\r\nb\r\nc", old, new).text == made
    assert match.unique(b"a\r\nb\r\nc", old, new) is None


def test_blank_lines_that_only_the_quote_has_are_taken_off_it_alone():
    text = "const a = 1;\n// note\nconst b = 2;\n"
    assert match.replace(text, "// note\n\n", "// better note\n").text == text.replace("note", "better note")
    assert match.replace(text, "\n\n// note", "// better note").text == text.replace("note", "better note")
    assert match.replace(text, "// note\n\n\n", "// a\n\n").text == text.replace("note", "a")
    assert match.replace(text, "// note\n\n", "// a\n\n\n").text == text.replace("note", "a\n")


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("x = 3000\ny\n", "x = 9000\ny"),  # a number
        ('print("a  b")\ny\n', 'print("a b")\ny'),  # blanks in a string
        ("x == y\nz\n", "x != y\nz"),  # an operator
        ("a = = b\nz\n", "a == b\nz"),
        ("foobar = 1\nz\n", "foo bar = 1\nz"),  # names
        ("handle_create()\nz\n", "handle_crease()\nz"),
        ('s = """\na  b\n"""\n', "a b\n"),  # blanks in a string of several lines
        ("x = 1  # a  b\ny\n", "x = 1  # a b\ny"),  # a comment
        ("a\nb\nc\n", "a\nc"),  # a line left out
        ("", "x"),
    ],
)
def test_what_matters_never_matches_loosely(text, old):
    with pytest.raises(ToolError) as caught:
        match.replace(text, old, "new")
    assert caught.value.code == "NotFound"


@pytest.mark.parametrize(
    ("text", "old", "new", "options", "code", "words"),
    [
        ("abc", "z", "y", {}, "NotFound", "not found"),
        ("abc", "", "y", {}, "ValidationError", "`old` is required"),
        ("abc", "b", "b", {}, "ValidationError", "the same"),
        ("x\nx\nx\n", "x", "y", {}, "Conflict", r"occurs 3 times \(multiple matches, lines 1, 2, 3\)"),
        ("x\n1\nx\n", "x", "y", {"near_line": 2}, "Conflict", "occurs 2 times"),
        ("x x", "x", "y", {"near_line": 1}, "Conflict", "occurs 2 times"),
        ("close()\n    close()\n", "close()", "x", {}, "Conflict", "occurs 2 times"),
        ("if a:\n    f()\n    g()\nelse:\n        f()\n        g()\n", "f()\ng()", "h()", {}, "Conflict", "but for indentation"),
        ("    a()\n    b()\n", "        a()\n        b()", "        a()\n  b()", {}, "Conflict", "how the new text is to be indented"),
        ("x = 1\ny\n", "x=1\ny", "z", {"level": "exact"}, "NotFound", "not found"),
        ("  g()\n  f( )\n-\n  g()\n  f()\n", "g()\nf()", "h()", {"every": True}, "Conflict", "2 times.*Quote the text exactly"),
        # indented like the quote or like the file?
        ("if a:\n    f()\n    g()\n", "f()\ng()", "  x()\n  y()", {}, "Conflict", "like the old text or like the file"),
        ("if a:\n    f()\n    g()\n", "f()\ng()", "x()\n    g()", {}, "Conflict", "like the old text or like the file"),
        # off by more and by less
        ("if a:\n    b()\nc()\n", "if a:\nb()\nc()", "if a:\nb()\nd()\nc()", {}, "Conflict", "how the new text is to be indented"),
        ("if a:\n    b()\nc()\n", "if a:\nb()\nc()", "new", {}, "Conflict", "how the new text is to be indented"),
        ("if a:\n    f()\n", "f() ", "    f()", {}, "Conflict", "already there, at line 2"),
        ("x()\nx()\nx()\n", "x()\nx()\n", "y()\n", {}, "Conflict", "lines 1, 2"),  # over its own end
        ("x()\nx()\nx()\nx()\n", "x()\nx()\n", "y()\n", {"near_line": 2}, "Conflict", "lines 1, 2, 3"),
        ("x() \nx()\nx() \n", "x()  \nx()  \n", "y()\n", {}, "Conflict", "lines 1, 2"),
        ("    a()\nb\n        a()\n", "      a()", "c()", {}, "Conflict", "lines 1, 3"),
        ("{\n 1: a,\n 2: b,\n}\n", "2:  1: a,\n3:  2: b,", " 1: c,\n 2: d,", {}, "Conflict", "not certain"),  # numbers?
        ("a\nb\n", "1: a\n2: b", "1: a\nc\n2: b", {}, "Conflict", "not certain"),
        ('say("x")\ny\n', 'say(\\"x\\")\ny', 'say(\\"x\\n\\")\ny', {}, "Conflict", "not certain"),  # a line feed?
        ("a\nb\n", "a\\nb", 'a\nsay("\\n")', {}, "Conflict", "not certain"),
        ('say("x")\n', "say(\u201cx\u201d)", "say(\u201cx \u2014 y\u201d)", {}, "Conflict", "not certain"),  # a hyphen?
    ],
)  # fmt: skip
def test_what_is_not_certain_is_refused(text, old, new, options, code, words):
    with pytest.raises(ToolError, match=words) as caught:
        match.replace(text, old, new, **options)
    assert caught.value.code == code


def test_all_places_that_fit_by_one_relation_are_replaced():
    text = "if a:\n    f()\n    g()\nelse:\n        f()\n        g()\n"
    assert match.replace(text, "f()\ng()", "h()", every=True).text == "if a:\n    h()\nelse:\n        h()\n"


def test_all_places_of_a_quote_are_replaced_however_many():
    text = "a \r\nb\r\n" * 300
    assert match.replace(text, "a\nb\n", "c\n", every=True).text == "c\r\n" * 300
    assert match.replace(text, "a\nb\n", "c\n", near_line=595).lines == (595, 596)


def test_a_quote_like_too_many_lines_is_refused(monkeypatch):
    monkeypatch.setattr(match, "_MOST_LINES", 20)
    assert match.replace("a \n" * 20, "a\n", "b\n", every=True).count == 20
    with pytest.raises(ToolError, match="20 places or more"):
        match.replace("a \n" * 21, "a\n", "b\n", every=True)


@given(st.text("ab\n", max_size=8), st.text("ab\n", min_size=1, max_size=3), st.text("ab\n", max_size=8), st.text("xy"))
def test_nothing_outside_the_place_changes(before, old, after, new):
    text = before + old + after
    try:
        found = match.replace(text, old, new)
    except ToolError:
        assert text.find(old) != text.rfind(old) or old == new
        return
    at = text.index(old)
    whole = not new and text[at - 1 : at] in ("", "\n") and text[at + len(old) - 1] != "\n"
    assert found.text == text[:at] + new + (
        text[at + len(old) :].removeprefix("\n") if whole else text[at + len(old) :]
    )


LINES = st.lists(st.sampled_from(["a", "  b", "    c = 1", "\td", "", "x  y", '"s  t"', "  b"]), min_size=1, max_size=8)


@given(LINES, LINES, st.sampled_from(["\n", "\r\n"]))
def test_whatever_the_quote_only_one_run_of_lines_changes(lines, quote, end):
    text = end.join(lines) + end
    try:
        found = match.replace(text, "\n".join(quote), "NEW")
    except ToolError:
        return
    ((start, stop),) = found.spans
    assert found.text.startswith(text[:start])
    assert found.text.endswith(text[stop:])
    squeezed = "".join(text[start:stop].split())
    assert squeezed == "".join("".join(quote).split())


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("a\n" * 200_000, "a\n" * 1000 + "b"),
        ("x" * 3_000_000, "y" * 1000),
        ("    a()\n" * 100_000, "a()\n" * 5000 + "b()"),
        ("(" * 100_000 + "\n", "((x\n"),
        ("'" * 50_000 + "\n" + "z\n", "'" * 49_999 + '"\nz'),
        ("a\n" * 300_000, "a"),
        ("x = 1\n" * 100, "```" + " " * 1_000_000),
        ("    a()\n" * 100, "    a()\n  " * 50_000),
        ("x\n", "9" * 5000 + ": a\n" + "9" * 5000 + ": b"),  # no line has such a number
        ("".join(f"line {n % 7} of {n}\n" for n in range(100_000)), "line 3 of 99\nline 9 of 9\nline 4 of 102"),
    ],
)
def test_no_input_takes_long(text, old):
    """The time limit of every test is what would end it: bounded work needs no clock of its own."""
    with pytest.raises(ToolError):
        match.replace(text, old, "new text\n")


@pytest.mark.slow
def test_too_many_places_are_not_replaced_at_once():
    with pytest.raises(ToolError, match="500000 places or more"):
        match.replace("a" * 500_000, "a", "b", every=True)


def test_lines_may_be_left_out_when_asked_for():
    text = "def f():\n    a = 1\n    b = 2\n    c = 3\n    return a\n"
    old = "def f():\n    a = 1\n    ...\n    return a"
    new = "def f(x):\n    a = 1\n    ...\n    return x"
    found = match.replace(text, old, new, level="lenient")
    assert found.text == "def f(x):\n    a = 1\n    b = 2\n    c = 3\n    return x\n"
    with pytest.raises(ToolError):
        match.replace(text, old, new)
    with pytest.raises(ToolError, match="as often"):
        match.replace(text, old, "no dots", level="lenient")


PIECES = st.lists(st.sampled_from(["a", "b", "\n", "\r\n", "  x\n", "ab\r\n"]), max_size=12).map("".join)


@given(PIECES, PIECES, PIECES)
def test_a_place_found_in_bytes_is_the_one_found_in_text(text, old, new):
    found = match.unique(text.encode(), old, new)
    if not old or old == new or text.find(old) < 0 or text.find(old) != text.rfind(old):
        assert found is None
    if found is None:
        return
    wanted = match.replace(text, old, new)
    assert (found.data.decode(), found.spans, found.lines, found.relation, found.count) == (
        wanted.text,
        wanted.spans,
        wanted.lines,
        wanted.relation,
        wanted.count,
    )
    (start, end), same = found.spans[0], found.same
    assert (same.head, same.tail, same.lines) == (start, len(text) - end, text.count("\n", 0, start))


@pytest.mark.parametrize(("old", "new"), [("\u00e9", "e"), ("\ud800", "e"), ("one", "\ud800")])
def test_what_bytes_cannot_say_is_left_to_text(old, new):
    assert match.unique(b"one ? two", old, new) is None


def test_new_text_need_not_be_ascii():
    assert match.unique(b"one two", "two", "zw\u00f6lf").data == "one zw\u00f6lf".encode()
