"""C."""

from toolroll.text.code.syntax.declarators import blank_macros
from toolroll.text.code.syntax.language import Language

QUERY = """
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

CALL_CONTEXT = "void f() {{ int x = {}; }}"

LANGUAGE = Language(
    name="c",
    title="C",
    suffixes=(".c", ".h"),
    prepare=blank_macros,
    call_context=CALL_CONTEXT,
    query=QUERY,
)
