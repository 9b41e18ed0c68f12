"""Bash."""

from toolroll.text.code.syntax.language import Language

LANGUAGE = Language(
    name="bash",
    title="Bash",
    suffixes=(".sh", ".bash", ".zsh"),
    programs=("bash", "sh", "dash", "zsh", "ksh"),
    word="-./",
    constant_names="upper",
    query="""
(function_definition name: (word) @name) @function
(program (variable_assignment name: (variable_name) @name) @variable)
(program (declaration_command (variable_assignment name: (variable_name) @name) @variable))
(command name: (command_name (word) @_import) . argument: [(word) (string) (raw_string) (concatenation)] @name
  (#any-of? @_import "source" ".")) @import

(command name: (command_name (word) @ref.call))

(comment) @comment
[(string_content) (raw_string) (ansi_c_string) (heredoc_content) (heredoc_start) (heredoc_end)] @text
""",
)
