"""Text to bytes and back without loss."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolroll import ToolError
from toolroll.text.encoding import UTF8, choose_encoding, detect


@pytest.mark.parametrize(
    ("data", "text", "codec"),
    [
        (b"plain", "plain", "utf-8"),
        ("h\u00e9".encode(), "h\u00e9", "utf-8"),
        (codecs.BOM_UTF8 + b"a", "a", "utf-8"),
        (codecs.BOM_UTF16_LE + "h\u00e9".encode("utf-16-le"), "h\u00e9", "utf-16-le"),
        (codecs.BOM_UTF16_BE + "h\u00e9".encode("utf-16-be"), "h\u00e9", "utf-16-be"),
        (codecs.BOM_UTF32_LE + "h\u00e9".encode("utf-32-le"), "h\u00e9", "utf-32-le"),
        (
            b"# -*- coding: latin-1 -*-\nx = '\xe9'\n",
            "# -*- coding: latin-1 -*-\nx = '\u00e9'\n",
            "iso8859-1",
        ),
        (b"#!/bin/python\n# coding=cp1252\n\x80", "#!/bin/python\n# coding=cp1252\n\u20ac", "cp1252"),
        (
            b'<?xml version="1.0" encoding="iso-8859-1"?><a>\xe9</a>',
            '<?xml version="1.0" encoding="iso-8859-1"?><a>\u00e9</a>',
            "iso8859-1",
        ),
        (b'<html><meta charset="windows-1252">\x80', '<html><meta charset="windows-1252">\u20ac', "cp1252"),
        (b"# coding: nonsense\nx", "# coding: nonsense\nx", "utf-8"),
        (b"# coding: rot13\nx", "# coding: rot13\nx", "utf-8"),
    ],
)
def test_text_is_read_as_it_was_written(data, text, codec):
    found = detect(data)
    assert (found.codec, found.decode(data), found.encode(text)) == (codec, text, data)


def test_the_caller_may_declare_the_encoding():
    found = detect(b"\xe9", "latin-1")
    assert (found.decode(b"\xe9"), found.encode("\u00e9")) == ("\u00e9", b"\xe9")


@pytest.mark.parametrize(
    ("data", "asked", "code", "words"),
    [
        (b"\x7fELF\0\0", None, "Unsupported", r"binary file \(ELF program\)"),
        (b"a\0b", None, "Unsupported", "binary file"),
        (b"x", "klingon", "ValidationError", "no text encoding 'klingon'"),
        (b"x", "base64", "ValidationError", "no text encoding"),
        (b"x", "\0", "ValidationError", "no text encoding"),
    ],
)
def test_what_is_no_text_is_refused(data, asked, code, words):
    with pytest.raises(ToolError, match=words) as caught:
        detect(data, asked)
    assert caught.value.code == code


def test_bytes_that_are_not_utf8_are_told_with_their_place_and_a_guess():
    data = "eins\nzwei\nGr\u00fc\u00dfe aus K\u00f6ln, sch\u00f6ne Stra\u00dfe\n".encode("cp1252")
    with pytest.raises(ToolError, match=r"Not valid UTF-8 at byte 12 \(line 3\).*`encoding`") as caught:
        detect(data).decode(data)
    assert caught.value.details["byte"] == 12


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        ("caf\u00e9\n", "cp1252"),
        ("x = 1  # \u201cGr\u00f6\u00dfe\u201d \u2026\n", "cp1252"),
        ("Za\u017c\u00f3\u0142\u0107 g\u0119\u015bl\u0105 ja\u017a\u0144\n", "cp1250"),
        (
            "\u041f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440, \u043a\u0430\u043a \u0434\u0435\u043b\u0430\n",
            "cp1251",
        ),
        ("\u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8\n", "cp932"),
    ],
)
def test_the_encoding_of_short_texts_is_guessed(text, codec):
    data = text.encode(codec)
    with pytest.raises(ToolError) as caught:
        detect(data).decode(data)
    assert caught.value.details["guess"] == codec
    found = choose_encoding(data, UTF8)
    assert (found.codec, found.guessed, found.decode(data)) == (codec, True, text)


@pytest.mark.parametrize("data", [b"plain", "h\u00e9".encode(), bytes(range(1, 256)) * 4])
def test_nothing_is_guessed_where_there_is_no_need_and_where_it_would_lose_bytes(data):
    assert choose_encoding(data, UTF8) is UTF8


def test_a_character_that_the_encoding_lacks_is_refused():
    with pytest.raises(ToolError, match="cannot be written as iso8859-1"):
        detect(b"", "latin-1").encode("\u20ac")


@given(st.text())
def test_any_text_survives(text):
    for codec in ("utf-8", "utf-16-le", "utf-32-be"):
        found = detect(b"", codec)
        assert found.decode(found.encode(text)) == text
