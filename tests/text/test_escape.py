"""Characters that do not show themselves."""

import unicodedata

import pytest

from toolroll.text.escape import escape_line, escape_text

HIDDEN = [
    ("a\u202eb\u2066", "a\\u202eb\\u2066"),
    ("\u200b\u200d\u2060\ufeff", "\\u200b\\u200d\\u2060\\ufeff"),
    ("\x00\x1b[8m\x7f\x9b\r", "\\x00\\x1b[8m\\x7f\\x9b\\r"),
    ("\x0b\x0c\x85\u2028\u2029", "\\x0b\\x0c\\x85\\u2028\\u2029"),
    ("\U000e0041\U000e0100\ufe0f", "\\U000e0041\\U000e0100\\ufe0f"),
    ("\xa0\u3000\u2800\u3164\u115f\uffa0", "\\xa0\\u3000\\u2800\\u3164\\u115f\\uffa0"),
    ("\xad\u034f\u061c\u180e", "\\xad\\u034f\\u061c\\u180e"),
    ("\ud800\ue000", "\\ud800\\ue000"),
]
PLAIN = ["a b", "é ü 漢字 Ωж", "'\\n' \\u202e", "→ ✓ 🎉"]


@pytest.mark.parametrize(("text", "shown"), HIDDEN)
def test_what_hides_is_written_as_an_escape(text, shown):
    assert (escape_text(text), escape_line(text)) == (shown, shown)


@pytest.mark.parametrize("text", PLAIN)
def test_what_shows_itself_stays(text):
    assert (escape_text(text), escape_line(text)) == (text, text)


def test_line_breaks_and_tabs_stay_in_a_text_and_not_in_a_line():
    assert (escape_text("a\n\tb"), escape_line("a\n\tb")) == ("a\n\tb", "a\\n\\tb")


def test_no_control_or_format_character_is_left():
    kinds = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
    numbers = (*range(0xD7FF), *range(0xD800, 0x110000, 97), *range(0xE0000, 0xE0200))
    every = escape_text("".join(char for char in map(chr, numbers) if unicodedata.category(char) in kinds))
    assert {char for char in every if unicodedata.category(char) in kinds} == {
        "\n",
        "\t",
    }
