"""Where a changed file no longer parses."""

import time

import pytest

from toolroll.host.files.reader import TextFile
from toolroll.host.files.verdict import describe_faults, find_break, offer_calls
from toolroll.host.files.versions import Version
from toolroll.result import ErrorCode, Suggestion, ToolError
from toolroll.text.code.syntax import grammars
from toolroll.text.encoding import UTF8


@pytest.mark.parametrize(
    ("path", "good", "bad", "said"),
    [
        ("a.py", b"f(1)\n", b"x\nf(1\n", "line 2: '(' was never closed"),
        ("a.py", b"if a:\n    b\n", b"if a:\nb\n", "line 2: expected an indented block after 'if' statement on line 1"),
        ("a.json", b'{"a": 1}\n', b'{"a": 1,\n b}\n', "line 2: Expecting property name"),
        ("a.json", b'"a"', b'"\xff"', "'utf-8' codec can't decode byte 0xff"),
        ("a.toml", b"a = 1\n", b"a = \n", "Invalid value (at line 1, column 5)"),
        ("a.yaml", b"a: [1]\n", b"a: [1\n", "line 1: "),
        ("a.ts", b"f(1);\n", b"let a = 1;\nf(1;\n", "line 2: ')' is missing"),
        ("a.go", b"package a\n\nfunc f() {}\n", b"package a\n\nfunc f() {\n", "line 3: syntax error at '{'"),
    ],
)
def test_the_first_error_is_told(path, good, bad, said):
    assert find_break(path, good, bad).startswith(f"{path} does not parse any more, {said}")
    assert find_break(path, good, good) == find_break(path, bad, bad) == find_break(path, None, good) == ""
    assert find_break(path, None, bad).startswith(f"{path} does not parse, {said}"), "a new file"


_PARTS = b"import a\n\n\ndef f():\n    return 1\n\n\nclass A:\n    b = 1\n"
_FUTURE = b"from __future__ import annotations\n"
_YIELD = b"\n\ndef f():\n    def g(x: (yield)): ...\n"  # no annotation where they are not evaluated


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (_PARTS.replace(b"b = 1", b"return"), "line 9: 'return' outside function"),
        (_PARTS.replace(b"    return", b"'''"), "line 5: unterminated triple-quoted string"),
        (_PARTS + b"\n\ndef g(\n\n\ndef h(): ...\n", "line 12: "),
        (_PARTS + b"\n\n@a\n\nclass\n", "line 14: invalid syntax"),
        (_PARTS.replace(b"return 1", b"return 1\n\ndef g(): ...\n\n" + _FUTURE), "line 9: from __future__"),
        (_PARTS + b"\n\ndef g(): ...\n\nglobal f\n", "line 14: name 'f' is assigned to before global declaration"),
        (_FUTURE + _YIELD, "yield expression"),
        (b"# coding: ascii\n" + _PARTS + "\n\ndef \u00e9(): ...\n".encode(), "ascii"),
    ],
)
def test_of_a_changed_python_file_other_parts_are_known(bad, said):
    assert find_break("a.py", b"1\n", _PARTS) == find_break("a.py", b"1\n", _YIELD) == ""
    assert said in find_break("a.py", _PARTS, bad)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("a = 1\nprint(a)\n", "print(a)\n", "`a` (line 1)"),
        ("def f(x):\n    return x\n", "def f(x):\n    return y + len(z)\n", "`y` (line 2), `z` (line 2)"),
        ("def f():\n    n = 0\n    n += 1\n", "def f():\n    n += 1\n    return n\n", "`n` (line 2)"),
        ("class A:\n    n = 0\n", "class A:\n    n = 0\n\n    def f(self):\n        return n\n", "`n` (line 5)"),
        ("x = a\n", "x = a\ny = a\n", ""),
        ("x = 1\n", "try:\n    unicode\nexcept NameError:\n    unicode = str\n", ""),
        ("x = 1\n", "try:\n    raw_input\nexcept (NameError, OSError):\n    pass\n", ""),
        ("x = 1\n", "from a import *\nx = b\n", ""),
        ("x = 1\n", "globals()['b'] = 1\nx = b\n", ""),
        ("x = 1\n", "x = b  # noqa: F821\n", ""),
        ("x = 1\n", "def f():\n    global n\n    n = 1\n\n\ndef g():\n    return n, __file__\n", ""),
        ("x = 1\n", "def f(a: 'B') -> 'C':\n    return [y for y in a if (z := y)], {**a}\n", ""),
        ("x = 1\n", "x = '''\n\ndef f():\n    return b'''\n", ""),
    ],
)
def test_names_that_a_change_leaves_undefined(before, after, said):
    found = describe_faults("a.py", before.encode(), after.encode())
    assert found == (f"Not defined in a.py: {said}." if said else "")
    assert describe_faults("a.txt", before.encode(), after.encode()) == ""


