"""Ranking and citing passages."""

import random

import pytest

from toolroll import ToolError
from toolroll.text import passages
from toolroll.text.passages import Passage, asked, check_query, check_title, found, packed, ranked, scores, terms
from toolroll.text.rank.index import Index


@pytest.mark.parametrize(
    ("passage", "citation"),
    [
        (Passage("a.md", "", "x", 0, 3, 9), "a.md:3-9"),
        (Passage("a.md", "", "x", 0, 3, 3), "a.md:3"),
        (Passage("a.html", "", "x", 0, 3, 9, form="html"), "a.html:3-9 of its text"),
        (Passage("call 7", "", "x", 0), "call 7"),
    ],
)
def test_a_citation(passage, citation):
    assert passage.citation == citation


def test_shown():
    made = found([Passage("a.md", "A > B", "one", 2.5, 1, 2), Passage("b.md", "", "two", 1, 4, 4)], 5, lead="Lead.")
    assert str(made) == "Lead.\n\n[1] a.md:1-2 (A > B)\none\n\n[2] b.md:4\ntwo"
    assert made.note == f"3 more: raise `limit`.\n{passages.TEXT_ALONE}"
    assert str(found([], 0)) == "No passage answers this."


def test_terms_and_numbers():
    assert terms("parseURL v2, 42 x") == {"parse": 1, "url": 1, "parseurl": 1, "v2": 1, "42": 1, "x": 1}
    assert "deployment" in asked("deployments")


def test_words_of_any_sentence_find_nothing_alone():
    known = [Passage("a", "", "the cat sat on the mat", 0), Passage("b", "", "the dog is in the house", 0)]
    assert [one.source for one in ranked(known, "where is the cat", 5)[0]] == ["a"]
    assert ranked(known, "where is the cat", 5)[1] == 1
    assert ranked(known, "zebra", 5) == ([], 0)
    assert {one.source for one in ranked(known, "the", 5)[0]} == {"a", "b"}


def test_of_equals_the_later_one_comes_first():
    known = [Passage(name, "", "same words", 0) for name in ("one", "two", "three")]
    assert [one.source for one in ranked(known, "same words", 5)[0]] == ["three", "two", "one"]


def test_kept_entries_rank_as_the_index_in_memory_does():
    words, luck = [f"word{chr(97 + at)}" for at in range(26)], random.Random(7)
    texts = [" ".join(luck.choices(words, k=luck.randint(3, 40))) for _ in range(200)]
    index, counts = Index(), [terms(text) for text in texts]
    for one in counts:
        index.add(one)
    question = asked("wordc wordq wordz the")
    entries = {term: [part] for term, part in packed(enumerate(counts)).items()}
    mean = sum(sum(one.values()) for one in counts) / len(counts)
    assert scores(question, entries, len(texts), mean) == pytest.approx(index.scores(question))


@pytest.mark.parametrize("query", ["", " ", "?!", "\n", "\ud800"])
def test_a_question_without_a_word(query):
    with pytest.raises(ToolError, match="has no word in it"):
        check_query(query)


@pytest.mark.parametrize("title", ["", " ", "x" * 201, "a\0b", "a\u202eb"])
def test_no_title(title):
    with pytest.raises(ToolError, match="`title` must be"):
        check_title(title)


def test_a_title_is_one_line():
    assert check_title(" The\n guide ") == "The guide"
