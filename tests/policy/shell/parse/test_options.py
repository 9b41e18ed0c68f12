"""Options as getopt reads them."""

import pytest

from tests.values import assert_values
from toolroll.policy.shell.parse import options as module
from toolroll.policy.shell.parse.options import OptionSpec, read
from toolroll.policy.shell.parse.words import plain

KNOWN = OptionSpec("an:i::", "all lines= color?")


def shape(text, **how):
    given = read([plain(word) for word in text.split()], KNOWN, **how)
    return [(name, value) for name, _, value in given.options], [word.text for word in given.operands], given.unknown


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ([], [], None)),
        ("x -a y", ([("a", "")], ["x", "y"], None)),
        ("-an 5 x", ([("a", ""), ("n", "5")], ["x"], None)),
        ("-an5 x", ([("a", ""), ("n", "5")], ["x"], None)),
        ("-n -a x", ([("n", "-a")], ["x"], None)),
        ("-i x", ([("i", "")], ["x"], None)),
        ("-ix y", ([("i", "x")], ["y"], None)),
        ("--lines=5 --lines 6 x", ([("lines", "5"), ("lines", "6")], ["x"], None)),
        ("--color x --color=y", ([("color", ""), ("color", "y")], ["x"], None)),
        ("-- -a --all", ([], ["-a", "--all"], None)),
        ("- x", ([], ["-", "x"], None)),
        ("-z", ([("z", "")], [], "-z")),
        ("--line=5", ([("line", "5")], [], "--line=5")),
        ("--all=1", ([("all", "1")], [], "--all=1")),
        ("-:", ([(":", "")], [], "-:")),
        ("-5 x", ([("5", "")], ["x"], "-5")),
    ],
)
def test_options(text, found):
    assert shape(text) == found


def test_options_may_stop_at_the_first_operand():
    assert shape("-a x -z", stop=True) == ([("a", "")], ["x", "-z"], None)
    assert shape("-5 x", numbers=True) == ([("5", "")], ["x"], None)


def test_what_was_given():
    given = read([plain("-n"), plain("1"), plain("-n2"), plain("-a")], KNOWN)
    assert (given.value("n"), given.value("x"), given.has("a", "x"), given.has("i")) == ("2", None, True, False)


def test_values_stay_as_they_are():
    assert_values(module, "GivenOptions")
