"""TypeScript."""

from toolroll.text.code.syntax.language import Language
from toolroll.text.code.syntax.languages.javascript import SCRIPT

QUERY = f"""{SCRIPT}
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

LANGUAGE = Language(
    name="typescript",
    title="TypeScript",
    function="language_typescript",
    suffixes=(".ts", ".mts", ".cts"),
    word="$",
    constant_names="upper",
    query=QUERY,
)
