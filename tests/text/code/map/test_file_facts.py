import msgspec

from toolroll.text.code.map import file_facts
from toolroll.text.code.map.file_facts import Mark
from toolroll.text.code.syntax.tags import tags

SOURCE = '''\
import os
from core import Engine


class Car(Engine):
    """Drives."""

    wheels = 4

    def start_engine(self, key: str) -> None:
        os.stat(key)
        local = Engine()


LIMIT = 5
'''


def of(source, language="python"):
    return file_facts.make_facts(source, tags(language, source.encode()))


def test_a_sheet_holds_terms_names_uses_and_definitions():
    made = of(SOURCE)
    assert made.terms["engine"] == 4
    assert made.names == {"car": 1, "start": 1, "engine": 1, "startengine": 1, "limit": 1}
    assert made.defined == ("Car", "LIMIT")
    assert made.used is not None
    assert made.used["Engine"] == 8 + 8 + 1
    assert list(file_facts.marks_of(made.marks)) == [
        Mark("Car", "class", 5, "", "class Car(Engine)"),
        Mark("start_engine", "method", 10, "Car", "def start_engine(self, key: str) -> None"),
        Mark("LIMIT", "constant", 15, "", "LIMIT = 5"),
    ]


def test_a_text_without_a_grammar_has_terms_only():
    made = file_facts.make_facts("Plain words, größer", None)
    assert (made.terms, made.names, made.defined, made.used) == ({"plain": 1, "words": 1, "größer": 1}, {}, (), None)
    assert file_facts.marks_of(made.marks) == ()


def test_headings_are_names_but_no_part_of_the_graph():
    made = of("# How to start\n\ntext\n", "markdown")
    assert made.names == {"how": 1, "to": 1, "start": 1}
    assert (made.defined, made.used) == ((), None)


def test_a_broken_source_gives_what_could_be_read():
    made = of("def fine():\n    pass\n\ndef broken(:\n")
    assert made.broken == 4
    assert made.defined[0] == "fine"


def test_a_long_signature_is_cut():
    (mark,) = file_facts.marks_of(of(f"def f({', '.join(f'argument{n}' for n in range(50))}): pass\n").marks)
    assert len(mark.text) == 120
    assert mark.text.endswith("...")


def test_a_sheet_can_be_sent_and_read_again():
    made = of(SOURCE)
    again = msgspec.msgpack.decode(msgspec.msgpack.encode(made), type=file_facts.FileFacts)
    assert [getattr(again, name) for name in made.__slots__] == [getattr(made, name) for name in made.__slots__]


def test_only_code_and_headings_are_worth_a_parse():
    assert [name for name in ("python", "go", "markdown", "json", "html") if file_facts.wants(name)] == [
        "python",
        "go",
        "markdown",
    ]
