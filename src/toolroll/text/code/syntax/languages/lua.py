"""Lua."""

from toolroll.text.code.syntax.language import Language

_REQUIRE = """(function_call name: (identifier) @_require
  arguments: (arguments . (string content: (string_content) @name)))"""

LANGUAGE = Language(
    name="lua",
    title="Lua",
    suffixes=(".lua", ".rockspec"),
    programs=("lua", "luajit"),
    constant_names="upper",
    query=f"""
(function_declaration name: (identifier) @name) @function
(function_declaration name: (dot_index_expression table: (_) @owner field: (identifier) @name)) @function
(function_declaration name: (method_index_expression table: (_) @owner method: (identifier) @name)) @method
(assignment_statement
  (variable_list . name: [
    (identifier) @name
    (dot_index_expression table: (_) @owner field: (identifier) @name)])
  (expression_list . value: (function_definition))) @function
(field name: (identifier) @name value: (function_definition)) @function
(chunk (variable_declaration (assignment_statement (variable_list name: (identifier) @name)) @variable))
(chunk (variable_declaration (variable_list name: (identifier) @name)) @variable)
(chunk (assignment_statement (variable_list name: [
  (identifier) @name
  (dot_index_expression table: (_) @owner field: (identifier) @name)])) @variable)

(variable_declaration (assignment_statement (expression_list . value: [
  {_REQUIRE}
  (dot_index_expression table: {_REQUIRE})
])) (#eq? @_require "require")) @import
(chunk {_REQUIRE} @import (#eq? @_require "require"))

(function_call name: [
  (identifier) @ref.call
  (dot_index_expression field: (identifier) @ref.call)
  (method_index_expression method: (identifier) @ref.call)
])

[(comment) (hash_bang_line)] @comment
(string_content) @text
""",
)
