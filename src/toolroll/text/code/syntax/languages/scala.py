"""Scala."""

from toolroll.text.code.syntax.language import Language

_MEMBERS = """[
  (val_definition pattern: (identifier) @name)
  (var_definition pattern: (identifier) @name)
  (val_definition pattern: (tuple_pattern (identifier) @name))
] @variable"""

LANGUAGE = Language(
    name="scala",
    title="Scala",
    suffixes=(".scala", ".sc", ".sbt"),
    constants=r"\b(?:final|inline)\s+val\b",
    query=f"""
(function_definition name: (_) @name) @function
(function_declaration name: (_) @name) @function
(class_definition name: (_) @name) @class
(object_definition name: (_) @name) @class
(trait_definition name: (_) @name) @trait
(enum_definition name: (_) @name) @enum
(simple_enum_case name: (_) @name) @constant
(full_enum_case name: (_) @name) @constant
(type_definition name: (_) @name) @type
(given_definition name: (_) @name) @variable
(extension_definition parameters: (parameters (parameter type: [
  (type_identifier) @name
  (generic_type type: (type_identifier) @name)
]))) @scope
(template_body {_MEMBERS})
(with_template_body {_MEMBERS})
(enum_body {_MEMBERS})
(compilation_unit {_MEMBERS})
[(val_declaration name: (identifier) @name) (var_declaration name: (identifier) @name)] @variable
(class_definition "case" class_parameters: (class_parameters (class_parameter name: (identifier) @name) @variable))
(class_parameter ["val" "var"] name: (identifier) @name) @variable
(package_clause name: (_) @name) @module
(package_object name: (_) @name) @module
(import_declaration) @import

(annotation) @decorator
(annotation name: [
  (type_identifier) @ref.decorator
  (generic_type type: (type_identifier) @ref.decorator)
  (stable_type_identifier (type_identifier) @ref.decorator)
])

(import_declaration (identifier) @ref.import)
(namespace_selectors (identifier) @ref.import)
(arrow_renamed_identifier [name: (identifier) @ref.import alias: (identifier) @ref.import])
(as_renamed_identifier [name: (identifier) @ref.import alias: (identifier) @ref.import])
(call_expression function: [
  (identifier) @ref.call
  (field_expression field: (identifier) @ref.call)
  (generic_function function: [(identifier) @ref.call (field_expression field: (identifier) @ref.call)])
])
(infix_expression operator: (identifier) @ref.call)
(instance_expression [
  (type_identifier) @ref.call
  (generic_type type: (type_identifier) @ref.call)
  (stable_type_identifier (type_identifier) @ref.call)
])
(extends_clause [
  (type_identifier) @ref.inherit
  (generic_type type: (type_identifier) @ref.inherit)
  (stable_type_identifier (type_identifier) @ref.inherit)
])
(type_identifier) @ref.type

[(comment) (block_comment)] @comment
[(string) (character_literal)] @text
""",
)
