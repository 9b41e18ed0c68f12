"""The second reader: plain text only, and nothing else."""

import pytest

from tests.policy.shell.parse.found import assert_found
from toolroll.policy.shell.parse.analysis import read_text
from toolroll.policy.shell.parse.grammar import read_plain
from toolroll.policy.shell.parse.words import SimpleCommand


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("", []),
        ("# a", []),
        ("ls -l # a", [["ls", "-l"]]),
        ("a;b|c&&d||e&f\ng|&h", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"], ["g"], ["h"]]),
        ("a 2>&1 >/dev/null < x b", [["a", "b"]]),
        ("a &>x >&2 2>&- >|y <<< z", [["a"]]),
        ("a 5>x b5>x", [["a", "b5"]]),
        (">x a", [["a"]]),
        ("A=1 B='x y' a C=2", [["a", "C=2"]]),
        ("A=1", []),
        ("(a; b) | { c; }", [["a"], ["b"], ["c"]]),
        ("if a; then b; elif c; then d; else e; fi", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("! a; time -p b", [["a"], ["b"]]),
        ("echo if ! time {", [["echo", "if", "!", "time", "{"]]),
        ("a \\\n b", [["a", "b"]]),
        ("'if' a", [["if", "a"]]),
        ("[ -f a ]", [["[", "-f", "a", "]"]]),
        ('a $x "b ${y} $?" c$', [["a", "$x", "b ${y} $?", "c$"]]),
    ],
)
def test_plain_text(text, commands):
    assert [[word.text for word in words] for words in read_plain(text)] == commands


@pytest.mark.parametrize(
    "text",
    [
        *[
            "a `b`",
            "a ${b:-c}",
            "a ${!b}",
            "a ${#b}",
            "a $@",
            "a $1",
            "a $(b)",
            'a "$(b)"',
            "a <(b)",
            "a >(b)",
            "a <<E",
            "a <> b",
            "a $((1))",
        ],
        *[
            "for i in a; do b; done",
            "while a; do b; done",
            "case a in b) c;; esac",
            "f() { a; }",
            "function f { a; }",
            "[[ a ]]",
        ],
        *[
            "((a))",
            "a 'b",
            'a "b',
            "a (b)",
            "(a",
            "a)",
            "x[1]=2 a",
            "select i in a; do b; done",
            "coproc a",
            "a\\\nb",
            "a >",
            'a $"b"',
        ],
    ],
)
def test_anything_else_is_beyond_it(text):
    assert read_plain(text) is None


def test_all_that_the_grammar_finds_in_many_texts():
    assert_found()


@pytest.mark.parametrize(
    "text", ["curl x", "$'\\x63url' x", "'curl' x", '"curl" x', '$"curl" x', "c'ur'\"l\" x", "curl >&- x"]
)
def test_the_grammar_reads_a_word_however_it_is_quoted(text):
    (command,) = [one.item for one in read_text(text).found if isinstance(one.item, SimpleCommand)]
    assert (command.program, command.literal) == ("curl", ("curl", "x"))
