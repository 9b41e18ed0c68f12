"""Outlines as text."""

from toolroll.text.code.syntax import outline
from toolroll.text.code.syntax.tags import tags

SOURCE = b"""\
import os
from json import dumps

LIMIT = 3

class Car(Motor):
    wheels = 4

    @property
    @cached(1)
    def speed(self) -> int:
        def inner(): pass
        return 1

def main(): pass
"""
FOUND = tags("python", SOURCE)


def test_all_levels():
    assert outline.render(outline.lines(FOUND, 3)) == [
        "4      LIMIT = 3",
        "6-13   class Car(Motor)",
        "7        wheels = 4",
        "11-13    @property @cached def speed(self) -> int",
        "12         def inner()",
        "15     def main()",
    ]


def test_some_levels():
    assert [one.name for one in outline.lines(FOUND, 1)] == ["LIMIT", "Car", "main"]
    assert [one.name for one in outline.lines(FOUND, 2, values=False)] == ["Car", "speed", "main"]


def test_the_rest_in_words():
    assert outline.header("a/car.py", FOUND) == "a/car.py (Python, 15 lines)"
    assert outline.summary(outline.imports(FOUND)) == "imports os, json"
    assert outline.summary([f"m{n}" for n in range(30)]).endswith("m19 and 10 more")
    assert outline.names(outline.lines(FOUND, 2)) == "LIMIT, Car, main"


def test_a_method_outside_of_its_type_is_on_the_upper_level():
    found = tags("go", b"package a\nfunc (t T) Do() {}\ntype T struct{}\nfunc F() {}\n")
    assert [(one.level, one.text) for one in outline.lines(found, 2)] == [
        (0, "func (t T) Do()"),
        (0, "T struct"),
        (0, "func F()"),
    ]
