"""Paths as git takes them."""

import pytest

from toolroll.text.git.names import pathspec, show_text, split_names


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (".", ["."]),
        ("a.py b.py", ["a.py", "b.py"]),
        ("  a.py \n b.py ", ["a.py", "b.py"]),
        ("'with space.py' b.py", ["with space.py", "b.py"]),
        ('"with space.py"', ["with space.py"]),
        ("it's.py b.py", ["it's.py", "b.py"]),
        ("", []),
        (["a b.py", "-x"], ["a b.py", "-x"]),
    ],
)
def test_several_names_in_one_text(given, names):
    assert split_names(given) == names


@pytest.mark.parametrize(
    ("name", "exists", "spec"),
    [
        ("a.py", True, ":(literal)a.py"),
        ("a.py", False, ":(literal)a.py"),
        ("*.py", False, ":(glob)*.py"),
        ("src/**/a?.py", False, ":(glob)src/**/a?.py"),
        ("[id].tsx", True, ":(literal)[id].tsx"),
        ("--force", True, ":(literal)--force"),
        (":(exclude)x", True, ":(literal):(exclude)x"),
    ],
)
def test_no_path_is_an_option_or_has_magic_of_its_own(name, exists, spec):
    assert pathspec(name, exists=exists) == spec


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        (" two\nlines ", "two lines"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\x00b\x7f", "a\\x00b\\x7f"),
        ("evil\u202etxt.exe", "evil\\u202etxt.exe"),
        ("\u00fc \u4e2d", "\u00fc \u4e2d"),
    ],
)
def test_text_of_others_is_shown_without_tricks(text, shown):
    assert show_text(text) == shown
