"""PHP."""

from toolroll.text.code.syntax.language import Language

LANGUAGE = Language(
    name="php",
    title="PHP",
    function="language_php",
    suffixes=(".php", ".phtml"),
    programs=("php",),
    constant_names="upper",
    query="""
(function_definition name: (name) @name) @function
(method_declaration name: (name) @name) @method
(class_declaration name: (name) @name) @class
(interface_declaration name: (name) @name) @interface
(trait_declaration name: (name) @name) @trait
(enum_declaration name: (name) @name) @enum
(namespace_definition name: (namespace_name) @name) @module
(const_declaration (const_element (name) @name) @constant)
(property_element name: (variable_name (name) @name)) @variable
(property_promotion_parameter name: (variable_name (name) @name)) @variable
(function_call_expression function: (name) @_defines
  arguments: (arguments . (argument (string (string_content) @name))) (#eq? @_defines "define")) @constant
(program (expression_statement (assignment_expression left: (variable_name (name) @name)) @variable))
(enum_case name: (name) @name) @constant
(namespace_use_declaration [
  (namespace_use_clause [(name) (qualified_name)] @name)
  (namespace_name) @name
]) @import
(expression_statement [
  (require_expression (string (string_content) @name))
  (require_once_expression (string (string_content) @name))
  (include_expression (string (string_content) @name))
  (include_once_expression (string (string_content) @name))
]) @import

(attribute_group (attribute) @decorator)
(attribute [(name) @ref.decorator (qualified_name (name) @ref.decorator)])

(namespace_use_clause [(name) @ref.import (qualified_name (name) @ref.import)])
(namespace_use_clause alias: (name) @ref.import)
(function_call_expression function: [(name) @ref.call (qualified_name (name) @ref.call)])
(member_call_expression name: (name) @ref.call)
(nullsafe_member_call_expression name: (name) @ref.call)
(scoped_call_expression name: (name) @ref.call)
(object_creation_expression [(name) @ref.call (qualified_name (name) @ref.call)])
(base_clause [(name) @ref.inherit (qualified_name (name) @ref.inherit)])
(class_interface_clause [(name) @ref.inherit (qualified_name (name) @ref.inherit)])
(use_declaration [(name) @ref.inherit (qualified_name (name) @ref.inherit)])
(named_type [(name) @ref.type (qualified_name (name) @ref.type)])

(comment) @comment
[(string_content) (nowdoc_string) (text)] @text
""",
)