def test_a_parser_that_gives_up_is_told_by_its_error():
    said = find_break("a.py", b"1\n", b"-" * 200_000 + b"1")
    assert said.removeprefix("a.py does not parse any more, ").startswith(
        ("MemoryError.", "maximum recursion", "Parser stack", "too")
    )


@pytest.mark.parametrize(
    ("path", "largest", "said"),
    [
        ("a.py", b"(" + b" " * 255_999, "'(' was never closed"),
        ("a.py", b"(" + b"\n" * 5_000, "'(' was never closed"),
        ("a.toml", b"a = " + b"\n" * 5_000 + b" " * 58_996, "Invalid value"),  # beyond it, by another parser
    ],
)
def test_files_up_to_a_size_are_parsed(path, largest, said):
    assert said in find_break(path, b"", largest)
    assert said not in find_break(path, b"", largest + b"\n")


@pytest.mark.parametrize("path", ["a.txt", "a", "a.md"])
def test_other_files_are_not_judged(path):
    assert find_break(path, b"(\n", b"((\n") == ""


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("a.py", b"x = (1, 2, 3)\n" * 5_000),
        ("a.py", b"(" * 200_000),
        ("a.py", b"-" * 200_000 + b"1"),
        ("a.json", b"[" * 200_000),
        ("a.ts", b"{" * 200_000),
        ("a.py", b"x = 1\n" * 5_000_000),
    ],
)
def test_it_does_not_take_long(path, data):
    start = time.process_time()
    find_break(path, b"1\n", data)
    assert time.process_time() - start < 1


def draft(path, data):
    return TextFile(path, data, UTF8, Version((0, 0, 0, 0, 0)))


@pytest.mark.parametrize(
    ("call", "kept"),
    [
        (Suggestion("edit", {"path": "a.py", "old": "(1)", "new": "(2)"}), True),
        (Suggestion("edit", {"path": "a.py", "old": "(1)", "new": "(1"}), False),
        (Suggestion("edit", {"old": "(1)", "new": "(1"}), False),
        (Suggestion("edit", {"path": "b.py", "old": "(1)", "new": "(1"}), True),  # no draft of it
        (Suggestion("edit", {"path": "a.py", "old": "f", "new": "f("}), False),  # only the first is replaced
        (Suggestion("edit", {"path": "a.py", "old": "1)\n", "new": "1)"}), True),
        (Suggestion("read", {"path": "a.py"}), True),
    ],
)
def test_edits_that_would_break_a_file_are_not_suggested(call, kept):
    first = Suggestion("ls", {})
    drafts = {name: draft(name, data) for name, data in (("c.py", b"x\n"), ("a.py", b"f(1)\r\n"))}
    error = ToolError(ErrorCode.NOT_FOUND, "no", suggest=(first, call))
    offer_calls(error, drafts, ".")
    assert error.suggest == ((first, call) if kept else (first,))


def test_without_a_grammar_a_file_is_not_judged(monkeypatch):
    def refuse(name):
        raise ToolError(ErrorCode.UNSUPPORTED, name)

    assert find_break("a.go", b"package a\n", b"package\n(") != ""
    monkeypatch.setattr(grammars, "grammar", refuse)
    assert find_break("a.go", b"package a\n", b"package\n(not judged") == ""


def test_of_the_text_at_an_error_a_part_is_shown():
    said = find_break("a.go", b"package a\n", b"package a\n\nfunc f() {}\n\n" + b"}" * 60)
    assert said == f"a.go does not parse any more, line 5: syntax error at {'}' * 40!r}."
