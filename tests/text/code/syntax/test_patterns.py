"""Structural patterns."""

import pytest

from toolroll import ErrorCode, ToolError
from toolroll.text.code.syntax import languages
from toolroll.text.code.syntax.patterns import PatternMatch, check, check_parsed, literal, matches

SOURCE = "é = subprocess.run(a,\n    b)\n# subprocess.run(c)\ns = 'subprocess.run(d)'\nsubprocess.call()\n".encode()


def test_code_that_fits_a_pattern():
    assert matches("python", SOURCE, "subprocess.$F($$$ARGS)") == [
        PatternMatch(1, 2, 5, "subprocess.run(a, b)"),
        PatternMatch(5, 5, 1, "subprocess.call()"),
    ]
    assert matches("python", SOURCE, "subprocess.run($A)") == []
    assert matches("python", SOURCE, "function f() {") == []


CALLS = [
    ("c", "int f(void) { opened(1); return opened(2); }", "opened($A)", ["opened(1)", "opened(2)"]),
    ("cpp", "void f() { auto x = std::move(y); }", "std::move($A)", ["std::move(y)"]),
    ("go", 'package p\nfunc f() { fmt.Println("x") }', "fmt.Println($$$)", ['fmt.Println("x")']),
]


@pytest.mark.parametrize(("language", "source", "pattern", "found"), CALLS, ids=[row[0] for row in CALLS])
def test_a_call_is_one_where_it_could_be_read_as_another_thing(language, source, pattern, found):
    assert [match.text for match in matches(language, source.encode(), pattern)] == found


@pytest.mark.parametrize("language", [one.name for one in languages.every() if one.patterns])
def test_every_language_that_says_so_has_patterns(language):
    assert matches(language, b"a\n", "some_very_long_name") == []


@pytest.mark.parametrize("pattern", ["$$$", "  "])
def test_a_pattern_that_cannot_be_read(pattern):
    with pytest.raises(ToolError, match="cannot be read") as caught:
        matches("python", SOURCE, pattern)
    assert caught.value.code == ErrorCode.VALIDATION


LITERALS = [
    ("subprocess.$F($$$ARGS)", "subprocess"),
    ("$A.open($B)", "open"),
    ("$A = $B", ""),
    ("if ($$$) { $X }", "if"),
]


@pytest.mark.parametrize(("pattern", "word"), LITERALS)
def test_the_word_that_every_match_holds(pattern, word):
    assert literal(pattern) == word


@pytest.mark.parametrize("pattern", ["foo($$$", "foo)", "a[$I)", "if ($X) {", "f('(')(", "]["])
def test_brackets_that_do_not_close_each_other_are_refused(pattern):
    with pytest.raises(ToolError, match="cannot be read"):
        check(pattern)


@pytest.mark.parametrize("pattern", ["foo($$$)", "print('(')", r"f('\\'', [1])", "x: &'a str", "$X", "if ($A) { $$$ }"])
def test_brackets_that_close_each_other_are_taken(pattern):
    check(pattern)


PARSED = [
    ("python", "def $F($$$ARGS): $$$BODY"),
    ("python", "class $A"),
    ("python", "if $X: return $Y"),
    ("c", "opened($A)"),
    ("go", "x := call($A)"),
    ("rust", "let $A = $B"),
    ("java", "int f() { return $A; }"),
]


@pytest.mark.parametrize(("language", "pattern"), PARSED)
def test_code_that_stands_somewhere_is_a_pattern(language, pattern):
    check_parsed(pattern, [language])
    check_parsed(pattern, [language, "css"])


def test_what_is_code_of_no_language_is_refused_with_what_to_write():
    with pytest.raises(ToolError, match=r"cannot be read\. Write code .* It is no whole code of: Python\.") as caught:
        check_parsed("def $F $ARGS return", ["python"])
    assert caught.value.code is ErrorCode.VALIDATION
    check_parsed("def $F $ARGS return", [])
