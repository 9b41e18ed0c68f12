"""What is found in a text: every command that would run, with wrappers and nested shells taken apart."""

import pytest

from tests.policy.shell.parse.found import assert_found
from tests.values import assert_values
from toolroll.policy.shell.parse import analysis as module
from toolroll.policy.shell.parse.analysis import analyse, analyse_words, read_text
from toolroll.policy.shell.parse.words import Assignment, Redirection, SimpleCommand, UnclearPart
from toolroll.policy.shell.parse.words import plain as literal


def commands(text):
    return [
        [word.text for word in one.item.words] for one in analyse(text).found if isinstance(one.item, SimpleCommand)
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a; b | c && d", [["a"], ["b"], ["c"], ["d"]]),
        ("env A=1 timeout 5 a b", [["env", "A=1", "timeout", "5", "a", "b"], ["timeout", "5", "a", "b"], ["a", "b"]]),
        ("bash -c 'a; b' c", [["bash", "-c", "a; b", "c"], ["a"], ["b"]]),
        (
            "find . -exec a {} + -o -exec b {} ';'",
            [["find", ".", "-exec", "a", "{}", "+", "-o", "-exec", "b", "{}", ";"], ["a", "{}"], ["b", "{}"]],
        ),
        ("echo a b | xargs c", [["echo", "a", "b"], ["xargs", "c"], ["c", "a", "b"]]),
        ("xargs -I% a b%", [["xargs", "-I%", "a", "b%"], ["a", "b%"]]),
        ('echo "$(a "$(b)")"', [["b"], ["a", "$(b)"], ["echo", '$(a "$(b)")']]),
        ("echo `a \\`b\\``", [["b"], ["a", "`b`"], ["echo", "`a \\`b\\``"]]),
        ("cat <<E\n$(a) `b` ${x:-$(c)}\nE", [["a"], ["b"], ["c"], ["cat"]]),
        ("cat <<'E'\n$(a)\nE", [["cat"]]),
        ("bash <<< 'a b'", [["bash"], ["a", "b"]]),
        ("a >x b >y c", [["a", "b", "c"]]),
        ('eval a "b $x"', [["eval", "a", "b $x"], ["a", "b", "${_}"]]),
        ("trap 'a' EXIT; trap - EXIT", [["trap", "a", "EXIT"], ["a"], ["trap", "-", "EXIT"]]),
        ("command -v a", [["command", "-v", "a"]]),
        ("flock l -c 'a b'", [["flock", "l", "-c", "a b"], ["a", "b"]]),
        ("./env a", [["./env", "a"]]),
        ("for i in $(a); do b; done", [["a"], ["b"]]),
        ("[ -f x ]", [["[", "-f", "x", "]"]]),
        ("case $(a) in b) c;; esac", [["a"], ["c"]]),
        ("x=$(a) b", [["a"], ["b"]]),
        ("export x=$(a)", [["a"], ["export", "x=$(a)"]]),
        ("ls # a; b", [["ls"]]),
    ],
)
def test_commands(text, found):
    assert commands(text) == found


def test_all_that_is_found_in_many_texts():
    assert_found()


@pytest.mark.parametrize(
    ("most", "more", "trouble"),
    [
        ("a\n" * 2_000, "a", "it holds more than 2000 commands"),
        ("a" * 16_000, "a", "it is longer than 16000 characters"),
        ("ls" + " " * 199_998, " ", "it is longer than 200000 characters"),
        ("ls " + "?" * 2_000, "?", "it holds more than 2000 brackets and operators"),
    ],
)
def test_what_is_too_much_to_be_read(most, more, trouble):
    assert (read_text(most).trouble, read_text(most + more).trouble) == ("", trouble)


def test_what_is_nested_too_deeply():
    said = [read_text("( " * depth + "a" + " )" * depth).trouble for depth in (98, 99)]
    assert said == ["", "it is nested too deeply"]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("ls | wc", True),
        ("bash -c 'ls'", True),
        ("bash -c 'ls $(x)'", False),
        ("ls $(a)", False),
        ("for i in a; do b; done", False),
        ("ls (", False),
        ("ls \u200b", False),
        ("cat <<E\nx\nE", True),
        ("cat <<E\n$x\nE", False),
        ("cat <<E\n`x`\nE", False),
        ("cat <<'E'\n$x\nE", True),
        ("eval " * 6 + "ls", True),
        ("eval " * 7 + "ls", False),
    ],
)
def test_only_plain_text_is_plain(text, plain):
    assert analyse(text).plain is plain


def test_functions_run_when_they_are_called():
    assert analyse("f() { a; }").reached() == {None}
    assert analyse("f() { a; }; f").reached() == {None, "f"}
    assert analyse("f() { g; }; g() { a; }; h() { b; }; f").reached() == {None, "f", "g"}
    assert analyse("f() { f; }").reached() == {None}
    assert analyse("f() { a; }; trap f EXIT").reached() == {None, "f"}


def test_redirections_and_assignments_are_items_of_their_own():
    items = [one.item for one in analyse("A=1 ls 2>err < in > /dev/null").found]
    assert [(item.text, item.writes) for item in items if isinstance(item, Redirection)] == [
        ("2>err", True),
        ("< in", False),
        ("> /dev/null", True),
    ]
    assert [(item.name, item.lasting) for item in items if isinstance(item, Assignment)] == [("A", False)]


def reasons(analysis):
    return [one.item.reason for one in analysis.found if isinstance(one.item, UnclearPart)]


@pytest.mark.parametrize(
    ("text", "items", "said"),
    [
        ("env " * 11 + "ls", 12, []),
        ("env " * 12 + "ls", 14, ["too many programs run each other in it"]),
        ("env " * 20 + "ls", 14, ["too many programs run each other in it"]),
        ("eval " * 6 + "ls", 7, []),
        ("eval " * 7 + "ls", 8, ["shells are nested too deeply in it"]),
        ("ls \u200b", 2, ["it holds control characters or invisible ones"]),
    ],
)
def test_what_cannot_be_followed_is_said(text, items, said):
    analysis = analyse(text)
    assert (len(analysis.found), reasons(analysis)) == (items, said)


@pytest.mark.parametrize(
    ("words", "items", "said"),
    [
        (["ls", "a b"], 1, []),
        (["env", "ls"], 2, []),
        (["env"] * 11 + ["ls"], 12, []),
        (["env"] * 12 + ["ls"], 14, ["too many programs run each other in it"]),
        (["echo", "a\n\tb"], 1, []),
        (["echo", "a\u200b"], 2, ["it holds control characters or invisible ones"]),
        (["bash", "-c", "a; b"], 3, []),
    ],
)
def test_words_without_a_shell(words, items, said):
    analysis = analyse_words([literal(word) for word in words])
    assert (len(analysis.found), reasons(analysis)) == (items, said)


def test_values_stay_as_they_are():
    assert_values(module, "Analysis", "ShellText")
