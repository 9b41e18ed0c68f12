"""SQL."""

import re

from toolroll.text.code.syntax.language import Language

_PROCEDURE = re.compile(rb"(\$\w*\$)(\s*(?:--[^\n]*\n\s*)*(?:declare|begin|<<)\b.*?)\1", re.IGNORECASE | re.DOTALL)
_SKIPPED = re.compile(
    rb"(?:\A|(?<=;))(?:\s|--[^\n]*\n)*((?:set|reset|grant|revoke|do|comment\s+on|alter\s+default|drop\s+(?!table|view)\w+|"
    rb"create\s+(?:domain|cast|aggregate|operator|policy|rule))\b[^;]*;)",
    re.IGNORECASE,
)
_COMMAND = re.compile(rb"^\\[^\n]*", re.MULTILINE)  # of psql


_OBJECT = "(object_reference schema: (identifier)? @owner name: (identifier) @name)"
_USED = "(object_reference name: (identifier) @ref.type)"


def blank_foreign(source: bytes) -> bytes:
    """A source without what the grammar does not know and would not recover from: blanks stand for it.

    That is code in procedural languages, commands of psql, and statements that define and use no table.
    """
    source = _PROCEDURE.sub(lambda found: found[1] + b"SELECT 1".ljust(len(found[2])) + found[1], source)
    return _COMMAND.sub(lambda found: b" " * len(found[0]), _SKIPPED.sub(_blank, source))


def _blank(found: re.Match[bytes]) -> bytes:
    at = found.start(1) - found.start()
    return found[0][:at] + re.sub(rb"[^\r\n]", b" ", found[1])


LANGUAGE = Language(
    name="sql",
    title="SQL",
    suffixes=(".sql", ".ddl"),
    patterns=False,
    prepare=blank_foreign,
    bodies=frozenset({"column_definitions", "create_query", "function_body", "enum_elements"}),
    query=f"""
(create_table {_OBJECT}) @struct
(create_view {_OBJECT}) @struct
(create_materialized_view {_OBJECT}) @struct
(create_type {_OBJECT}) @type
(create_type {_OBJECT} (enum_elements)) @enum
(create_type {_OBJECT} (column_definitions)) @struct
(create_function {_OBJECT}) @function
(create_trigger (keyword_trigger) . {_OBJECT}) @function
(create_sequence {_OBJECT}) @variable
(create_index column: (identifier) @name) @variable
(create_schema (identifier) @name) @module
(column_definitions (column_definition name: (identifier) @name) @variable)

(invocation (object_reference name: (identifier) @ref.call))
(create_trigger [(keyword_function) (keyword_procedure)] . (object_reference name: (identifier) @ref.call))
(relation {_USED})
(from {_USED})
(insert {_USED})
(alter_table {_USED})
(drop_table {_USED})
(drop_view {_USED})
(create_index {_USED})
(create_trigger (keyword_on) . {_USED})
(column_definition {_USED})
(constraint {_USED})

[(comment) (marginalia)] @comment
(literal) @text
""",
)
