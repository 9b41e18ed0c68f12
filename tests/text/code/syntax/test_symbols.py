"""Symbols of a source by kind and name."""

import pytest

from toolroll import ToolError
from toolroll.text.code.syntax.source import SourceText
from toolroll.text.code.syntax.symbols import SymbolQuery, format_row, literal, parse_kind
from toolroll.text.code.syntax.tags import tags

SOURCE = b"""\
import os.path as p, sys
from json import dumps

LIMIT = 3

class Base: pass

class Child(Base):
    @property
    def size(self):
        return len(os.path.join(dumps(1)))

def helper(): return Base()
"""
FOUND = tags("python", SOURCE)
ROWS = [
    ("functions", None, ["10: def size(self)  (in Child)", "13: def helper()"]),
    ("methods", None, ["10: def size(self)  (in Child)"]),
    ("classes", None, ["6: class Base", "8: class Child(Base)"]),
    ("types", "B*", ["6: class Base"]),
    ("variables", None, ["4: LIMIT = 3"]),
    ("any", "LIMIT", ["4: LIMIT = 3"]),
    ("any", "Child.size", ["10: def size(self)  (in Child)"]),
    ("any", "*.size", ["10: def size(self)  (in Child)"]),
    ("functions", "Other.size", []),
    ("functions", "siz", []),
    ("functions", "[sh]*e*", ["10: def size(self)  (in Child)", "13: def helper()"]),
    ("imports", None, ["1: import os.path as p, sys", "2: from json import dumps"]),
    ("imports", "sys", ["1: import os.path as p, sys"]),
    ("imports", "os.*", ["1: import os.path as p, sys"]),
    ("imports", "dumps", ["2: from json import dumps"]),
    ("decorators", None, ["9: @property  (on Child.size)"]),
    ("calls", "dumps", ["11: dumps: return len(os.path.join(dumps(1)))  (in Child.size)"]),
    ("calls", "os.path.join", ["11: os.path.join: return len(os.path.join(dumps(1)))  (in Child.size)"]),
    ("calls", "path.*", ["11: os.path.join: return len(os.path.join(dumps(1)))  (in Child.size)"]),
    ("calls", "Base", ["13: Base: def helper(): return Base()  (in helper)"]),
    ("calls", "zip.join", []),
]


KIND_WORDS = [
    *(("class", "class"), ("Classes", "class"), ("functions", "function"), ("func", "function"), ("METHOD", "method")),
    *(("properties", "variable"), ("Field", "variable"), ("struct", "struct"), ("Interfaces", "interface")),
    *(
        ("enum_member", "variable"),
        ("namespaces", "module"),
        ("calls", "call"),
        ("all", "any"),
        ("constants", "constant"),
    ),
]


@pytest.mark.parametrize(("typed", "kind"), KIND_WORDS)
def test_kinds_by_the_words_for_them(typed, kind):
    assert parse_kind(typed) == kind


def test_an_unknown_kind_names_the_known_ones():
    with pytest.raises(ToolError, match=r"There is no kind 'zebra' of symbols\. There are: any, call, function, "):
        parse_kind("zebra")


@pytest.mark.parametrize(("kind", "name", "expected"), ROWS)
def test_rows(kind, name, expected):
    rows = SymbolQuery(kind, name).rows("a.py", FOUND, lambda: SourceText(SOURCE), 100)
    assert [format_row(row).removeprefix("a.py:") for row in rows] == expected


def test_only_what_is_shown_costs_a_look_at_the_source():
    looks = []

    def source():
        looks.append(1)
        return SourceText(SOURCE)

    rows = SymbolQuery("calls").rows("a.py", FOUND, source, 0)
    assert ([row.name for row in rows], looks) == (["len", "join", "dumps", "Base"], [])
    rows = SymbolQuery("calls").rows("a.py", FOUND, source, 1)
    assert ([bool(row.text) for row in rows], looks) == ([True, False, False, False], [1])


LITERALS = [(None, ""), ("*", ""), ("test_*", "test_"), ("a.bcd", "bcd"), ("*[abcdef]x*yz", "yz"), ("größe?", "gr")]


@pytest.mark.parametrize(("name", "word"), LITERALS)
def test_the_word_that_a_file_must_hold(name, word):
    assert literal(name) == word
