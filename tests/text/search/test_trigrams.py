from __future__ import annotations

import random
import re
import sqlite3
from contextlib import closing

import pytest

from toolroll.text.search.trigrams import required


@pytest.mark.parametrize(
    ("pattern", "query"),
    [
        ("abc", '"abc"'),
        ("abcde", '("abc" AND "bcd" AND "cde")'),
        ("ab", ""),
        ("a.c", ""),
        ("foo|bar", '("foo" OR "bar")'),
        ("foo|b", ""),
        ("(foo|bar)z", '(("foo" AND "ooz") OR ("bar" AND "arz"))'),
        ("x*abc", '"abc"'),
        ("abc?", ""),
        ("abcd?", '(("abc" AND "bcd") OR "abc")'),
        ("(abc)*", ""),
        ("(abc)+", '"abc"'),
        ("(?:abc){2,3}", '"abc"'),
        ("(?:abc){0,3}", ""),
        ("(?:abc){,3}", ""),
        ("fo{0}bars", '("bar" AND "ars")'),
        ("[xyz]abc", '"abc"'),
        ("[]abc]def", '"def"'),
        ("[^]abc]def", '"def"'),
        ("[[:alpha:]]def", '"def"'),
        ("[a[b]]def", ""),  # a class in a class
        (r"\bfoo\b", '"foo"'),
        (r"\b{start}foo", '"foo"'),
        ("^foo$", '"foo"'),
        (r"foo\.bar", '("foo" AND "oo." AND "o.b" AND ".ba" AND "bar")'),
        (r"foo\wbar", '("foo" AND "bar")'),
        (r"foo\x41bar", '("foo" AND "bar")'),
        (r"foo\p{Lu}bar", '("foo" AND "bar")'),
        (r"foo\nbar", '("foo" AND "bar")'),
        ('a"bc', '("a""b" AND """bc")'),
        ("bär", '("bÃ¤" AND "Ã¤r")'),
        ("(?P<name>foo)", '"foo"'),
        ("(?i)foo", ""),
        ("(?x) f o o", ""),
        ("(?s)foo", '"foo"'),
        ("(?-u:foo)", ""),
        ("(foo", ""),
        ("foo)", ""),
        ("*foo", ""),
        ("foo{", ""),
        (r"foo\b+", ""),
        ("", ""),
    ],
)
def test_what_a_text_must_hold(pattern: str, query: str) -> None:
    assert required(pattern) == query


def test_case_that_is_ignored() -> None:
    assert required("Foo bär", ignore_case=True) == '("Foo" AND "oo " AND "o b")'


def test_a_long_text_asks_for_some_of_its_runs() -> None:
    query = required("".join(chr(97 + number % 26) for number in range(60)))
    assert query.count("AND") == 19
    assert query.endswith('"fgh")')


def test_nesting_without_end_asks_for_nothing() -> None:
    assert required("(" * 20_000 + "abc" + ")" * 20_000) == ""


PIECES = ["ab", "cd", "abc", "a", "b", ".", "[abc]", "[^a]", "(a|bc)", "(ab|cd|)", "(?:abc)", "c", "d", r"\w", " "]


def test_every_text_that_matches_is_asked_for() -> None:
    """Random patterns and texts: Python's own engine says what matches, SQLite what the index would give."""
    chance = random.Random(3)
    texts = ["".join(chance.choices("abcd AB\n", k=chance.randint(3, 60))) for _ in range(150)]
    matches = narrowed = 0
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute("create virtual table runs using fts5(text, tokenize='trigram', content='', detail=none)")
        base.executemany("insert into runs (rowid, text) values (?, ?)", enumerate(texts))
        for _ in range(600):
            parts = chance.choices(PIECES, k=chance.randint(2, 6))
            pattern = "".join(part + chance.choice(["", "", "", "?", "+", "*", "{2}", "{0,1}"]) for part in parts)
            if len(query := required(pattern)) == 0:
                continue
            found = {number for (number,) in base.execute("select rowid from runs where runs match ?", (query,))}
            wanted = {at for at, text in enumerate(texts) if re.search(pattern, text)}
            assert wanted <= found, pattern
            matches += len(wanted)
            narrowed += len(texts) - len(found)
    assert matches > 200
    assert narrowed > 2000
