"""Where a Python file does not parse, found by a child with limits."""

from __future__ import annotations

import pytest

from tests.launchers import LAUNCHER
from toolroll.host.files import python_syntax
from toolroll.host.files.python_syntax import find_syntax_error


@pytest.mark.parametrize(
    ("path", "data", "expected"),
    [
        ("a.py", b"x = 1\n", None),
        ("a.py", b"x = 1\nif x\n", "line 2: expected ':'"),
        ("a.pyi", b"def f(:\n", "line 1: invalid syntax"),
        ("a.txt", b"def f(:\n", None),
        ("a.py", b"x = 1\0\n", "source code string cannot contain null bytes"),
        ("a.py", b"# coding: latin-1\nx = '\xe9'\n", None),
        ("a.py", b"(" * 300_000, "too many nested parentheses"),
    ],
)
def test_a_text(path, data, expected):
    found = find_syntax_error(path, data, LAUNCHER)
    assert (found is None) if expected is None else (expected in (found or ""))


def test_a_large_text_is_not_checked(monkeypatch):
    monkeypatch.setattr(python_syntax, "_MOST_BYTES", 7)
    assert find_syntax_error("a.py", b"if 1\n  ", LAUNCHER) is not None
    assert find_syntax_error("a.py", b"if 1\n   ", LAUNCHER) is None


def test_a_text_over_a_mebibyte_is_not_checked():
    assert find_syntax_error("a.py", b"if 1" + b" " * (1 << 20), LAUNCHER) is None


def test_a_parser_that_takes_too_long_or_crashes(monkeypatch):
    monkeypatch.setattr(python_syntax, "_CHILD", "import time; time.sleep(60)")
    monkeypatch.setattr(python_syntax, "_SECONDS", 0.2)
    assert find_syntax_error("a.py", b"x", LAUNCHER) == "the parser did not come to an end"
    monkeypatch.setattr(python_syntax, "_CHILD", "import os; os._exit(3)")
    monkeypatch.setattr(python_syntax, "_SECONDS", 30.0)
    assert find_syntax_error("a.py", b"x", LAUNCHER) == "the parser gave up on it"
