"""What is found in a text: every command that would run, with wrappers and nested shells taken apart."""

import pytest

from toolroll.policy.shell.parse.analysis import analyse
from toolroll.policy.shell.parse.commands import Assignment, Redirection, SimpleCommand, UnclearPart


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


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("ls | wc", True),
        ("bash -c 'ls'", True),
        ("bash -c 'ls $(x)'", False),
        ("ls $(a)", False),
        ("for i in a; do b; done", False),
        ("ls (", False),
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


def test_what_cannot_be_followed_is_said():
    [reason] = {one.item.reason for one in analyse("env " * 20 + "ls").found if isinstance(one.item, UnclearPart)}
    assert reason == "too many programs run each other in it"
    [reason] = {one.item.reason for one in analyse("eval " * 9 + "ls").found if isinstance(one.item, UnclearPart)}
    assert reason == "shells are nested too deeply in it"
