"""Queries for JavaScript, TypeScript, HTML and CSS."""

_SCRIPT = """
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

_JSX = """
(jsx_opening_element name: [(identifier) @ref.call (member_expression property: (property_identifier) @ref.call)])
(jsx_self_closing_element name: [(identifier) @ref.call (member_expression property: (property_identifier) @ref.call)])
(jsx_text) @text
"""

JAVASCRIPT = f"""{_SCRIPT}{_JSX}
(class_declaration name: (identifier) @name) @class
(variable_declarator name: (identifier) @name value: (class)) @class
(field_definition property: [(property_identifier) (private_property_identifier)] @name
  value: [(arrow_function) (function_expression)]) @method
(field_definition property: [(property_identifier) (private_property_identifier)] @name) @variable
(class_heritage [(identifier) @ref.inherit (member_expression property: (property_identifier) @ref.inherit)])
(hash_bang_line) @comment
"""

TYPESCRIPT = f"""{_SCRIPT}
(class_declaration name: (type_identifier) @name) @class
(abstract_class_declaration name: (type_identifier) @name) @class
(variable_declarator name: (identifier) @name value: (class)) @class
(interface_declaration name: (type_identifier) @name) @interface
(type_alias_declaration name: (type_identifier) @name) @type
(enum_declaration name: (identifier) @name) @enum
(enum_body name: (property_identifier) @name @constant)
(enum_assignment name: [(property_identifier) @name (string (string_fragment) @name)]) @constant
(ambient_declaration [
  (lexical_declaration (variable_declarator name: (identifier) @name) @variable)
  (variable_declaration (variable_declarator name: (identifier) @name) @variable)
])
(required_parameter [(accessibility_modifier) "readonly"] pattern: (identifier) @name) @variable
(optional_parameter [(accessibility_modifier) "readonly"] pattern: (identifier) @name) @variable
(construct_signature "new" @name) @method
(internal_module name: (_) @name) @module
(module name: (_) @name) @module
(function_signature name: (identifier) @name) @function
(method_signature name: (property_identifier) @name) @method
(abstract_method_signature name: (property_identifier) @name) @method
(property_signature name: (property_identifier) @name) @variable
(public_field_definition name: [(property_identifier) (private_property_identifier)] @name
  value: [(arrow_function) (function_expression)]) @method
(public_field_definition name: [(property_identifier) (private_property_identifier)] @name) @variable
(import_statement (import_require_clause source: (string (string_fragment) @name))) @import

(import_require_clause (identifier) @ref.import)
(extends_clause value: [(identifier) @ref.inherit (member_expression property: (property_identifier) @ref.inherit)])
(implements_clause [
  (type_identifier) @ref.inherit
  (generic_type name: (type_identifier) @ref.inherit)
  (nested_type_identifier name: (type_identifier) @ref.inherit)
])
(extends_type_clause type: [
  (type_identifier) @ref.inherit
  (generic_type name: (type_identifier) @ref.inherit)
  (nested_type_identifier name: (type_identifier) @ref.inherit)
])
(type_identifier) @ref.type
(hash_bang_line) @comment
"""

TSX = f"{TYPESCRIPT}{_JSX}"

_MARKED = """[
  (start_tag (attribute (attribute_name) @_id [
    (attribute_value) @name (quoted_attribute_value (attribute_value) @name)]))
  (self_closing_tag (attribute (attribute_name) @_id [
    (attribute_value) @name (quoted_attribute_value (attribute_value) @name)]))
]"""

HTML = f"""
(element {_MARKED} (#any-of? @_id "id" "ID" "Id")) @element
(script_element {_MARKED} (#any-of? @_id "id" "ID" "Id")) @element
(style_element {_MARKED} (#any-of? @_id "id" "ID" "Id")) @element
(comment) @comment
"""

CSS = """
(rule_set (selectors) @name) @rule
(media_statement) @rule
(supports_statement) @rule
(keyframes_statement (keyframes_name) @name) @rule
(at_rule) @rule
(import_statement [(string_value) (call_expression)] @name) @import
(comment) @comment
"""
