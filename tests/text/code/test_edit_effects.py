"""What a change of one source means for others."""

import pytest

from toolroll.text.code.edit_effects import ChangedFunctions, find_changed_functions, find_unused_imports, is_call

SIGNATURES = [
    ("def f(a):\n  pass\n", "def f(a, b):\n  pass\n", ["f"], []),
    ("def f(a):\n  pass\n", "def f(\n    a,\n):\n  return 1\n", [], []),
    (
        "def f(a): pass\nclass A:\n  def f(self): pass\n",
        "def f(a): pass\nclass A:\n  def f(self, x): pass\n",
        ["f"],
        [],
    ),
    ("def f(a=(1, 2)): pass\ndef g(): pass\n", "def f(a=(1, 3)): pass\n", ["f"], ["g"]),
    ("func (s *S) Run(a int) error {\n", "func (s *S) Run(a, b int) error {\n", ["Run"], []),
    ("export async function go<T>(a: T) {\n", "export async function go<T>(b: T) {\n", ["go"], []),
    ("pub(crate) fn x(a: u8) {\n", "pub(crate) fn x() {\n", ["x"], []),
    ("x = defer(1)\n", "x = defer(2)\n", [], []),
]


@pytest.mark.parametrize(("before", "after", "changed", "removed"), SIGNATURES)
def test_changed_functions(before, after, changed, removed):
    assert find_changed_functions(before, after) == ChangedFunctions(changed, removed)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("x = f(1)", True),
        ("def f(a):", False),
        ("# f(1)", False),
        ("  f(1)  # f", True),
        ("export function f(a) {", False),
    ],
)
def test_a_definition_or_a_comment_is_no_call(line, expected):
    assert is_call(line, "f") is expected


IMPORTS = [
    ("import os\nos\n", "import os\n", {"os": 1}),
    ("", "import os, sys\nsys\n", {"os": 1}),
    ("", "x = 1\nfrom a import (\n    b,\n    c as d,\n)\nb\n", {"d": 2}),
    ("import os\n", "import os\nx = 1\n", {}),
    ("", "import os  # noqa: F401\n", {}),
    ("", "import a.b\nfrom __future__ import annotations\nfrom m import *\nfrom m import z as z\n", {}),
    ("", "try:\n    import fast\nexcept ImportError:\n    pass\n", {}),
    ("", '__all__ = ["os"]\nimport os\n', {}),
    ("", "import (\n", {}),
]


@pytest.mark.parametrize(("before", "after", "expected"), IMPORTS)
def test_unused_imports(before, after, expected):
    assert find_unused_imports("pkg/a.py", before, after) == expected


@pytest.mark.parametrize("path", ["pkg/__init__.py", "a.js"])
def test_imports_for_others_are_not_judged(path):
    assert find_unused_imports(path, "", "import os\n") == {}
