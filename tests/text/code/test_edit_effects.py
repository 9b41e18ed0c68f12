"""What a change of one source means for others."""

import pytest

from toolroll.text.code.edit_effects import (
    ChangedFunctions,
    find_changed_functions,
    find_unused_imports,
    is_call,
    is_definition,
)

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
    ("int f(int a) {\n", "int f(int a, int b) {\n", ["f"], []),
    ("static char *f(int a)\n{\n}\nint\ng(void)\n{\n", "static char *f(long a)\n{\n}\n", ["f"], ["g"]),
    ("void A::f(int a) const {\n", "void A::f() const {\n", ["f"], []),
    ("  @Override public int f(Map<A, B> a) throws E {\n", "  @Override public int f(A a) throws E {\n", ["f"], []),
    ("  if (f(a)) {\n  return g(1);\n  for_each(a, b) {\n", "  if (f(b)) {\n  return g(2);\n  for_each(a) {\n", [], []),
]
METHOD = ("class A {\n  f(a: X): Y {\n    g(a, () => {\n", "class A {\n  f(a: X, b: X): Y {\n    g(() => {\n")


@pytest.mark.parametrize(("before", "after", "changed", "removed"), SIGNATURES)
def test_changed_functions(before, after, changed, removed):
    assert find_changed_functions("a.c", before, after) == ChangedFunctions(changed, removed)


def test_a_changed_method_of_typescript():
    assert find_changed_functions("a.ts", *METHOD) == ChangedFunctions(["f"], [])


@pytest.mark.parametrize(
    ("line", "call", "definition"),
    [
        ("x = f(1)", True, False),
        ("def f(a):", False, True),
        ("# f(1)", False, False),
        ("  f(1)  # f", True, False),
        ("export function f(a) {", False, True),
        ("int *f(int a);", False, False),
        ("static int f(int a)", False, True),
        ("  public f(a: X): Y {", False, True),
        ("  return f(1);", True, False),
        ("  f(a, () => {", True, False),
        ("} else if (f(1)) {", True, False),
        ("    key: f(1)", True, False),
        ("    one, f(1)", True, False),
        ("lambda: f(1)", True, False),
    ],
)
def test_calls_and_definitions(line, call, definition):
    assert (is_call(line, "f"), is_definition(line, "f")) == (call, definition)


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
