"""What each language's sources define and use. A folder in `cases` is a case: a source, and its tags line by line."""

from pathlib import Path

import pytest

from toolroll.text.code.syntax import languages
from toolroll.text.code.syntax.model import Tag, Use, Uses
from toolroll.text.code.syntax.tags import definitions, names, tags

CASES = sorted((Path(__file__).parent / "cases").iterdir())


def written(found):
    """Definitions (lines, kind, name, place of the name, signature, decorators), then uses."""
    lines = []
    for tag in found.definitions:
        span = f"{tag.line}" if tag.line == tag.end_line else f"{tag.line}-{tag.end_line}"
        place = f"{tag.name_line}:{tag.column}"
        decorators = (f"@{one}" for one in tag.decorators)
        lines.append(" | ".join([f"{span} {tag.kind} {tag.path}", place, tag.signature, *decorators]))
    lines += [f"{use.line}:{use.column} {use.kind} {use.name}" for use in found.uses_of()]
    return "".join(f"{line}\n" for line in lines)


def test_every_language_has_a_case():
    assert [case.name for case in CASES] == list(languages.names())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_source_and_its_tags(case):
    found = tags(case.name, (case / "source.txt").read_bytes())
    assert (written(found), found.broken) == ((case / "tags.txt").read_text(), 0)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_line_ends_and_marks_change_nothing(case):
    plain = (case / "source.txt").read_bytes()
    expected = tags(case.name, plain)
    for source in (b"\xef\xbb\xbf" + plain, plain.replace(b"\n", b"\r\n")):
        found = tags(case.name, source)
        assert (found.definitions, list(found.uses_of())) == (expected.definitions, list(expected.uses_of()))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_less_may_be_asked_for(case):
    source = (case / "source.txt").read_bytes()
    for one in (source, source[: len(source) // 2]):  # half of it does not parse
        whole, some, few = tags(case.name, one), names(case.name, one), definitions(case.name, one)
        for less in (some, few):
            assert (less.definitions, less.broken, less.lines) == (whole.definitions, whole.broken, whole.lines)
        assert some.uses[:3] == whole.uses[:3]
        assert (few.uses, few.whole, whole.whole) == (Uses(), False, True)


NOTHING = (0, 0, (), ())


@pytest.mark.parametrize("language", languages.names())
def test_an_empty_source_defines_nothing(language):
    found = tags(language, b"")
    assert (found.lines, found.broken, found.definitions, tuple(found.uses_of())) == NOTHING


def test_columns_count_characters():
    found = tags("python", "é = 'ü', größe(1)\ndef naïve(): pass\n".encode())
    assert list(found.uses_of()) == [Use("größe", "call", 1, 10)]
    assert found.definitions == (
        Tag("é", "variable", 1, 1, 1, "é = 'ü', größe(1)", name_line=1),
        Tag("naïve", "function", 2, 2, 5, "def naïve()", name_line=2),
    )


def test_bytes_that_are_no_text_are_read_around():
    found = tags("python", b"x = 1 # \xff\xfe\ndef f(): pass\n")
    assert [(tag.name, tag.line) for tag in found.definitions] == [("x", 1), ("f", 2)]


# Language, source, the line that does not parse, and what is found all the same.
BROKEN = [
    ("python", "def whole(): pass\nclass Open(\n", 2, ["whole"]),
    ("python", "def whole(): pass\n)\ndef after(): pass\n", 2, ["whole", "after"]),
    ("javascript", "function whole() {}\nfunction (\n", 2, ["whole"]),
    ("go", "package a\nfunc whole() {}\nfunc }\n", 3, ["whole"]),
    ("json", '{"a": 1,\n"b" 2,\n"c": 3}\n', 2, ["a", "c"]),
    ("rust", "fn whole() {}\nfn open( {\n", 2, ["whole"]),
    ("c", "int whole;\nint *;\n", 2, ["whole"]),  # a declaration of nothing
]


@pytest.mark.parametrize(("language", "source", "line", "names"), BROKEN)
def test_a_broken_source_gives_what_can_be_read(language, source, line, names):
    found = tags(language, source.encode())
    assert found.broken == line
    assert [tag.name for tag in found.definitions][: len(names)] == names


def test_what_is_long_is_cut():
    value = ", ".join(str(number) for number in range(1000))
    source = f"TABLE = [{value}]\ndef f({', '.join(f'a{n}=1' for n in range(200))}): pass\n"
    found = tags("python", source.encode())
    assert [len(tag.signature) for tag in found.definitions] == [100, 200]
    assert found.definitions[0].signature.startswith("TABLE = [0, 1, 2,")
    assert all(tag.signature.endswith("…") for tag in found.definitions)


def test_a_signature_has_no_comments_and_no_line_ends():
    source = "def f(\n    a,  # the first\n    b=(  # why\n        1, 2\n    ),\n) -> int:  # noqa\n    return 1\n"
    assert [tag.signature for tag in tags("python", source.encode()).definitions] == ["def f(a, b=(1, 2)) -> int"]


def test_deep_sources_are_no_trouble():
    """No recursion: as many levels as a file of ordinary size can hold."""
    classes = "\n".join(f"{' ' * depth}class C{depth}:" for depth in range(90)) + f"\n{' ' * 90}pass\n"
    found = tags("python", classes.encode())
    assert len(found.definitions) == 90
    assert found.definitions[-1].parent == ".".join(f"C{depth}" for depth in range(39, 89))  # the nearest 50
    calls = "f(" * 5000 + ")" * 5000
    assert len(list(tags("python", calls.encode()).uses_of())) == 5000
