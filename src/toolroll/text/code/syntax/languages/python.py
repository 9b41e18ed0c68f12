"""Python."""

from toolroll.text.code.syntax.language import Language

LANGUAGE = Language(
    name="python",
    title="Python",
    suffixes=(".py", ".pyi", ".pyw"),
    files=("SConstruct",),
    programs=("python",),
    constant_names="upper",
    query="""
(function_definition name: (identifier) @name) @function
(class_definition name: (identifier) @name) @class
(type_alias_statement left: (type [(identifier) @name (generic_type . (identifier) @name)])) @type
(assignment left: (identifier) @name) @variable
(assignment left: [
  (pattern_list (identifier) @name @variable)
  (tuple_pattern (identifier) @name @variable)
  (list_pattern (identifier) @name @variable)
])

(import_statement name: [(dotted_name) @name (aliased_import name: (dotted_name) @name)]) @import
(import_from_statement module_name: (_) @name) @import
(future_import_statement "__future__" @name) @import

(decorator) @decorator
(decorator [
  (identifier) @ref.decorator
  (attribute attribute: (identifier) @ref.decorator)
  (call function: [(identifier) @ref.decorator (attribute attribute: (identifier) @ref.decorator)])
])

(import_statement name: (dotted_name (identifier) @ref.import))
(import_statement name: (aliased_import (dotted_name (identifier) @ref.import) alias: (identifier) @ref.import))
(import_from_statement (dotted_name (identifier) @ref.import))
(import_from_statement (relative_import (dotted_name (identifier) @ref.import)))
(import_from_statement (aliased_import (dotted_name (identifier) @ref.import) alias: (identifier) @ref.import))

(call function: [
  (identifier) @ref.call
  (attribute attribute: (identifier) @ref.call)
  (list_splat [(identifier) @ref.call (attribute attribute: (identifier) @ref.call)])
])
(class_definition superclasses: (argument_list [
  (identifier) @ref.inherit
  (attribute attribute: (identifier) @ref.inherit)
  (subscript value: [(identifier) @ref.inherit (attribute attribute: (identifier) @ref.inherit)])
]))
(type [
  (identifier) @ref.type
  (attribute attribute: (identifier) @ref.type)
  (generic_type (identifier) @ref.type)
  (string (string_content) @ref.type)
  (binary_operator [(identifier) (attribute attribute: (identifier))] @ref.type)
  (subscript value: [(identifier) @ref.type (attribute attribute: (identifier) @ref.type)])
])

(comment) @comment
(string_content) @text
""",
)
