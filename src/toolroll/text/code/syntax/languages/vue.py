"""Vue: components by their parts, their scripts read as TypeScript."""

from toolroll.text.code.syntax.language import Language

LANGUAGE = Language(
    name="vue",
    title="Vue",
    module="tree_sitter_html",
    suffixes=(".vue",),
    patterns=False,
    embeds="typescript",
    bodies=frozenset({"element", "text"}),
    word="$",
    constant_names="upper",
    query="""
(document [(script_element) (style_element)] @part)
(document (element (start_tag (tag_name) @_tag)) @part (#eq? @_tag "template"))
(document (script_element (raw_text) @embedded))

(start_tag (tag_name) @ref.call (#match? @ref.call "^[A-Z][A-Za-z0-9_]*$"))
(self_closing_tag (tag_name) @ref.call (#match? @ref.call "^[A-Z][A-Za-z0-9_]*$"))

(comment) @comment
[(text) (attribute_value) (style_element (raw_text))] @text
""",
)
