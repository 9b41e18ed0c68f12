"""Swift."""

from toolroll.text.code.syntax.language import Language

LANGUAGE = Language(
    name="swift",
    title="Swift",
    suffixes=(".swift",),
    constants=r"\b(?:static|class) let\b",
    bodies=frozenset({"computed_property"}),
    query="""
(function_declaration name: _ @name) @function
(protocol_function_declaration name: (simple_identifier) @name) @function
(init_declaration "init" @name) @method
(deinit_declaration "deinit" @name) @method
(subscript_declaration "subscript" @name) @method
(class_declaration "class" name: (type_identifier) @name) @class
(class_declaration "actor" name: (type_identifier) @name) @class
(class_declaration "struct" name: (type_identifier) @name) @struct
(class_declaration "enum" name: (type_identifier) @name) @enum
(class_declaration "extension" name: (_) @name) @scope
(protocol_declaration name: (type_identifier) @name) @interface
(enum_entry name: (simple_identifier) @name) @constant
(source_file (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @variable)
(class_body (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @variable)
(enum_class_body (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @variable)
(protocol_property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @variable
(typealias_declaration . name: (type_identifier) @name) @type
(typealias_declaration (modifiers) . name: (type_identifier) @name) @type
(associatedtype_declaration name: (type_identifier) @name) @type
(import_declaration (identifier) @name) @import

(modifiers (attribute) @decorator)
(attribute (user_type (type_identifier) @ref.decorator))

(import_declaration (identifier (simple_identifier) @ref.import .))
(call_expression . (simple_identifier) @ref.call (#not-eq? @ref.call "defer"))
(call_expression . (navigation_expression suffix: (navigation_suffix suffix: (simple_identifier) @ref.call)))
(constructor_expression constructed_type: (user_type (type_identifier) @ref.call))
(macro_invocation (simple_identifier) @ref.call)
(inheritance_specifier inherits_from: (user_type (type_identifier) @ref.inherit))
(type_identifier) @ref.type

[(comment) (multiline_comment)] @comment
[(line_str_text) (multi_line_str_text) (raw_str_part) (raw_str_end_part)] @text
""",
)
