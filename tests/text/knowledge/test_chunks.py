"""Pieces of documents: whole sections and definitions, no line lost, spans that are true."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolroll.text.code.syntax.model import Tag
from toolroll.text.knowledge import chunks
from toolroll.text.knowledge.chunks import MAX_CHARS, OVERLAP_CHARS, Chunk, DocumentPart


def tag(name, kind, line, end_line, parent=""):
    return Tag(name, kind, line, end_line, 1, name, parent)


MARKDOWN = [
    ("", []),
    ("\n \n", []),
    ("just text\n", [Chunk("just text", 1, 1)]),
    ("# A\n\none\n\n# B\ntwo", [Chunk("# A\n\none", 1, 3, "A"), Chunk("# B\ntwo", 5, 6, "B")]),
    ("lead\n\n# A #\none\n## B\ntwo\n# C\nthree\n",
     [Chunk("lead", 1, 1), Chunk("# A #\none", 3, 4, "A"), Chunk("## B\ntwo", 5, 6, "A > B"), Chunk("# C\nthree", 7, 8, "C")]),
    ("# A\n\n## B\none\n", [Chunk("# A\n\n## B\none", 1, 4, "A > B")]),  # a heading alone goes with what follows
    ("# A\n```sh\n# no heading\n```\ntext\n~~~\n```\n# nor this\n~~~\n", [Chunk("# A\n```sh\n# no heading\n```\ntext\n~~~\n```\n# nor this\n~~~", 1, 9, "A")]),
    ("Title\n=====\none\n\nSub\n---\ntwo\n", [Chunk("Title\n=====\none", 1, 3, "Title"), Chunk("Sub\n---\ntwo", 5, 7, "Title > Sub")]),
    ("---\ntitle: x\n---\n# A\none\n", [Chunk("---\ntitle: x\n---", 1, 3), Chunk("# A\none", 4, 5, "A")]),
    ("- item\n---\nrest\n", [Chunk("- item\n---\nrest", 1, 3)]),  # a rule below a list makes no heading
    ("# A\r\none\r\n# B\r\ntwo\r\n", [Chunk("# A\none", 1, 2, "A"), Chunk("# B\ntwo", 3, 4, "B")]),
    ("#hash\n####### seven\n", [Chunk("#hash\n####### seven", 1, 2)]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), MARKDOWN)
def test_markdown_by_headings(text, expected):
    assert chunks.split_markdown(text) == expected


def test_a_table_keeps_its_columns_in_sight():
    rows = "".join(f"{number},some words of a row that are long enough to fill a page\n" for number in range(60))
    made = chunks.split_table(f"id,text\n{rows}")
    assert {one.title for one in made} == {"id,text"}
    assert (len(made) > 1, made[0].start, made[-1].end) == (True, 1, 61)


def test_a_long_text_is_cut_at_paragraphs_and_overlaps():
    paragraphs = [f"Paragraph {number}. {'word ' * 60}".rstrip() for number in range(20)]
    made = chunks.split_text("\n\n".join(paragraphs))
    assert all(one.text.startswith("Paragraph") and one.text.endswith("word") for one in made)
    lines = [f"line {number} with some more words" for number in range(200)]
    made = chunks.split_text("\n".join(lines))
    shared = [one.end - other.start + 1 for one, other in pairwise(made)]
    assert set(shared) == {OVERLAP_CHARS // (len(lines[100]) + 1)}


def test_one_endless_line_is_cut_too():
    made = chunks.split_text("word " * 100_000)
    assert {(one.start, one.end) for one in made} == {(1, 1)}
    assert max(len(one.text) for one in made) <= MAX_CHARS
    assert all(one.text.startswith("word") and one.text.endswith("word") for one in made)
    assert len(chunks.split_text("x" * 1_000_000)) > 600
    assert chunks.split_text(" " * 3_000 + "x") == [chunks.Chunk("x", 1, 1)]


BODY = "    value = compute(value)\n" * 25
SOURCE = f'''"""Doc."""
import os

# What f does.
def f():
{BODY}
class A:
    """About A."""

    def one(self):
{BODY * 2}
    @property
    def two(self):
{BODY * 2}
def tiny(): pass

def small(): pass
'''


def test_code_by_definitions():
    lines = SOURCE.split("\n")
    at = {name: lines.index(next(line for line in lines if name in line)) + 1 for name in ("def f", "class A", "def one", "def two", "def tiny", "def small")}  # fmt: skip
    tags = [
        tag("os", "import", 2, 2),
        tag("f", "function", at["def f"], at["class A"] - 2),
        tag("A", "class", at["class A"], at["def tiny"] - 2),
        tag("one", "method", at["def one"], at["def two"] - 3, "A"),
        tag("two", "method", at["def two"], at["def tiny"] - 2, "A"),
        tag("tiny", "function", at["def tiny"], at["def tiny"]),
        tag("small", "function", at["def small"], at["def small"]),
    ]
    made = [(one.title, one.text.split("\n")[0]) for one in chunks.split_code(SOURCE, tags)]
    assert made == [
        ("", '"""Doc."""'),
        ("f", "# What f does."),
        ("A", "class A:"),
        ("A.one", "    def one(self):"),
        ("A.two", "    @property"),
        ("tiny, small", "def tiny(): pass"),
    ]


lines = st.sampled_from(["", "", "# A", "## B", "text", "```", "---", "===", "a b " * 30, "x" * 900, "    code", "\t"])
texts = st.lists(lines, max_size=60).map("\n".join)
spans = st.tuples(st.integers(1, 60), st.integers(0, 30), st.sampled_from(["function", "class", "import"]))
tags = st.lists(spans, max_size=8).map(
    lambda found: [tag(f"n{at}", kind, line, line + more) for at, (line, more, kind) in enumerate(sorted(found))]
)


@given(texts, tags, st.sampled_from([chunks.split_text, chunks.split_table, chunks.split_markdown, None]))
def test_no_line_is_lost_and_every_span_is_true(text, tags, way):
    made = chunks.split_code(text, tags) if way is None else way(text)
    every = text.split("\n")
    seen = set()
    for one in made:
        assert 0 < len(one.text) <= MAX_CHARS
        said = "\n".join(every[one.start - 1 : one.end])
        assert one.text.strip() in said
        seen |= set(range(one.start, one.end + 1))
    assert {at for at, line in enumerate(every, 1) if line.strip()} <= seen


def test_pieces_of_pages_carry_their_page_and_never_mix_two():
    pages = [
        DocumentPart("# not a heading here\nend", 1),
        DocumentPart("start\n", 2, "Tides"),
        DocumentPart("x " * MAX_CHARS, 7),
        DocumentPart("", 8),
    ]
    made = chunks.split_parts(pages, chunks.split_text)
    assert made[:2] == [Chunk("# not a heading here\nend", 1, 2, "", 1), Chunk("start", 1, 1, "Tides", 2)]
    assert {one.page for one in made[2:]} == {7}
    assert len(made) > 3


@pytest.mark.parametrize(
    ("part", "cut", "titles"),
    [
        (
            DocumentPart("## Tides\n\nhigh\n\n### Spring\nhigher", 3, "Tides"),
            chunks.split_markdown,
            ["Tides", "Tides > Spring"],
        ),
        (DocumentPart("## Ports\n\nKiel", 3, "Tides"), chunks.split_markdown, ["Tides > Ports"]),
        (DocumentPart("| name |\n| --- |\n| Aurora |", 1, "Ships"), chunks.split_table, ["Ships > | name |"]),
        (DocumentPart("word", 1, "T" * 300), chunks.split_text, ["T" * 200]),
    ],
)
def test_the_title_of_a_page_is_above_those_in_it(part, cut, titles):
    assert [one.title for one in chunks.split_parts([part], cut)] == titles
