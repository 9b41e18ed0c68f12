"""JSON."""

from toolroll.text.code.syntax.language import Language

LANGUAGE = Language(
    name="json",
    title="JSON",
    suffixes=(".json",),
    code=False,
    query="""
(document (object (pair key: (string) @name) @key))
(document (object (pair value: (object (pair key: (string) @name) @key))))
(document (array (object (pair key: (string) @name) @key)))
""",
)
