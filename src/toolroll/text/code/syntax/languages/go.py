"""Go."""

from toolroll.text.code.syntax.language import Language

LANGUAGE = Language(
    name="go",
    title="Go",
    suffixes=(".go",),
    call_context="package p\nfunc f() {{ x = {} }}",
    query="""
(function_declaration name: (identifier) @name) @function
(method_declaration name: (field_identifier) @name) @method
(method_declaration receiver: (parameter_list (parameter_declaration type: [
  (type_identifier) @owner
  (generic_type type: (type_identifier) @owner)
  (pointer_type [(type_identifier) @owner (generic_type type: (type_identifier) @owner)])
  (parenthesized_type (pointer_type (type_identifier) @owner))
])))
(type_spec name: (type_identifier) @name type: (struct_type)) @struct
(type_spec name: (type_identifier) @name type: (interface_type)) @interface
(type_spec name: (type_identifier) @name) @type
(type_alias name: (type_identifier) @name) @type
(method_elem name: (field_identifier) @name) @method
(field_declaration name: (field_identifier) @name) @variable
(source_file (const_declaration (const_spec (identifier) @name) @constant))
(source_file (var_declaration (var_spec name: (identifier) @name) @variable))
(source_file (var_declaration (var_spec_list (var_spec name: (identifier) @name) @variable)))
(import_spec path: [
  (interpreted_string_literal (interpreted_string_literal_content) @name)
  (raw_string_literal (raw_string_literal_content) @name)
]) @import

(import_spec name: (package_identifier) @ref.import)
(call_expression function: [
  (identifier) @ref.call
  (selector_expression field: (field_identifier) @ref.call)
  (parenthesized_expression (identifier) @ref.call)
])
(field_declaration !name type: [
  (type_identifier) @ref.inherit
  (qualified_type name: (type_identifier) @ref.inherit)
  (pointer_type (type_identifier) @ref.inherit)
])
(type_identifier) @ref.type

(comment) @comment
[(interpreted_string_literal_content) (raw_string_literal_content)] @text
""",
)
