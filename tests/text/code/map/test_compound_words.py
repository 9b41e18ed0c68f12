import time

import pytest

from toolroll.text.code.map.compound_words import CompoundWords
from toolroll.text.ranking.bm25 import rarity

FILES = ("gdk/gdksurface.c", "gdk/surface.c", "gdk/gdkdisplay.c", "src/set_fields.py", "Makefile")


@pytest.mark.parametrize(
    ("term", "found"),
    [
        ("surface", {"gdk/gdksurface.c": rarity(5, 2) * 7 / 10}),  # that of surface.c is a word of its path
        ("display", {"gdk/gdkdisplay.c": rarity(5, 1) * 7 / 10}),
        ("file", {"Makefile": rarity(5, 1) * 4 / 8}),
        ("fields", {}),  # a word of its own
        ("gdk", {}),  # too short to be no accident
        ("zebra", {}),
        ("c\n", {}),
    ],
)
def test_a_word_within_another_is_found(term, found):
    assert CompoundWords(FILES).scores({term: 1.0}) == pytest.approx(found)


def test_terms_count_by_their_weights_and_add_up():
    one, two = CompoundWords(FILES).scores({"surf": 2.0}), CompoundWords(FILES).scores({"face": 1.0})
    both = CompoundWords(FILES).scores({"surf": 2.0, "face": 1.0})
    assert both == pytest.approx({path: one[path] + two[path] for path in ("gdk/gdksurface.c", "gdk/surface.c")})


def test_no_files_have_no_names():
    assert CompoundWords([]).scores({"surface": 1.0}) == {}


def test_many_files_and_words_take_no_time():
    glued = CompoundWords(f"src/part{number:x}module{number}.c" for number in range(20_000))
    began = time.process_time()
    glued.scores({f"word{chr(97 + number % 26)}{chr(97 + number // 26)}": 1.0 for number in range(400)})
    assert time.process_time() - began < 1
