"""Words as the shell would see them."""

import subprocess

import pytest

from tests.values import assert_values
from toolroll.policy.shell.parse import words as module
from toolroll.policy.shell.parse.analysis import read_text
from toolroll.policy.shell.parse.grammar import read_plain
from toolroll.policy.shell.parse.words import (
    SimpleCommand,
    ansi,
    folder_after,
    normalise_path,
    of_workspace,
    plain,
    resolve,
    unknown,
)


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


@pytest.mark.parametrize(
    ("text", "tame", "idle"),
    [("a", True, True), ("$x", False, True), ('"${x}"', False, True), ("$?", True, True), ("{a,b}", False, False)],
)
def test_what_an_expansion_can_do(text, tame, idle):
    assert (word(text).tame, word(text).idle) == (tame, idle)


@pytest.mark.parametrize(
    ("text", "program"),
    [("ls", "ls"), ("/usr/bin/ls", "ls"), ("~/bin/x", "x"), ("~/$x", None), ("$x", None), ("a$x", None), ("''", "")],
)
def test_the_name_of_a_program(text, program):
    assert SimpleCommand((word(text),), text).program == program


def test_a_command_is_literal_when_all_its_words_are():
    ls, files = plain("ls"), word("*.py")
    assert SimpleCommand((ls, plain("a")), "ls a").literal == ("ls", "a")
    assert SimpleCommand((ls, files), "ls *.py").literal is None
    assert SimpleCommand((ls,), "ls", more=True).literal is None
    assert SimpleCommand((), "").program is None


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("", "."), ("a//b/./c", "a/b/c"), ("a/../b", "b"), ("..", ".."), ("../../a", "../../a"), ("/..", "/"),
        ("/a/../../b", "/b"), ("~/..", "~/.."), ("a/b/../..", "."),
    ],
)  # fmt: skip
def test_a_path_is_read_by_its_text(path, found):
    assert normalise_path(path) == found


@pytest.mark.parametrize(
    ("where", "name", "ours"),
    [
        (".", "ls", False), (".", "./ls", True), (".", "bin/ls", True), (".", "/bin/ls", False), (".", "../ls", False),
        (".", "~/ls", False), ("src", "../ls", True), ("/tmp", "./ls", False), (None, "./ls", True),
    ],
)  # fmt: skip
def test_a_file_of_the_workspace_is_no_program_of_the_system(where, name, ours):
    assert of_workspace(where, word(name)) is ours


@pytest.mark.parametrize(
    ("where", "path", "found"),
    [
        (".", "a/../b", "b"),
        ("src", "..", "."),
        ("src", "../..", ".."),
        ("/x", "a", "/x/a"),
        (None, "a", None),
        (None, "/a", "/a"),
        ("~", "a", "~/a"),
        (".", "./~", "./~"),
        (".", "~", "~"),
    ],
)
def test_resolve(where, path, found):
    assert resolve(where, path) == found


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("cd src; ls", "src"),
        ("cd src && cd ..; ls", "."),
        ("cd /; ls", "/"),
        ("cd; ls", "~"),
        ("cd ~/x; ls", "~/x"),
        ('cd "$x"; ls', None),
        ("cd -; ls", None),
        ("cd a*; ls", None),
        ("(cd /); ls", "."),
        ("cd / | cat; ls", "."),
        ("x=$(cd /); ls", "."),
        ("a || cd /; ls", None),
        ("if a; then cd /; fi; ls", None),
        ("cd src || exit; ls", "src"),
        ("command cd -P /; ls", "/"),
        ("pushd /x; ls", "/x"),
        ("popd; ls", None),
        ("source a; ls", None),
        ("echo cd /; ls", "."),
    ],
)
def test_the_folder_is_followed(text, where):
    assert read_text(text).found[-1].item.where == where


def test_nothing_changes_the_folder_of_no_words():
    assert folder_after("a", ()) == "a"
    assert folder_after("a", (plain("cd"), plain("b"), plain("c"))) is None


def test_values_stay_as_they_are():
    assert_values(module)
