"""Front matter: what we write, YAML reads; what people write, we read, and leave as it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolroll.text.knowledge.front_matter import FrontMatter, read_front_matter, scalar

# value as it is written by hand, what it says
HAND = [
    ("title: Plain words", "Plain words"),
    ("title:   blanks around   ", "blanks around"),
    ("title: Fix: the colon  # and a comment", "Fix: the colon"),
    ("title: C#4", "C#4"),
    ("title: 'it''s # no comment'  # one", "it's # no comment"),
    ('title: "a \\"b\\" \\u00e9 \\xe9 \\t c" # one', 'a "b" \u00e9 \u00e9 \t c'),
    ('title: "\\ud83d\\ude00 \\ud83d"', "\U0001f600 \ufffd"),
    ('title: "never closed', '"never closed'),
    ("title:", ""),
    ("title: # nothing", ""),
    ("title: goes\n  on here", "goes on here"),
    ("title: |\n  one\n  two\n", "one\ntwo"),
    ("title: >-\n  one\n  two", "one two"),
    ("title: [a, 'b, c', \"d]\" ,e]  # list", ("a", "b, c", "d]", "e")),
    ("title: [a,\n  b,\n]", ("a", "b")),
    ("title: [never, closed", ("never", "closed")),
    ("title: []", ()),
    ("title:\n- a\n- 'b'  # comment\n-\n- goes\n  on\n", ("a", "b", "goes on")),
    ("title:\n  - a\n\n  # comment\n  - b", ("a", "b")),
    ("title: first\ntitle: last", "last"),
    ("title : blank before", "blank before"),
]


@pytest.mark.parametrize(("written", "said"), HAND)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_what_people_write(written, said, newline):
    front = read_front_matter(f"---\nother: x\n{written}\n---\nBody\n".replace("\n", newline))
    assert (front.values(), front.faults) == ({"other": "x", "title": said}, ())
    assert front.body == f"Body{newline}"


FAULTS = [
    ("---\ntitle: a\nno colon here\ntype: b\n---\n", {"title": "a", "type": "b"}, ["Line 3 of the front matter is not of the form 'key: value': 'no colon here'."]),
    ("---\n- a list\n---\n", {}, ["Line 2 of the front matter is not of the form 'key: value': '- a list'."]),
    ("---\ntitle: a\n", {}, ["The front matter has no end: a line of three dashes."]),
    ("---\n# comment\n\ntitle: a\n...\n", {"title": "a"}, []),
    ("no front matter\n---\n", {}, []),
    ("--- \n---\n", {}, []),
    ("----\n", {}, []),
    ("", {}, []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "values", "faults"), FAULTS)
def test_what_cannot_be_understood_is_told_and_kept(text, values, faults):
    front = read_front_matter(text)
    assert (front.values(), list(front.faults)) == (values, faults)
    changed = str(front.having({"updated": "now"}))
    assert read_front_matter(changed).values() == {**values, "updated": "now"}
    assert [line for line in text.split("\n") if line.strip("-. ") and line not in changed.split("\n")] == []


def test_only_the_lines_of_a_key_that_is_set_change():
    text = "---\n# mine\naliases: [x]   # kept\ntitle: old\n  goes on\ntags:\n- a\ntags: b\n---\nBody  \n\n---\n"
    changed = read_front_matter(text).having({"tags": ("c", "d e"), "title": "New: one", "more": "1"})
    assert str(changed) == (
        '---\n# mine\naliases: [x]   # kept\ntitle: "New: one"\ntags: [c, d e]\nmore: "1"\n---\nBody  \n\n---\n'
    )


def test_a_text_without_any_gets_it_before_all_of_it():
    assert str(read_front_matter("# Plain\n").having({"type": "action"})) == "---\ntype: action\n---\n\n# Plain\n"


SIGNS = st.text(
    alphabet=st.sampled_from("aZ0 -_.,:;#'\"\\[]{}|>&*!%@`~?/()+=<\t\n\r\x00\x07\x85\u2028\ufeff\u00e9\u65e5\U0001f600")
)
TEXTS = SIGNS | st.sampled_from(
    ["true", "Null", "no", "1e3", "0x1f", "---", "...", "2026-01-01", "a: b", "a #b", "- a"]
)


@given(title=TEXTS, tags=st.lists(TEXTS.filter(bool), max_size=4))
def test_what_is_written_is_read_back(title, tags):
    values = {"title": title, "tags": tuple(tags)}
    text = str(FrontMatter((), "\nBody\n").having(values))
    front = read_front_matter(text)
    assert (front.values(), front.faults, front.body, str(front)) == (values, (), "\nBody\n", text)


@pytest.fixture(scope="module")
def yaml():
    """Whether an independent parser takes a text for YAML, and what it takes each value for."""
    tree_sitter, grammar = pytest.importorskip("tree_sitter"), pytest.importorskip("tree_sitter_yaml")
    parser = tree_sitter.Parser(tree_sitter.Language(grammar.language()))

    def kinds(text):
        tree = parser.parse(text.encode())
        if tree.root_node.has_error:
            return None
        found, left = [], [tree.root_node]
        while left:
            node = left.pop()
            left += reversed(node.named_children)
            if not node.named_children and node.type.endswith("scalar"):
                found.append(node.type)
        return found

    return kinds


@given(text=TEXTS)
def test_yaml_takes_it_for_a_text(yaml, text):
    assert yaml(f"key: {scalar(text)}\n") in (
        ["string_scalar", "string_scalar"],
        ["string_scalar", "double_quote_scalar"],
        ["string_scalar"],
    )


@pytest.mark.parametrize("text", ["a: b", "[a", "'a", "1e3", "true", "@a"])
def test_and_would_not_without_quotes(yaml, text):
    assert yaml(f"key: {text}\n") != ["string_scalar", "string_scalar"]
