"""What the grammar of SQL does not know is blank before the parse, so that the rest is found."""

import pytest

from toolroll.text.code.syntax.languages.sql import blank_foreign
from toolroll.text.code.syntax.tags import tags

TABLE = "CREATE TABLE a (id int);\n"
BLANKED = [
    "SET search_path = b, c;\n",
    "-- why\nGRANT SELECT ON a TO public;\n",
    "\\set ON_ERROR_STOP on\n",
    "COMMENT ON TABLE a IS 'x';\n",
    "CREATE DOMAIN d AS text;\nDROP DOMAIN d;\n",
    "DO $$ BEGIN perform f(); END $$;\n",
    "CREATE FUNCTION f() RETURNS trigger AS $$\nDECLARE x int;\nBEGIN\n  x := 1; RETURN NEW;\nEND;\n$$ LANGUAGE plpgsql;\n",
]


@pytest.mark.parametrize("before", BLANKED)
def test_what_the_grammar_does_not_know_hides_nothing(before):
    source = (before + TABLE).encode()
    found = tags("sql", source)
    assert len(blank_foreign(source)) == len(source)
    assert found.broken == 0
    assert [(tag.name, tag.line) for tag in found.definitions if tag.kind == "struct"] == [
        ("a", before.count("\n") + 1)
    ]


def test_what_the_grammar_knows_stays():
    source = b"UPDATE a\nSET b = f(1);\nCREATE FUNCTION g() RETURNS int AS $$ SELECT f(2) $$ LANGUAGE sql;\n"
    assert blank_foreign(source) == source
    assert [(use.line, use.name) for use in tags("sql", source).uses_of() if use.kind == "call"] == [
        (2, "f"),
        (3, "f"),
    ]
