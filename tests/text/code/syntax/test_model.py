"""Tags that were packed: all of them come back, whatever is asked first."""

from pathlib import Path

import pytest

from toolroll.text.code.syntax.model import PackedTags, Tags, pack
from toolroll.text.code.syntax.tags import definitions, tags

CASES = sorted((Path(__file__).parent / "cases").iterdir())


def everything(one: Tags) -> tuple:
    return one.facts, one.sketch, one.upper, one.definitions, one.uses


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("made", [tags, definitions])
def test_what_is_packed_comes_back(case, made):
    source = (case / "source.txt").read_bytes()
    for one in (source, source[: len(source) // 2], b""):
        expected = made(case.name, one)
        assert everything(PackedTags(pack(expected))) == everything(expected)


def test_it_does_not_matter_what_is_asked_first():
    source = "import os\n@one\n@two('\\n', é)\nclass Größe(\n    Base,\n): x = 1; y = 2\ndef f():\n    def g(): h(1)\nz = 1\n"
    expected = tags("python", source.encode())
    assert len(expected.definitions) == 9
    assert PackedTags(pack(expected)).definitions == expected.definitions
    assert list(PackedTags(pack(expected)).uses_of()) == list(expected.uses_of())
    seen = PackedTags(pack(expected))
    assert [tag.name for tag in seen.upper] == ["Größe", "f", "z"]
    assert seen.sketch == "  4-6  @one @two class Größe(Base)\n  7-8  def f()"
    assert seen.definitions == expected.definitions
    assert seen.weight > len(pack(expected))


def test_definitions_of_some_kinds():
    source = b"import os\nclass A:\n    LIMIT = 1\n    def f(self): ...\ndef g(): ...\n"
    seen = PackedTags(pack(definitions("python", source)))
    assert [tag.path for tag in seen.of({"method", "constant"})] == ["A.LIMIT", "A.f"]
