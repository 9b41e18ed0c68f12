from __future__ import annotations

import struct

import pytest

from toolroll.host.network.name_server import answer_query

HEAD = struct.pack("!6H", 7, 0x0100, 1, 0, 0, 0)
NAME = b"\x03One\x07example\x03com\x00"
ADDRESS = b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\x7f\x40\x00\x01"


def find(name: str) -> str:
    return "127.64.0.1" if name == "one.example.com" else ""


@pytest.mark.parametrize(
    ("name", "kind", "code", "found"),
    [
        (NAME, 1, 0, ADDRESS),
        (NAME, 28, 0, b""),
        (NAME, 16, 0, b""),
        (b"\x05other\x00", 1, 3, b""),
        (b"\x05other\x00", 28, 3, b""),
        (b"\x00", 1, 3, b""),
    ],
)
def test_answers(name: bytes, kind: int, code: int, found: bytes) -> None:
    question = name + struct.pack("!HH", kind, 1)
    head = struct.pack("!6H", 7, 0x8180 | code, 1, bool(found), 0, 0)
    assert answer_query(HEAD + question, find) == head + question + found


def test_another_class_and_operation_are_not_done() -> None:
    status = struct.pack("!6H", 7, 0x1000, 1, 0, 0, 0)
    for asked in (HEAD + NAME + struct.pack("!HH", 1, 3), status + NAME + struct.pack("!HH", 1, 1)):
        assert answer_query(asked, find)[3] & 0xF == 4


@pytest.mark.parametrize(
    "asked",
    [
        b"",
        HEAD,
        HEAD + NAME,
        HEAD + b"\x3fx",
        HEAD + b"\xc0\x0c\x00\x01\x00\x01",
        HEAD + b"\x01\xff\x00\x00\x01\x00\x01",
        struct.pack("!6H", 7, 0x8000, 1, 0, 0, 0) + NAME + struct.pack("!HH", 1, 1),
        struct.pack("!6H", 7, 0, 2, 0, 0, 0) + NAME + struct.pack("!HH", 1, 1),
    ],
)
def test_what_is_no_question_gets_no_answer(asked: bytes) -> None:
    assert answer_query(asked, find) == b""
