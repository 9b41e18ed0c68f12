"""C++."""

from toolroll.text.code.syntax.declarators import blank_macros
from toolroll.text.code.syntax.language import Language
from toolroll.text.code.syntax.languages.c import CALL_CONTEXT, QUERY

LANGUAGE = Language(
    name="cpp",
    title="C++",
    suffixes=(".cc", ".cpp", ".cxx", ".c++", ".hh", ".hpp", ".hxx", ".h++", ".ipp", ".inl"),
    claims=(".h", r"^[ \t]*(?:class|namespace|template|using)\b|\w::\w"),
    scoped_names=True,
    prepare=blank_macros,
    call_context=CALL_CONTEXT,
    query=f"""{QUERY}
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
""",
)
