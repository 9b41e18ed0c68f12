"""The outline of a file and of a folder."""

import pytest

from toolroll import ErrorCode, ToolError
from toolroll.tools.code.outline import outline

CAR = """\
import os
from json import dumps

LIMIT = 3

class Car(Motor):
    wheels = 4

    @property
    def speed(self) -> int:
        def inner(): pass
        return 1

def main(): pass
"""


def test_a_file(ctx, put):
    put({"src/car.py": CAR})
    found = outline(ctx, "src/car.py")
    assert str(found) == (
        "src/car.py (Python, 14 lines)\n"
        "  imports os, json\n"
        "  4      LIMIT = 3\n"
        "  6-12   class Car(Motor)\n"
        "  7        wheels = 4\n"
        "  10-12    @property def speed(self) -> int\n"
        "  11         def inner()\n"
        "  14     def main()"
    )
    assert (found.note, found.files, found.definitions, found.whole) == ("", 1, 6, None)


def test_a_file_in_part(ctx, put):
    put({"car.py": CAR})
    assert [line.name for line in outline(ctx, "car.py", depth=1).parts[0].lines] == ["LIMIT", "Car", "main"]
    cut = outline(ctx, "car.py", limit=2)
    assert [line.name for line in cut.parts[0].lines] == ["LIMIT", "Car"]
    assert cut.note == "(2 of 6 definitions shown.)"
    assert "def main()" in cut.whole()


def test_a_folder(ctx, put):
    put({"src/car.py": CAR, "src/deep/b.go": "package b\n\nfunc B() {\n}\n", "src/empty.py": "", "c.py": "x = 1\n"})
    found = outline(ctx, "src")
    assert str(found) == (
        "src/car.py (Python, 14 lines)\n"
        "  6-12  class Car(Motor)\n"
        "  14    def main()\n"
        "src/deep/b.go (Go, 4 lines)\n"
        "  3-4  func B()"
    )
    assert (found.note, found.files, found.definitions) == ("(Looked at 3 files.)", 3, 3)


def test_a_large_folder_is_told_in_brief(ctx, put):
    put({f"m{number}.py": "def a(): pass\nclass B:\n    def c(self): pass\n" for number in range(5)})
    found = outline(ctx, limit=4)
    assert str(found) == "\n".join(f"m{number}.py: a, B" for number in range(4))
    assert found.note == (
        "(4 of 5 files shown. 10 definitions: give a file as `path` for their lines. Looked at 5 files.)"
    )
    assert found.whole().count("class B") == 5


def test_what_does_not_parse_is_said(ctx, put):
    put({"a.py": "def whole(): pass\nclass Open(\n", "b.py": "def fine(): pass\n", "hard.yaml": b"- " * 20_000})
    assert outline(ctx, "a.py").note == "(Line 2 does not parse: what follows it may be incomplete.)"
    assert outline(ctx).note == "(Looked at 2 files; not at: 1 too hard to parse. Not parsed in full: a.py:2.)"


def test_nothing(ctx, put):
    put({"empty.py": ""})
    assert str(outline(ctx, "empty.py")) == "empty.py (Python, 0 lines)"
    assert str(outline(ctx)) == "Nothing is defined here."


def test_what_has_no_outline(ctx, put):
    put({"a.xyz": "fun a() {}\n"})
    with pytest.raises(ToolError, match="is not known") as caught:
        outline(ctx, "a.xyz")
    assert caught.value.code == ErrorCode.UNSUPPORTED
    with pytest.raises(ToolError, match="there is no"):
        outline(ctx, "b.xyz")
