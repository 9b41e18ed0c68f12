"""C#."""

from toolroll.text.code.syntax.language import Language

LANGUAGE = Language(
    name="csharp",
    title="C#",
    module="tree_sitter_c_sharp",
    suffixes=(".cs",),
    query="""
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
""",
)
