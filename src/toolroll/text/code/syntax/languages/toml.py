"""TOML."""

from toolroll.text.code.syntax.language import Language

LANGUAGE = Language(
    name="toml",
    title="TOML",
    suffixes=(".toml",),
    patterns=False,
    code=False,
    query="""
(document (pair . (_) @name) @key)
(table . "[" . (_) @name) @key
(table_array_element . "[[" . (_) @name) @key
(table (pair . (_) @name) @key)
(table_array_element (pair . (_) @name) @key)
(comment) @comment
""",
)
