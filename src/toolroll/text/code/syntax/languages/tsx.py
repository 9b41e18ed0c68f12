"""TSX."""

from toolroll.text.code.syntax.language import Language
from toolroll.text.code.syntax.languages.javascript import JSX
from toolroll.text.code.syntax.languages.typescript import QUERY

LANGUAGE = Language(
    name="tsx",
    title="TSX",
    module="tree_sitter_typescript",
    function="language_tsx",
    suffixes=(".tsx",),
    word="$",
    constant_names="upper",
    query=f"{QUERY}{JSX}",
)
