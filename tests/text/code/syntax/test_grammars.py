"""Grammars are loaded on first use, and what is said when one is missing."""

import sys

import pytest

from toolroll import ErrorCode, ToolError
from toolroll.text.code.syntax import grammars


def test_a_missing_grammar_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "tree_sitter_toml", None)  # what an import of it then finds
    with pytest.raises(ToolError) as caught:
        grammars.grammar.__wrapped__("toml")
    assert (caught.value.code, caught.value.message) == (
        ErrorCode.UNSUPPORTED,
        "there is no grammar for TOML here.",
    )


def captured(query):
    return {query.capture_name(number) for number in range(query.capture_count)}


def test_patterns_of_some_captures_can_be_left_out():
    assert {"function", "ref.call", "text", "error"} <= captured(grammars.query_without("python"))
    tree = grammars.parser("python").parse(b"def f(): g('a')")
    import tree_sitter

    found = tree_sitter.QueryCursor(grammars.query_without("python", "ref.", "text")).captures(tree.root_node)
    assert set(found) == {"function", "name"}
