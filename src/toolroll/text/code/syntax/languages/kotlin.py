"""Kotlin."""

from toolroll.text.code.syntax.language import Language

LANGUAGE = Language(
    name="kotlin",
    title="Kotlin",
    suffixes=(".kt", ".kts"),
    bodies=frozenset({"class_body", "enum_class_body", "function_body", "block"}),
    query="""
(function_declaration name: (identifier) @name) @function
(function_declaration (user_type (identifier) @owner .) . name: (identifier))
(function_declaration (user_type (identifier) @owner . (type_arguments)) . name: (identifier))
(function_declaration (nullable_type (user_type . (identifier) @owner)) . name: (identifier))
(secondary_constructor "constructor" @name) @method
(class_declaration "class" name: (identifier) @name) @class
(class_declaration "interface" name: (identifier) @name) @interface
(class_declaration (modifiers (class_modifier "enum")) name: (identifier) @name) @enum
(object_declaration name: (identifier) @name) @class
(companion_object name: (identifier) @name) @class
(enum_entry (identifier) @name) @constant
(class_parameter ["val" "var"] (identifier) @name) @variable
(source_file (property_declaration (variable_declaration (identifier) @name)) @variable)
(class_body (property_declaration (variable_declaration (identifier) @name)) @variable)
(enum_class_body (property_declaration (variable_declaration (identifier) @name)) @variable)
(property_declaration (user_type (identifier) @owner .) . (variable_declaration))
(property_declaration (user_type (identifier) @owner . (type_arguments)) . (variable_declaration))
(type_alias type: (identifier) @name) @type
(package_header (qualified_identifier) @name) @module
(import (qualified_identifier) @name) @import

(annotation) @decorator
(annotation [
  (user_type (identifier) @ref.decorator)
  (constructor_invocation (user_type (identifier) @ref.decorator))
])
(file_annotation (constructor_invocation (user_type (identifier) @ref.decorator)))

(import (qualified_identifier (identifier) @ref.import .))
(import (identifier) @ref.import)
(call_expression . [
  (identifier) @ref.call
  (navigation_expression (identifier) @ref.call .)
])
(callable_reference (identifier) @ref.call .)
(delegation_specifier [
  (user_type (identifier) @ref.inherit)
  (constructor_invocation (user_type (identifier) @ref.inherit))
  (explicit_delegation (user_type (identifier) @ref.inherit))
])
(user_type (identifier) @ref.type)

[(line_comment) (block_comment)] @comment
[(string_content) (character_literal)] @text
""",
)
