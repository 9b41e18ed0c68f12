"""JavaScript."""

from toolroll.text.code.syntax.language import Language

SCRIPT = """
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(method_definition name: [(property_identifier) (private_property_identifier) (computed_property_name)] @name) @method
(method_definition name: (string (string_fragment) @name)) @method
(export_statement "default" @name value: [(arrow_function) (function_expression)]) @function
(export_statement "default" @name value: (class)) @class
(assignment_expression left: (member_expression property: (property_identifier) @name) right: (class)) @class
(variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function)]) @function
(assignment_expression left: (member_expression property: (property_identifier) @name)
  right: [(arrow_function) (function_expression) (generator_function)]) @function
(pair key: (property_identifier) @name value: [(arrow_function) (function_expression)]) @function
(program [
  (lexical_declaration (variable_declarator name: (identifier) @name) @variable)
  (variable_declaration (variable_declarator name: (identifier) @name) @variable)
])
(export_statement declaration: [
  (lexical_declaration (variable_declarator name: (identifier) @name) @variable)
  (variable_declaration (variable_declarator name: (identifier) @name) @variable)
  (lexical_declaration (variable_declarator name: (object_pattern [
    (shorthand_property_identifier_pattern) @name @variable
    (pair_pattern value: (identifier) @name @variable)
  ])))
])

(import_statement source: (string (string_fragment) @name)) @import
(export_statement source: (string (string_fragment) @name)) @import
(program [
  (lexical_declaration (variable_declarator value: (call_expression
    function: (identifier) @_require arguments: (arguments . (string (string_fragment) @name)))))
  (variable_declaration (variable_declarator value: (call_expression
    function: (identifier) @_require arguments: (arguments . (string (string_fragment) @name)))))
  (expression_statement (call_expression
    function: (identifier) @_require arguments: (arguments . (string (string_fragment) @name))))
] @import (#eq? @_require "require"))

(decorator) @decorator
(decorator [
  (identifier) @ref.decorator
  (member_expression property: (property_identifier) @ref.decorator)
  (call_expression function: [
    (identifier) @ref.decorator (member_expression property: (property_identifier) @ref.decorator)])
])

(import_specifier name: (identifier) @ref.import)
(import_specifier alias: (identifier) @ref.import)
(import_clause (identifier) @ref.import)
(namespace_import (identifier) @ref.import)
(export_statement (export_clause (export_specifier name: (identifier) @ref.import)) source: (string))
(call_expression function: [
  (identifier) @ref.call (member_expression property: [(property_identifier) (private_property_identifier)] @ref.call)])
(new_expression constructor: [(identifier) @ref.call (member_expression property: (property_identifier) @ref.call)])

(comment) @comment
[(string_fragment) (regex_pattern) (escape_sequence)] @text
"""
"""What JavaScript and TypeScript have in common."""

JSX = """
(jsx_opening_element name: [(identifier) @ref.call (member_expression property: (property_identifier) @ref.call)])
(jsx_self_closing_element name: [(identifier) @ref.call (member_expression property: (property_identifier) @ref.call)])
(jsx_text) @text
"""

LANGUAGE = Language(
    name="javascript",
    title="JavaScript",
    suffixes=(".js", ".jsx", ".mjs", ".cjs"),
    programs=("node", "deno", "bun"),
    word="$",
    constant_names="upper",
    query=f"""{SCRIPT}{JSX}
(class_declaration name: (identifier) @name) @class
(variable_declarator name: (identifier) @name value: (class)) @class
(field_definition property: [(property_identifier) (private_property_identifier)] @name
  value: [(arrow_function) (function_expression)]) @method
(field_definition property: [(property_identifier) (private_property_identifier)] @name) @variable
(class_heritage [(identifier) @ref.inherit (member_expression property: (property_identifier) @ref.inherit)])
(hash_bang_line) @comment
""",
)
