"""Ruby."""

from toolroll.text.code.syntax.language import Language

LANGUAGE = Language(
    name="ruby",
    title="Ruby",
    suffixes=(".rb", ".rake", ".gemspec"),
    files=("Rakefile", "Gemfile"),
    programs=("ruby",),
    holders=frozenset({"module"}),
    constant_names="capitalised",
    scoped_names=True,
    one_line_signatures=True,
    query="""
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
""",
)
