"""What a terminal was sent, as text."""

import shutil
import subprocess
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolroll.text.terminal import clean, is_binary


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        (b"plain\n\ttext\n", "plain\n\ttext\n"),
        ("grün 😀\n".encode(), "grün 😀\n"),
        (b"a\xffb", "a\ufffdb"),
        (b"cut \xf0\x9f\x98", "cut \ufffd"),
        (b"\x1b[31mred\x1b[0m", "red"),
        (b"\x1b[38;5;196;1mred\x1b[m", "red"),
        (b"\x1b[2J\x1b[H\x1b[?25lx\x1b[K", "x"),
        (b"\x1b]0;title\x07x", "x"),
        (b"\x1b]8;;https://example.com\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1b]0;never ended\nnext", "0;never ended\nnext"),
        (b"\x1bPq#0;2;0\x1b\\x", "x"),
        (b"\x1b_hidden\x1b\\x\x1b^hidden\x1b\\y\x1bXhidden\x1b\\z", "xyz"),
        (b"\x1b(Bx\x1b=y\x1b7z\x1bc", "xyz"),
        ("\x9b31mred\x9b0m \x9d0;t\x9cx".encode(), "red x"),
        (b"\x1b", ""),
        (b"a\x1b[", "a"),
        (b"a\x1b[12;", "a"),
        (b"\x1b\x1b[1mx", "x"),
        (b"one\r\ntwo\r\n", "one\ntwo\n"),
        (b"one\r\r\ntwo", "one\ntwo"),
        (b"10%\r50%\r100%\n", "100%\n"),
        (b"10%\r50%\r100%\r\n", "100%\n"),
        (b"10%\r50%\r", "50%"),
        (b"working\r       \rdone\n", "done\n"),
        (b"\x1b[2K\r1/3\x1b[2K\r2/3\x1b[2K\r3/3\n", "3/3\n"),
        (b"abc\b\bX\n", "aX\n"),
        (b"\b\bx", "x"),
        (b"N\bNA\bAM\bME\bE", "NAME"),
        (b"_\bx", "x"),
        (b"a\x00b\x07c\x0bd\x0ce\x7ff\x1fg", "a␀bcdefg"),
        (b"a.txt\0b.txt\0\0\0", "a.txt␀b.txt␀"),
        ("a\u202eb\u2066c\u2069d".encode(), "abcd"),
        ("a\U000e0041\U000e0042b".encode(), "ab"),
        ("👩\u200d🚀 e\u0301 \u00a0x".encode(), "👩\u200d🚀 e\u0301 \u00a0x"),
    ],
)
def test_output_is_cleaned(data, text):
    assert clean(data) == text


@given(st.binary(max_size=200) | st.lists(st.sampled_from(b"\x1b[]P\\\x07\r\n\b;1mA \xc2\x9b"), max_size=60).map(bytes))
def test_nothing_is_left_that_a_terminal_obeys(data):
    text = clean(data)
    assert all(char in "\n\t" or not (char < " " or "\x7f" <= char <= "\x9f") for char in text)
    assert clean(text.encode()) == text


@pytest.mark.parametrize(
    "piece",
    [b"\x1b", b"\x1b[", b"\x1b]", b"\x1bP", b"\xc2\x90", b"\xc2\x9d", b"\x1b[1;", b"\x1b]0;x", b"\r", b"\b", b"a\b", b"x\r", b"\r\n", b"\xff", b"\x1b[0;" + b"1;" * 50],
    ids=repr,
)  # fmt: skip
def test_megabytes_of_anything_take_no_time(piece):
    started = time.monotonic()
    clean(piece * (500_000 // len(piece)))
    clean(piece + b"x" * 500_000)
    assert time.monotonic() - started < 30


@pytest.mark.skipif(shutil.which("grep") is None, reason="needs grep")
def test_colours_of_a_real_program(tmp_path):
    (tmp_path / "a").write_text("one two\n")
    done = subprocess.run(
        ["grep", "-n", "--color=always", "two", "a"], cwd=tmp_path, stdout=subprocess.PIPE, check=True
    )
    assert b"\x1b[" in done.stdout
    assert clean(done.stdout) == "1:one two\n"


@pytest.mark.parametrize(
    ("data", "binary"),
    [
        (b"", False),
        (b"text\n", False),
        ("Ελληνικά\n".encode(), False),
        ("caf\xe9 cr\xe8me br\xfbl\xe9e, with some more text\n".encode("latin-1"), False),
        ("\ufffd\ufffd\ufffd".encode(), False),
        (b"\x1b[31mred\x1b[0m\r\n", False),
        (b"a\0b", False),
        ("text".encode("utf-16"), True),
        (b"a.txt\0b.txt\0", False),
        (b"\x7fELF\x02\x01\x01\0", True),
        (bytes(range(128, 256)) * 4, True),
        ("Ελληνικά κείμενα".encode("iso-8859-7"), True),
        (b"\xff" * 100_000 + b"text", True),
        (b"text" * 50_000 + b"\0", False),
    ],
)  # fmt: skip
def test_binary_output_is_told_from_text(data, binary):
    assert is_binary(data) is binary
