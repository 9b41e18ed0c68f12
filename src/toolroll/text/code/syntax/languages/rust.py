"""Rust."""

from toolroll.text.code.syntax.language import Language

LANGUAGE = Language(
    name="rust",
    title="Rust",
    suffixes=(".rs",),
    call_suffix="!",
    query="""
(function_item name: (identifier) @name) @function
(function_signature_item name: (identifier) @name) @function
(macro_definition name: (identifier) @name) @function
(struct_item name: (type_identifier) @name) @struct
(union_item name: (type_identifier) @name) @struct
(enum_item name: (type_identifier) @name) @enum
(enum_variant name: (identifier) @name) @constant
(field_declaration name: (field_identifier) @name) @variable
(trait_item name: (type_identifier) @name) @trait
(type_item name: (type_identifier) @name) @type
(associated_type name: (type_identifier) @name) @type
(mod_item name: (identifier) @name) @module
(const_item name: (identifier) @name) @constant
(static_item name: (identifier) @name) @constant
(impl_item type: [
  (type_identifier) @name
  (generic_type type: [(type_identifier) @name (scoped_type_identifier name: (type_identifier) @name)])
  (scoped_type_identifier name: (type_identifier) @name)
]) @scope
(impl_item type: [
  (reference_type) (array_type) (tuple_type) (pointer_type) (dynamic_type) (primitive_type) (unit_type) (function_type)
] @name) @scope
(use_declaration argument: [(use_as_clause path: (_) @name) (scoped_use_list path: (_) @name) (_) @name]) @import
(extern_crate_declaration name: (identifier) @name) @import

(attribute_item) @decorator
(attribute [(identifier) @ref.decorator (scoped_identifier name: (identifier) @ref.decorator)])

(use_declaration argument: (identifier) @ref.import)
(use_declaration argument: (scoped_identifier name: (identifier) @ref.import))
(use_list [(identifier) @ref.import (scoped_identifier name: (identifier) @ref.import)])
(use_as_clause path: [(identifier) @ref.import (scoped_identifier name: (identifier) @ref.import)])
(use_as_clause alias: (identifier) @ref.import)
(scoped_use_list path: [(identifier) @ref.import (scoped_identifier name: (identifier) @ref.import)])
(call_expression function: [
  (identifier) @ref.call
  (field_expression field: (field_identifier) @ref.call)
  (scoped_identifier name: (identifier) @ref.call)
  (generic_function function: [
    (identifier) @ref.call
    (scoped_identifier name: (identifier) @ref.call)
    (field_expression field: (field_identifier) @ref.call)
  ])
])
(macro_invocation macro: [(identifier) @ref.call (scoped_identifier name: (identifier) @ref.call)])
(struct_expression name: [
  (type_identifier) @ref.call (scoped_type_identifier name: (type_identifier) @ref.call)])
(trait_bounds (type_identifier) @ref.inherit)
(impl_item trait: [
  (type_identifier) @ref.inherit
  (generic_type type: (type_identifier) @ref.inherit)
  (scoped_type_identifier name: (type_identifier) @ref.inherit)
])
(type_identifier) @ref.type

[(line_comment) (block_comment)] @comment
[(string_content) (char_literal)] @text
""",
)
