import time

import pytest

from toolroll.text.code.map import question as message

PLAIN = [
    ("one line", "Fix the lexer", "Fix the lexer"),
    (
        "who checked it",
        "Fix the lexer\n\nIt looped.\n\nReviewed-by: Ann Lee <ann@b.org>\nCc: Bo",
        "Fix the lexer\nIt looped.",
    ),
    ("what broke it", "Fix a crash\n\nBroken-by (corrected): 22ed7a5295f1", "Fix a crash"),
    ("who reported it", "Fix a crash\n\nSubmitted By: ann, bo", "Fix a crash"),
    ("thanks", "Fix a crash\n\nThanks to Ann for the report\nand to Bo.\n\nIt looped.", "Fix a crash\nIt looped."),
    ("a link", "Loop in lexer\n\nSee https://b.org/issues/12 and lexer.c", "Loop in lexer\nSee  and lexer.c"),
    ("a commit", "Loop, since 35431298226165986ad07e91f9d3aca721ff38ec", "Loop, since "),
    ("a number of a weakness", "CVE-2025-1 (1/3): lexer: check", "lexer: check"),
    ("words of hexadecimal letters", "facade of 1234567 decades, deface", "facade of 1234567 decades, deface"),
    ("a trailer in the title is one", "Signed-off-by: is not checked", "Signed-off-by: is not checked"),
    ("thanks within a sentence", "Speed\n\nFaster, thanks to a table", "Speed\nFaster, thanks to a table"),
    ("nothing else", "https://b.org/issues/12", "https://b.org/issues/12"),
    ("empty", " \n ", ""),
]


@pytest.mark.parametrize(("text", "left"), [row[1:] for row in PLAIN], ids=[row[0] for row in PLAIN])
def test_what_is_for_the_record_is_left_out(text, left):
    assert message.plain(text) == left


AREAS = [
    ("lexer: stop at the end", "lexer"),
    ("net/http, net/tls : time out", "net/http, net/tls"),
    ("grub-core/loader: free once", "grub-core/loader"),
    ("Stop at the end", ""),
    ("std::vector is copied", ""),
    ("at 12:30 it stops", ""),
    ("Stop\n\nlexer: at the end", ""),
]


@pytest.mark.parametrize(("text", "area"), AREAS, ids=[row[0][:20] for row in AREAS])
def test_the_area_is_what_the_first_line_begins_with(text, area):
    assert message.area(text) == area


@pytest.mark.parametrize(
    "text", ["a-" * 50_000, "Thanks\n" * 20_000, "a@" * 50_000, "x\n" + "a b-by " * 20_000, "f0" * 50_000]
)
def test_hostile_text_takes_no_longer(text):
    began = time.process_time()
    message.area(message.plain(text))
    assert time.process_time() - began < 1
