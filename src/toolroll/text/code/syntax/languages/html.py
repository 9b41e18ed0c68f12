"""HTML."""

from toolroll.text.code.syntax.language import Language

_MARKED = """[
  (start_tag (attribute (attribute_name) @_id [
    (attribute_value) @name (quoted_attribute_value (attribute_value) @name)]))
  (self_closing_tag (attribute (attribute_name) @_id [
    (attribute_value) @name (quoted_attribute_value (attribute_value) @name)]))
]"""

LANGUAGE = Language(
    name="html",
    title="HTML",
    suffixes=(".html", ".htm"),
    code=False,
    query=f"""
(element {_MARKED} (#any-of? @_id "id" "ID" "Id")) @element
(script_element {_MARKED} (#any-of? @_id "id" "ID" "Id")) @element
(style_element {_MARKED} (#any-of? @_id "id" "ID" "Id")) @element
(comment) @comment
""",
)
