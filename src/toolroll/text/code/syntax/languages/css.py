"""CSS."""

from toolroll.text.code.syntax.language import Language

LANGUAGE = Language(
    name="css",
    title="CSS",
    suffixes=(".css",),
    code=False,
    query="""
(rule_set (selectors) @name) @rule
(media_statement) @rule
(supports_statement) @rule
(keyframes_statement (keyframes_name) @name) @rule
(at_rule) @rule
(import_statement [(string_value) (call_expression)] @name) @import
(comment) @comment
""",
)
