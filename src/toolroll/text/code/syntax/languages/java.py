"""Java."""

from toolroll.text.code.syntax.language import Language

LANGUAGE = Language(
    name="java",
    title="Java",
    suffixes=(".java",),
    word="$",
    query="""
(class_declaration name: (identifier) @name) @class
(record_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @interface
(annotation_type_declaration name: (identifier) @name) @interface
(enum_declaration name: (identifier) @name) @enum
(enum_constant name: (identifier) @name) @constant
(method_declaration name: (identifier) @name) @method
(constructor_declaration name: (identifier) @name) @method
(compact_constructor_declaration name: (identifier) @name) @method
(annotation_type_element_declaration name: (identifier) @name) @method
(record_declaration parameters: (formal_parameters (formal_parameter name: (identifier) @name) @variable))
(field_declaration declarator: (variable_declarator name: (identifier) @name)) @variable
(constant_declaration declarator: (variable_declarator name: (identifier) @name)) @constant
(package_declaration [(identifier) (scoped_identifier)] @name) @module
(module_declaration name: (_) @name) @module
(import_declaration [(identifier) (scoped_identifier)] @name) @import

[(marker_annotation) (annotation)] @decorator
(marker_annotation name: [(identifier) @ref.decorator (scoped_identifier name: (identifier) @ref.decorator)])
(annotation name: [(identifier) @ref.decorator (scoped_identifier name: (identifier) @ref.decorator)])

(import_declaration [(identifier) @ref.import (scoped_identifier name: (identifier) @ref.import)])
(method_invocation name: (identifier) @ref.call)
(method_reference "::" (identifier) @ref.call)
(object_creation_expression type: [
  (type_identifier) @ref.call
  (generic_type (type_identifier) @ref.call)
  (scoped_type_identifier (type_identifier) @ref.call)
])
(superclass [(type_identifier) @ref.inherit (generic_type (type_identifier) @ref.inherit)])
(super_interfaces (type_list [(type_identifier) @ref.inherit (generic_type (type_identifier) @ref.inherit)]))
(extends_interfaces (type_list [(type_identifier) @ref.inherit (generic_type (type_identifier) @ref.inherit)]))
(type_identifier) @ref.type

[(line_comment) (block_comment)] @comment
[(string_fragment) (multiline_string_fragment) (character_literal)] @text
""",
)
