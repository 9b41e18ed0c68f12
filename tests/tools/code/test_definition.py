import sys
from pathlib import Path

import pytest

from toolroll.result import ErrorCode, ToolError
from toolroll.tools.code.definition import Defined, Place, definition

pytestmark = pytest.mark.skipif(not (Path(sys.executable).parent / "ty").exists(), reason="ty is not installed")


def test_in_another_file(served, put):
    put({"lib/shapes.py": "\n\nclass  Square: ...\n", "a.py": "from lib.shapes import Square\nSquare()\n"})
    found = definition(served, path="a.py", line=2, character=3)
    assert found.symbol == "Square"
    assert found.places == [Place("lib/shapes.py", 3, 8, "class  Square: ...")]
    assert str(found) == "lib/shapes.py:3:8: class  Square: ..."


def test_from_another_folder(served, kit, put):
    put({"lib/shapes.py": "class Square: ...\n", "lib/a.py": "from lib.shapes import Square\n"})
    found = definition(kit.context(cwd="lib"), path="a.py", line=1, character=25)
    assert str(found) == "lib/shapes.py:1:7: class Square: ..."


def test_several(served, put):
    put({"a.py": "import sys\nif sys.argv:\n    def f(): ...\nelse:\n    def f(n): ...\nf\n"})
    found = definition(served, path="a.py", line=6, character=1)
    assert [str(one) for one in found.places] == ["a.py:3:9: def f(): ...", "a.py:5:9: def f(n): ..."]


def test_outside_only_the_line(served, put):
    put({"a.py": "import os\nos.getcwd()\n"})
    (place,) = definition(served, path="a.py", line=2, character=5).places
    assert (place.text, str(place)) == ("", f"{place.path}:{place.line}")
    assert place.path.endswith(".pyi")


def test_nowhere(served, put):
    put({"a.py": "x = nothing_here\n"})
    found = definition(served, path="a.py", line=1, character=6)
    assert found == Defined("nothing_here", [], "Its words: 'x' at 1, 'nothing_here' at 5.")
    assert str(found) == "No definition of 'nothing_here' is known. Its words: 'x' at 1, 'nothing_here' at 5."


def test_a_place_outside_the_file(served, put):
    put({"a.py": "x = 1\n"})
    with pytest.raises(ToolError) as caught:
        definition(served, path="a.py", line=9, character=1)
    assert caught.value.code is ErrorCode.VALIDATION


def test_by_name_and_by_line(served, put):
    put(
        {
            "a.py": "class A:\n    def go(self): ...\nclass B:\n    def go(self): ...\n",
            "b.py": "from a import A\nA().go()\n",
        }
    )
    assert str(definition(served, "go")) == "a.py:2:9: def go(self)\na.py:4:9: def go(self)"
    assert str(definition(served, "B.go")) == "a.py:4:9: def go(self)"
    assert str(definition(served, "go", "b.py", 2)) == "a.py:2:9: def go(self): ..."
    with pytest.raises(ToolError) as caught:
        definition(served, path="b.py", line=2)
    assert caught.value.message == (
        "Line 2 of 'b.py' has 2 names. Choose one:\n"
        '{"path":"b.py","line":2,"symbol":"A"}\n{"path":"b.py","line":2,"symbol":"go"}'
    )
    assert [dict(one.arguments) for one in caught.value.suggest][1] == {"path": "b.py", "line": 2, "symbol": "go"}


def test_a_name_that_is_nowhere(served, put):
    put({"a.py": "def going(): ...\n"})
    with pytest.raises(ToolError, match=r"There is no symbol 'goin' in '.'. Did you mean 'going'\?"):
        definition(served, "goin")
