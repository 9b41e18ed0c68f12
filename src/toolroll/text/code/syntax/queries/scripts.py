"""Queries for Python, Ruby, PHP and Bash."""

PYTHON = """
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
"""

RUBY = """
(method name: (_) @name) @function
(singleton_method name: (_) @name) @function
(class name: (_) @name) @class
(module name: (_) @name) @module
(singleton_class value: (_) @name) @scope
(program (assignment left: [(constant) (global_variable) (identifier)] @name) @variable)
(assignment left: (constant) @name) @variable
(assignment left: (left_assignment_list (constant) @name @variable))
(operator_assignment left: (constant) @name) @variable
(alias name: (_) @name) @function
(call !receiver method: (identifier) @_accessor arguments: (argument_list (simple_symbol) @name)
  (#any-of? @_accessor "attr_accessor" "attr_reader" "attr_writer" "attr")) @function
(call !receiver method: (identifier) @_defines arguments: (argument_list . (simple_symbol) @name)
  (#any-of? @_defines "define_method" "define_singleton_method" "alias_method")) @function
(call method: (identifier) @_import arguments: (argument_list . (string (string_content) @name))
  (#any-of? @_import "require" "require_relative" "load" "autoload")) @import

(call method: [(identifier) (constant)] @ref.call)
(superclass [(constant) @ref.inherit (scope_resolution name: (constant) @ref.inherit)])
(call method: (identifier) @_mixin arguments: (argument_list [
    (constant) @ref.inherit (scope_resolution name: (constant) @ref.inherit)])
  (#any-of? @_mixin "include" "extend" "prepend"))

(comment) @comment
[(string_content) (heredoc_content)] @text
"""

PHP = """
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
"""

BASH = """
(function_definition name: (word) @name) @function
(program (variable_assignment name: (variable_name) @name) @variable)
(program (declaration_command (variable_assignment name: (variable_name) @name) @variable))
(command name: (command_name (word) @_import) . argument: [(word) (string) (raw_string) (concatenation)] @name
  (#any-of? @_import "source" ".")) @import

(command name: (command_name (word) @ref.call))

(comment) @comment
[(string_content) (raw_string) (ansi_c_string) (heredoc_content) (heredoc_start) (heredoc_end)] @text
"""
