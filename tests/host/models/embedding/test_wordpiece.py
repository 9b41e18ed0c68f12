"""Texts in the pieces that a BERT model reads. The numbers are those of the model's own tokenizer."""

import json

import pytest

from tests.host.models.embedding.served import FOLDER, REAL
from toolroll.host.models.embedding.minilm import WordPiece
from toolroll.host.models.embedding.model_files import MINILM, ModelStore

WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "key",
    "##s",
    "rot",
    "##ate",
    ".",
    "a",
    "\u03c3",
    "##\u03c3",
    "中",
    "_",
    "x",
]
ROWS = [
    ("", [2, 3]),
    ("Keys rotate.", [2, 4, 5, 6, 7, 8, 3]),
    ("keysrot", [2, 1, 3]),
    ("kéy\tkey\u200b\x00s", [2, 4, 4, 5, 3]),
    ("ΑΣΣ ΣΣ", [2, 1, 10, 11, 3]),
    ("a中a", [2, 9, 12, 9, 3]),
    ("a_a.a", [2, 9, 13, 9, 8, 9, 3]),
    ("x" * 101, [2, 1, 3]),
    ("key“key”", [2, 4, 1, 4, 1, 3]),
    ("\ud800a\ufffd", [2, 9, 3]),
]


@pytest.mark.parametrize(("text", "numbers"), ROWS)
def test_pieces(text, numbers):
    assert WordPiece(WORDS).numbers(text, 20) == numbers


def test_a_long_text_is_cut_before_its_end():
    assert WordPiece(WORDS).numbers("key " * 50, 5) == [2, 4, 4, 4, 3]


def test_a_word_that_was_seen_is_cut_as_before():
    words = WordPiece(WORDS)
    assert words.numbers("keys keys", 9) == words.numbers("keys keys", 9) == [2, 4, 5, 4, 5, 3]


# What the tokenizers package makes of these with the model's own tokenizer.json.
REAL_ROWS = [
    ("Hello, World!", [101, 7592, 1010, 2088, 999, 102]),
    ("naïve café Ångström", [101, 15743, 7668, 17076, 15687, 102]),
    ("ΣΊΣΥΦΟΣ", [101, 1173, 18199, 29733, 29735, 29736, 29730, 29733, 102]),
    ("日本語 中文", [101, 1864, 1876, 1950, 1746, 1861, 102]),
    ("def parse_url(x): return x**2", [101, 13366, 11968, 3366, 1035, 24471, 2140, 1006, 1060, 1007, 1024, 2709, 1060, 1008, 1008, 1016, 102]),
    ("İstanbul\u2019da 25°C ½", [101, 9960, 1521, 4830, 2423, 7737, 2278, 1092, 102]),
]  # fmt: skip


@REAL
def test_the_real_vocabulary():
    models = ModelStore({"TOOLROLL_MODELS": FOLDER})
    with open(models.path(MINILM, "tokenizer.json"), encoding="utf-8") as file:
        told = json.load(file)
    with open(models.path(MINILM, "vocab.txt"), encoding="utf-8") as file:
        words = file.read().splitlines()
    assert {word: number for number, word in enumerate(words)} == told["model"]["vocab"]
    assert told["normalizer"] == {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}  # fmt: skip
    made = WordPiece(words)
    assert [made.numbers(text, 256) for text, _ in REAL_ROWS] == [numbers for _, numbers in REAL_ROWS]
