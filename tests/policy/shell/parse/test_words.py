"""Words as the shell would see them."""

import subprocess

import pytest

from toolroll.policy.shell.parse.grammar import read_plain
from toolroll.policy.shell.parse.words import ansi, plain, unknown


def word(text):
    [[_, found]] = read_plain(f"echo {text}")
    return found


@pytest.mark.parametrize(
    "text",
    [
        *[
            "a",
            "'a b'",
            '"a b"',
            "a\\ b",
            "a''b",
            'a"b"c',
            "$'a\\tb'",
            "$'\\x63\\165\\u0072l'",
            "$'\\U0001F600'",
            '"a\\"b\\$c\\`d\\\\e\\f"',
        ],
        *[
            "'\\n'",
            "\\'",
            "a\\;b",
            "$'\\''",
            "$'a\\0b'",
            "$'\\cA'",
            "$'\\q'",
            "''",
            '""',
            "a=b",
            "a#b",
            "{}",
            "a{b}c",
            "[",
            "a]",
        ],
        *["-x", "--a=b", "é", "'$x'", "foo$", '"a$"', "$'\\e[0m'", "\\\\", "$'\\xe9'"],
    ],
)
def test_a_literal_word_is_what_bash_makes_of_it(text):
    done = subprocess.run(["bash", "-c", f"printf %s {text}"], capture_output=True, check=True)
    assert word(text).literal
    assert word(text).text == done.stdout.decode("utf-8", "replace")


@pytest.mark.parametrize(
    ("text", "start", "tame", "place"),
    [
        ("*.py", "", True, "*.py"),
        ("src/*.py", "src/", True, "src/*.py"),
        ("'*'.py", "*.py", True, "_.py"),
        ("~/x", "/", True, "~/x"),
        ("~bob/x", "/", True, "~/x"),
        ("'~/x'", "~/x", True, "_~/x"),
        ("a~", "a~", True, "a~"),
        ("{a,b}", "", False, None),
        ("a{1..3}", "a", False, None),
        ("$?", "", True, None),
        ('"a$?"', "a", True, None),
        ("-[x]", "-", True, "-[x]"),
    ],
)
def test_what_is_known_of_a_word(text, start, tame, place):
    found = word(text)
    assert (found.start, found.tame, found.place) == (start, tame, place)


def test_words_made_by_hand():
    assert (plain("a b").text, plain("*").literal, plain("~").place) == ("a b", True, "_~")
    assert (unknown("$x").literal, unknown("$x").tame, unknown("$x").place, unknown("$x").start) == (
        False,
        False,
        None,
        "",
    )
    assert ansi("\\ud800").text == "?"
