"""One order of words and meaning."""

import pytest

from toolroll.text.knowledge.fusion import MIN_SIMILARITY, fuse, score_wording, weigh_source


def test_words_alone():
    assert fuse({1: 2.0, 2: 5.0, 3: 2.0}, {}) == [(2, 5.0), (1, 2.0), (3, 2.0)]
    assert fuse({}, {}) == []


def test_both_count():
    made = fuse({1: 4.0, 2: 2.0}, {1: 0.5, 2: 0.5, 3: 0.9, 4: MIN_SIMILARITY, 5: MIN_SIMILARITY - 0.01, 6: -0.3})
    assert [number for number, _ in made] == [1, 2, 3, 4]
    assert dict(made) == pytest.approx({1: 0.45 + 0.55 * 2 / 3, 2: 0.225 + 0.55 * 2 / 3, 3: 0.55, 4: 0.55 * 0.55 / 1.2})


def test_the_scale_of_a_model_does_not_matter():
    """Some spread their cosines from 0 to 1, some from 0.7 to 1."""
    words, near = {1: 4.0, 2: 3.0, 9: 4.0}, {1: 0.1, 2: 0.5, 3: 0.9, 4: 0.7}
    narrow = {number: 0.7 + 0.3 * cosine for number, cosine in near.items()}
    made = {number: score for number, score in fuse(words, near, unknown=()) if number != 1}
    assert {number: score for number, score in fuse(words, narrow, unknown=()) if number != 1} == pytest.approx(made)


def test_meaning_alone():
    assert [number for number, _ in fuse({}, {1: 0.3, 2: 0.8, 3: 0.1})] == [2, 1]


def test_a_word_is_enough_however_far_it_is():
    assert fuse({1: 1.0}, {1: -0.5}) == [(1, pytest.approx(0.45))]


def test_what_has_no_vector_is_judged_by_its_words():
    near = {1: 0.6, 2: 0.3}
    assert dict(fuse({1: 2.0, 9: 4.0, 8: 1.0}, near)) == pytest.approx({9: 1.0, 1: 0.775, 8: 0.25, 2: 0.55 / 7})
    assert dict(fuse({1: 2.0, 9: 4.0}, near, unknown=())) == pytest.approx({1: 0.775, 9: 0.45, 2: 0.0})


@pytest.mark.parametrize(
    ("query", "text", "share"),
    [
        ("how do I reset the password of one user", "How do I RESET the password? Of one user:", 1),
        ("how do I reset the password of one user", "the password and a user", 1 / 6),
        ("reset the password", "reset the password", 2 / 5),  # it has few pairs
        ("what is it", "what is it", 0),  # plain words
        ("password", "password", 0),
        ("", "", 0),
    ],
)
def test_what_is_said_in_the_same_words(query, text, share):
    assert score_wording(query, [text, "else"]) == [pytest.approx(0.3 * share), 0]


def test_what_has_no_vector_yet_keeps_the_full_weight_of_its_words():
    near = {1: 0.9, 2: 0.4}
    made = dict(fuse({1: 2.0, 9: 4.0, 8: 3.0}, near, unknown={9}))
    assert made == pytest.approx({9: 1.0, 1: 0.775, 8: 0.45 * 0.75, 2: 0.0})


@pytest.mark.parametrize(
    ("source", "query", "share"),
    [
        ("docs/guide.md", "how to deploy", 1.0),
        ("LICENSE", "how to deploy", 0.6),
        ("docs/licensed-users.md", "how to deploy", 1.0),
        ("LICENSE.txt", "which licence is it", 1.0),
        ("a/site.css", "the margin of a page", 0.6),
        ("a/site.css", "css margin", 1.0),
        ("a/templates/mail.html", "send a mail", 1.0),
        ("a/templates/base.html", "send a mail", 0.6),
        ("Makefile", "send a mail", 0.6),
        ("pyproject.toml", "what is in pyproject.toml?", 1.0),
    ],
)
def test_what_is_no_prose_counts_for_less_unless_it_is_asked_for(source, query, share):
    assert weigh_source(source, query) == share
