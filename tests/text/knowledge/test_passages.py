"""Ranking and citing passages."""

import random

import pytest

from toolroll import ToolError
from toolroll.text.knowledge.passages import (
    Bm25,
    Hits,
    Passage,
    RankingMethod,
    check_query,
    check_title,
    count_terms,
    pack_entries,
    score_passages,
    show_hits,
    weigh_query,
)
from toolroll.text.ranking.bm25 import Bm25Index


@pytest.mark.parametrize(
    ("passage", "citation"),
    [
        (Passage("a.md", "", "x", 0, 3, 9), "a.md:3-9"),
        (Passage("a.md", "", "x", 0, 3, 3), "a.md:3"),
        (Passage("a.html", "", "x", 0, 3, 9, form="html"), "a.html:3-9 of its text"),
        (Passage("call 7", "", "x", 0), "call 7"),
        (Passage("a.pdf", "", "x", 0, 1, 9, form="pdf", page=3), "a.pdf p. 3"),
        (Passage("a.xlsx", "", "x", 0, 1, 9, form="sheet", page=2), "a.xlsx sheet 2"),
        (Passage("a.xlsx", "In > out > | name |", "x", 0, 1, 9, form="sheet", page=2), "a.xlsx sheet In > out"),
        (Passage("a.ipynb", "Setup", "x", 0, 1, 9, form="notebook", page=4), "a.ipynb cell 4"),
        (Passage("a.epub", "Dawn", "x", 0, 1, 9, form="word", page=2), "a.epub part 2"),
        (Passage("a.png", "", "x", 0, 1, 2, form="image", page=1), "a.png:1-2 of its text"),
        (Passage("a.pptx", "", "x", 0, form="slides", page=4), "a.pptx slide 4"),
    ],
)
def test_a_citation(passage, citation):
    assert passage.citation == citation


def test_shown():
    best = [Passage("a.md", "A > B", "one", 2.5, 1, 2), Passage("b.md", "", "two", 1, 4, 4)]
    made = show_hits(Hits(best, 5, RankingMethod(reason="why.")), lead="Lead.", more=["More."])
    assert str(made) == "Lead.\n\n[1] a.md:1-2 (A > B)\none\n\n[2] b.md:4\ntwo"
    assert (made.ranking, made.note) == ("words", "3 more: raise `limit`.\nMore.\nRanked by words alone: why.")
    assert str(show_hits(Hits([], 0))) == "No passage answers this."


@pytest.mark.parametrize(
    ("ranking", "note"),
    [
        (RankingMethod(), "Ranked by words alone."),
        (RankingMethod(reason="why."), "Ranked by words alone: why."),
        (RankingMethod("meaning and words"), "Ranked by meaning and words."),
        (RankingMethod("meaning and words", "2 wait."), "Ranked by meaning and words: 2 wait."),
    ],
)
def test_a_ranking_in_words(ranking, note):
    assert ranking.note == note


def test_terms_and_numbers():
    assert count_terms("parseURL v2, 42 x") == {"parse": 1, "url": 1, "parseurl": 1, "v2": 1, "42": 1, "x": 1}
    assert "deployment" in weigh_query("deployments")
    assert count_terms("Café STRA\u00dfE cafe\u0301 が") == {"café": 2, "cafe": 2, "straße": 1, "strasse": 1, "が": 1}


def test_words_of_any_sentence_find_nothing_alone():
    known = [Passage("a", "", "the cat sat on the mat", 0), Passage("b", "", "the dog is in the house", 0)]
    assert score_passages(known, "where is the cat").keys() == {0}
    assert score_passages(known, "zebra") == {}
    assert score_passages(known, "the").keys() == {0, 1}


def test_kept_entries_rank_as_the_index_in_memory_does():
    words, luck = [f"word{chr(97 + at)}" for at in range(26)], random.Random(7)
    texts = [" ".join(luck.choices(words, k=luck.randint(3, 40))) for _ in range(200)]
    index, counts = Bm25Index(), [count_terms(text) for text in texts]
    for one in counts:
        index.add(one)
    question = weigh_query("wordc wordq wordz the")
    entries = {term: part.tobytes() for term, part in pack_entries(enumerate(counts, 1000)).items()}
    ranking = Bm25(len(texts), sum(sum(one.values()) for one in counts) / len(counts))
    made = ranking.scores(question, entries)
    assert made == pytest.approx({at + 1000: score for at, score in index.scores(question).items()})


def test_plain_words_only_add_to_what_others_found():
    texts = ["the cat", "the dog", "a cat and the dog"]
    entries = {term: part.tobytes() for term, part in pack_entries(enumerate(map(count_terms, texts))).items()}
    ranking = Bm25(10, 3)
    made = ranking.scores(weigh_query("the cat"), entries)
    assert sorted(made) == [0, 2]
    assert made[0] > ranking.scores(weigh_query("cat"), entries)[0]


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
