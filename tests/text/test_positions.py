import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolroll.result import ErrorCode, ToolError
from toolroll.text.positions import Position, Positions

TEXTS = {
    "plain": "ab\ncd\n",
    "crlf": "ab\r\ncd\r\n",
    "tabs": "\tab\n\t\tcd",
    "accents": "äö x\nü\n",
    "astral": "a😀b = '🎉🎉' # x\nz",
    "lone return": "a\rb\nc\n",
}


@pytest.mark.parametrize(
    ("name", "units", "ours", "theirs"),
    [
        ("plain", "utf-16", (2, 2), (1, 1)),
        ("plain", "utf-8", (1, 3), (0, 2)),
        ("crlf", "utf-16", (2, 3), (1, 2)),
        ("tabs", "utf-16", (2, 3), (1, 2)),
        ("accents", "utf-8", (1, 4), (0, 5)),
        ("accents", "utf-16", (1, 4), (0, 3)),
        ("astral", "utf-8", (1, 3), (0, 5)),
        ("astral", "utf-16", (1, 3), (0, 3)),
        ("astral", "utf-32", (1, 3), (0, 2)),
        ("astral", "utf-16", (1, 14), (0, 16)),
        ("astral", "utf-16", (2, 2), (1, 1)),
        ("lone return", "utf-16", (1, 3), (1, 0)),
        ("lone return", "utf-16", (2, 1), (2, 0)),
    ],
)
def test_a_place_in_both_counts(name, units, ours, theirs):
    places = Positions(TEXTS[name], units)
    offset = places.offset(*ours)
    assert places.to_server(offset) == {"line": theirs[0], "character": theirs[1]}
    assert places.from_server({"line": theirs[0], "character": theirs[1]}) == offset
    assert places.position(offset) == Position(*ours)


@pytest.mark.parametrize(
    ("text", "line", "character", "words"),
    [
        ("ab\ncd\n", 3, 1, "`line` is 3, but the file has 2 lines."),
        ("ab\ncd", 3, 1, "`line` is 3, but the file has 2 lines."),
        ("ab\n", 0, 1, "`line` is 0"),
        ("", 1, 1, "the file has 0 lines"),
        ("ab\r\n", 1, 4, "`character` is 4, but line 1 has 2 characters. Its words: 'ab' at 1."),
        ("x = 1\n", 1, 0, "`character` is 0"),
        ("😀 b\n", 1, 5, "line 1 has 3 characters. Its words: 'b' at 3."),
        ("()\n", 1, 9, "The line has no words."),
    ],
)
def test_places_that_are_not_there(text, line, character, words):
    with pytest.raises(ToolError) as caught:
        Positions(text).offset(line, character)
    assert caught.value.code is ErrorCode.VALIDATION
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("text", "place", "offset"),
    [
        ("ab\ncd\n", (0, 99), 2),  # behind the end of a line: its end
        ("ab\r\ncd", (0, 99), 2),
        ("ab\ncd\n", (99, 0), 6),
        ("a😀b", (0, 2), 1),  # within a character: before it
        ("ab", (0, -1), 0),
    ],
)
def test_places_that_a_server_makes_up(text, place, offset):
    assert Positions(text).from_server({"line": place[0], "character": place[1]}) == offset


@pytest.mark.parametrize(
    ("character", "word"), [(1, "foo"), (3, "foo"), (4, "foo"), (5, "bar_2"), (10, "bar_2"), (12, ""), (14, "x")]
)
def test_the_word_at_a_place(character, word):
    assert Positions("foo.bar_2( $x").word(1, character) == word


@pytest.mark.parametrize("units", ["utf-8", "utf-16", "utf-32"])
@given(text=st.text(alphabet="a\tä😀\r\n\u2028 ", max_size=40))
def test_there_and_back(units, text):
    places = Positions(text, units)
    for offset in range(len(text) + 1):
        if text[offset - 1 : offset + 1] == "\r\n":
            continue  # between the two there is no place for a server
        sent = places.to_server(offset)
        assert places.from_server(sent) == offset
        spot = places.position(offset)
        assert text.split("\n")[spot.line - 1][: spot.character - 1] == text[:offset].rpartition("\n")[2]
