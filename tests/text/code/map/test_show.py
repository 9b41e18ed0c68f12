import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolroll.text.code.map.file_facts import Mark
from toolroll.text.code.map.show import MapLayout, render
from toolroll.text.tokens import estimate

MARKS = {
    "a.py": [
        Mark("A", "class", 3, "", "class A"),
        Mark("one", "method", 10, "A", "def one(self)"),
        Mark("Inner", "class", 20, "A", "class Inner"),
        Mark("two", "method", 21, "A.Inner", "def two(self)"),
        Mark("free", "function", 120, "", "def free()"),
    ],
    "b.py": [Mark("b", "function", 1, "", "def b()")],
    "c.txt": [],
}
VALUES = {"a.py": [0.1, 0.2, 0.1, 1.0, 0.3], "b.py": [1.0], "c.txt": []}
FILES = [("a.py", 1.0), ("b.py", 0.5), ("c.txt", 0.4)]


def sketch(most):
    return MapLayout(FILES, MARKS.__getitem__, VALUES.__getitem__, most)


def test_all_is_shown_where_there_is_room():
    assert render(sketch(500).parts(0)) == [
        "a.py",
        "    3 class A",
        "   10   def one(self)",
        "   20   class Inner",
        "   21     def two(self)",
        "  120 def free()",
        "b.py",
        "  1 def b()",
        "c.txt",
    ]


def test_a_definition_comes_with_what_it_is_in():
    assert render(sketch(24).parts(0)) == [
        "a.py",
        "   3 class A",
        "  20   class Inner",
        "  21     def two(self)",
        "b.py",
    ]


def test_what_is_kept_for_others_is_not_used():
    shown = render(sketch(40).parts(34))
    assert shown == ["a.py", "b.py"]


@pytest.mark.parametrize("most", [0, 1, 2])
def test_nothing_fits_into_nothing(most):
    assert sketch(most).parts(0) == []


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), min_size=1, max_size=40)


@given(st.lists(NAMES, max_size=12, unique=True), st.integers(0, 300), st.integers(0, 2**32))
def test_a_budget_is_never_exceeded(paths, most, seed):
    chance = random.Random(seed)
    marks = {
        path: [
            Mark(
                f"n{at}",
                "function",
                at + 1,
                f"n{at - 1}" if at and chance.random() < 0.5 else "",
                path * chance.randrange(1, 4),
            )
            for at in range(chance.randrange(8))
        ]
        for path in paths
    }
    files = sorted(((path, chance.random()) for path in paths), key=lambda row: -row[1])
    made = MapLayout(files, marks.__getitem__, lambda path: [chance.random() for _ in marks[path]], most)
    parts = made.parts(0)
    assert estimate("\n".join(render(parts))) <= most
    order = [path for path, _ in files]
    assert [part.path for part in parts] == sorted((part.path for part in parts), key=order.index)
