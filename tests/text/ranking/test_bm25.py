import random
from math import log

import pytest

from toolroll.text.ranking.bm25 import Bm25Index

TEXTS = [{"cat": 1, "dog": 3}, {"cat": 2}, {"bird": 1, "dog": 1, "fish": 8}]


def made(texts=TEXTS):
    index = Bm25Index()
    assert [index.add(text) for text in texts] == list(range(len(texts)))
    return index


def by_the_book(texts, question, k=1.2, b=0.75):
    """BM25 as it is written down, text by text."""
    mean = sum(sum(text.values()) for text in texts.values()) / len(texts)
    scores = {}
    for number, text in texts.items():
        for term, weight in question.items():
            holding = sum(term in other for other in texts.values())
            if term in text:
                rarity = log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
                bent = text[term] + k * (1 - b + b * sum(text.values()) / mean)
                scores[number] = scores.get(number, 0) + weight * rarity * text[term] * (k + 1) / bent
    return scores


def test_scores_are_those_of_the_book():
    question = {"dog": 1.0, "cat": 0.5, "cow": 1.0}
    assert made().scores(question) == pytest.approx(by_the_book(dict(enumerate(TEXTS)), question))


def test_a_removed_text_counts_for_nothing():
    index = made()
    index.remove(0)
    left = {number: text for number, text in enumerate(TEXTS) if number}
    assert index.scores({"dog": 1.0, "cat": 1.0}) == pytest.approx(by_the_book(left, {"dog": 1.0, "cat": 1.0}))
    assert index.rarity("cat") == pytest.approx(log(1 + 1.5 / 1.5))
    assert index.rarity("cow") == 0


def test_many_changes_leave_the_scores_of_what_there_is():
    chance = random.Random(5)
    index, texts = Bm25Index(), {}
    for _ in range(6000):
        if texts and chance.random() < 0.49:
            number = chance.choice(list(texts))
            index.remove(number)
            del texts[number]
        else:
            text = {f"t{chance.randrange(40)}": chance.randrange(1, 9) for _ in range(3)}
            texts[index.add(text)] = text
    question = {"t1": 1.0, "t7": 2.0}
    assert index.scores(question) == pytest.approx(by_the_book(texts, question))


def test_a_term_that_is_there_without_end_is_counted_as_often_as_can_be():
    index = made([{"x": 10**9}, {"y": 1}])
    assert index.scores({"x": 1.0}).keys() == {0}


def test_an_empty_index_and_empty_texts_have_no_scores():
    assert Bm25Index().scores({"x": 1.0}) == {}
    assert made([{}, {}]).scores({"x": 1.0}) == {}
