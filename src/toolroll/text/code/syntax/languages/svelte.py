"""Svelte: components, their scripts read as TypeScript."""

from toolroll.text.code.syntax.language import Language

LANGUAGE = Language(
    name="svelte",
    title="Svelte",
    suffixes=(".svelte",),
    patterns=False,
    embeds="typescript",
    bodies=frozenset({"element", "text", "expression", "if_statement", "each_statement"}),
    word="$",
    constant_names="upper",
    query="""
[(script_element) (style_element)] @part
(script_element (raw_text) @embedded)
(expression (svelte_raw_text) @embedded.expression)
(if_start condition: (svelte_raw_text) @embedded.expression)
(else_if_start condition: (svelte_raw_text) @embedded.expression)
(each_start identifier: (svelte_raw_text) @embedded.expression)
(render_tag (svelte_raw_text) @embedded.expression)
(html_tag (svelte_raw_text) @embedded.expression)
(const_tag (svelte_raw_text) @embedded.expression)

(snippet_statement (snippet_start (snippet_name) @name)) @function

(start_tag (tag_name) @ref.call (#match? @ref.call "^[A-Z][A-Za-z0-9_]*$"))
(self_closing_tag (tag_name) @ref.call (#match? @ref.call "^[A-Z][A-Za-z0-9_]*$"))

(comment) @comment
[(text) (attribute_value) (style_element (raw_text))] @text
""",
)
