"""TOML."""

from toolroll.text.code.syntax.language import Language

LANGUAGE = Language(
    name="toml",
    title="TOML",
    module="tree_sitter_toml",
    suffixes=(".toml",),
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
