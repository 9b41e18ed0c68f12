"""Lines and columns of a source, in whatever order they are asked for."""

import random

import pytest

from toolroll.text.code.syntax.source import SourceText

TEXTS = {
    "empty": "",
    "no end": "a\nbc",
    "blank": "\n\n\n",
    "letters": "größe = 1\nß\n\nweiß = größe\n" * 50,
    "long": "x" * 200_000 + "\n" + "y\n" * 100_000 + "z" * 10,
}


@pytest.mark.parametrize("name", TEXTS)
def test_places_are_those_that_counting_gives(name):
    text = TEXTS[name]
    source, chance = SourceText(text.encode()), random.Random(1)
    places = [chance.randrange(len(text) + 1) for _ in range(300)]
    for at in (*places, *sorted(places), *sorted(places, reverse=True)):
        before = text[:at]
        line, start = before.count("\n") + 1, before.rfind("\n") + 1
        offset = len(before.encode())
        assert (source.line(offset), source.spot(offset)) == (line, (line, at - start + 1))
    assert source.lines == len(text.splitlines())


def test_the_last_line_holds_more_than_blanks_and_comments():
    text = b"def f():\n    return 1\n    # end\n\n    # more\n\nx = 1\n"
    comments = [(text.index(b"# end"), text.index(b"# end") + 5), (text.index(b"# more"), text.index(b"# more") + 6)]
    assert SourceText(text, comments).last_line(0, text.index(b"x")) == 2
    assert SourceText(text).last_line(0, text.index(b"x")) == 5
    far = b"def f():\n" + b"    pass\n" * 20_000 + b"\n"
    assert SourceText(far).last_line(0, len(far)) == 20_001
