"""Queries for Go, Rust, Java, C, C++ and C#."""

GO = """
(function_declaration name: (identifier) @name) @function
(method_declaration name: (field_identifier) @name) @method
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
"""

RUST = """
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
"""

JAVA = """
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
"""

C = """
[(function_definition) (field_declaration) (type_definition)] @declared
(translation_unit (declaration) @declared)
(preproc_ifdef (declaration) @declared)
(preproc_if (declaration) @declared)
(preproc_elif (declaration) @declared)
(preproc_else (declaration) @declared)
(declaration_list (declaration) @declared)
(preproc_function_def name: (identifier) @name) @function
(preproc_def name: (identifier) @name) @constant
(struct_specifier name: (type_identifier) @name body: (_)) @struct
(union_specifier name: (type_identifier) @name body: (_)) @struct
(enum_specifier name: (type_identifier) @name body: (_)) @enum
(enumerator name: (identifier) @name) @constant
(preproc_include path: (_) @name) @import

(call_expression function: [(identifier) @ref.call (field_expression field: (field_identifier) @ref.call)])
(type_identifier) @ref.type

(comment) @comment
[(string_content) (system_lib_string) (char_literal)] @text
"""

CPP = f"""{C}
(field_declaration_list (declaration) @declared)
(template_declaration (declaration) @declared)
(struct_specifier name: [(template_type name: (type_identifier) @name) (qualified_identifier) @name] body: (_)) @struct
(class_specifier name: [(type_identifier) (qualified_identifier)] @name body: (_)) @class
(class_specifier name: (template_type name: (type_identifier) @name) body: (_)) @class
(namespace_definition name: (_) @name) @module
(alias_declaration name: (type_identifier) @name) @type
(concept_definition name: (identifier) @name) @type
(using_declaration [(identifier) (qualified_identifier)] @name) @import

(using_declaration [(identifier) @ref.import (qualified_identifier name: (identifier) @ref.import)])
(call_expression function: [
  (qualified_identifier name: (identifier) @ref.call)
  (qualified_identifier name: (qualified_identifier name: (identifier) @ref.call))
  (template_function name: (identifier) @ref.call)
  (qualified_identifier name: (template_function name: (identifier) @ref.call))
  (field_expression field: (template_method name: (field_identifier) @ref.call))
])
(new_expression type: (type_identifier) @ref.call)
(base_class_clause [
  (type_identifier) @ref.inherit
  (template_type name: (type_identifier) @ref.inherit)
  (qualified_identifier name: (type_identifier) @ref.inherit)
])
(raw_string_content) @text
"""

CSHARP = """
(class_declaration name: (identifier) @name) @class
(record_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @interface
(struct_declaration name: (identifier) @name) @struct
(enum_declaration name: (identifier) @name) @enum
(enum_member_declaration name: (identifier) @name) @constant
(delegate_declaration name: (identifier) @name) @type
(method_declaration name: (identifier) @name) @method
(constructor_declaration name: (identifier) @name) @method
(destructor_declaration name: (identifier) @name) @method
(operator_declaration operator: _ @name) @method
(conversion_operator_declaration type: (_) @name) @method
(indexer_declaration "this" @name) @variable
(event_declaration name: (identifier) @name) @variable
(record_declaration (parameter_list (parameter name: (identifier) @name) @variable))
(local_function_statement name: (identifier) @name) @function
(property_declaration name: (identifier) @name) @variable
(field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @variable
(event_field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @variable
(namespace_declaration name: (_) @name) @module
(file_scoped_namespace_declaration name: (_) @name) @module
(using_directive !name [(identifier) (qualified_name)] @name) @import
(using_directive name: (identifier) (_) @name) @import

(attribute_list (attribute) @decorator)
(attribute name: [(identifier) @ref.decorator (qualified_name name: (identifier) @ref.decorator)])

(using_directive [(identifier) @ref.import (qualified_name name: (identifier) @ref.import)])
(invocation_expression function: [
  (identifier) @ref.call
  (generic_name (identifier) @ref.call)
  (member_access_expression name: [(identifier) @ref.call (generic_name (identifier) @ref.call)])
  (conditional_access_expression (member_binding_expression name: (identifier) @ref.call))
])
(object_creation_expression type: [
  (identifier) @ref.call (generic_name (identifier) @ref.call) (qualified_name name: (identifier) @ref.call)])
(base_list [
  (identifier) @ref.inherit (generic_name (identifier) @ref.inherit) (qualified_name name: (identifier) @ref.inherit)])
(parameter type: (identifier) @ref.type)
(method_declaration returns: (identifier) @ref.type)
(property_declaration type: (identifier) @ref.type)
(variable_declaration type: [(identifier) @ref.type (generic_name (identifier) @ref.type)])
(type_argument_list (identifier) @ref.type)
(cast_expression type: (identifier) @ref.type)

(comment) @comment
[(string_literal_content) (string_content) (raw_string_content) (character_literal)] @text
"""
