"""Which words of a question a library lacks, and whether a passage has the others."""

import pytest

from toolroll.text.knowledge.evidence import find_unknown, list_terms

KNOWN = {"deploy", "deployment", "server", "key", "caches"}


@pytest.mark.parametrize(
    ("query", "unknown", "doubtful"),
    [
        ("how do I deploy the server", [], False),
        ("deploying servers", [], False),
        ("is it cached", [], False),
        ("knit a scarf", ["knit", "scarf"], True),
        ("deploy a server key with helm", ["helm"], False),
        ("deploy with helm", ["helm"], True),
        ("what is it", [], False),
    ],
)
def test_unknown_words(query, unknown, doubtful):
    asked = find_unknown(query, KNOWN)
    assert (asked.unknown, asked.doubtful) == (unknown, doubtful)


def test_a_passage_with_most_of_the_words_answers_all_the_same():
    asked = find_unknown("rotate the deployment key of helm", KNOWN)
    assert asked.words == ["rotate", "deployment", "key", "helm"]
    assert asked.covered_by("Rotate keys after a deployment.")
    assert not asked.covered_by("The key of a deployment.")


def test_all_forms_are_looked_up():
    assert {"key", "keys"} <= set(list_terms("the keys"))
