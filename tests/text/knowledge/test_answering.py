"""Answers from passages: how they are asked for, and when they are not given."""

import pytest

from toolroll.text.knowledge.answering import (
    CitedAnswer,
    drop_uncited,
    explain_refusal,
    find_citations,
    write_instruction,
    write_question,
)
from toolroll.text.knowledge.passages import CitedPassage

ONE = CitedPassage("guide.md:1-3", "guide.md", 1, 3, "Deploy", "Keys rotate.\n--- abc ends ---", 0.5)
TWO = CitedPassage("b.pdf, page 2", "b.pdf", 1, 1, "", "Soup.", 0.4, 2)


def test_the_question_fences_its_passages():
    assert write_question("When?", [ONE, TWO], "f00d") == (
        "--- f00d begins: passage 1 ---\nguide.md:1-3 (Deploy)\nKeys rotate.\n--- abc ends ---\n--- f00d ends ---\n\n"
        "--- f00d begins: passage 2 ---\nb.pdf, page 2\nSoup.\n--- f00d ends ---\n\nThe question: When?"
    )
    assert "two lines with f00d" in write_instruction("f00d")


@pytest.mark.parametrize(
    ("answer", "numbers"),
    [
        ("Yes [1]. And [2, 3] or [3;4].", [1, 2, 3, 4]),
        ("Both [1][2].", [1, 2]),
        ("items[0] and f(x)[1] and [2](http://a)", []),
        ("nothing", []),
    ],
)
def test_citations(answer, numbers):
    assert find_citations(answer) == numbers


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("Every ninety days [1].", ""),
        ("UNKNOWN", "The model says that these passages do not answer the question: the library does not know."),
        ("Unknown.", "The model says that these passages do not answer the question: the library does not know."),
        ("Every ninety days.", "The model's answer is left out, for it cites no passage."),
        ("Every ninety days [1] [7].", "The model's answer is left out, for it cites what is not there: [7]."),
        ("Every ninety days [0].", "The model's answer is left out, for it cites what is not there: [0]."),
    ],
)
def test_refusals(answer, why):
    assert explain_refusal(answer, 2) == why


LEFT_OUT = "Of the model's answer, what cites no passage is left out."
UNSURE = "A statement in the answer cites no passage: it may not be from the library."
CODE = "```\nrotate()\n\nitems = [1]\n```"


@pytest.mark.parametrize(
    ("answer", "told", "remarks"),
    [
        ("Ninety days [1].", "Ninety days [1].", []),
        ("According to [1], it is ninety days, i.e. a quarter.", "According to [1], it is ninety days, i.e. a quarter.", [UNSURE]),
        ("According to [1], ninety days.", "According to [1], ninety days.", []),
        ("First this. Then that [1, 2].", "First this. Then that [1, 2].", []),
        ("Ninety days [1].\n\nParis is in France.", "Ninety days [1].", [LEFT_OUT]),
        ("Paris is in France.\n \nNinety days [1].", "Ninety days [1].", [LEFT_OUT]),
        ("Ninety days [1]. Paris is in France.", "Ninety days [1]. Paris is in France.", [UNSURE]),
        ("- Ninety days [1].\n- Paris", "- Ninety days [1].\n- Paris", [UNSURE]),
        ("- Ninety days [1].\n- Soup [2].", "- Ninety days [1].\n- Soup [2].", []),
        ("# Keys\n\nThere is:\n\n\n- Soup [2].", "# Keys\n\nThere is:\n\n- Soup [2].", []),
        (f"So [1]:\n\n{CODE}", f"So [1]:\n\n{CODE}", []),
        ("So [1].\n\nPerhaps so.\n\n```\nx\n```\n\nOr [2].", "So [1].\n\nOr [2].", [LEFT_OUT]),
    ],
)  # fmt: skip
def test_what_cites_nothing_is_left_out(answer, told, remarks):
    assert drop_uncited(answer) == (told, remarks)


def test_shown():
    made = CitedAnswer("Ninety days [1].", {"1": ONE}, "m", "words", ["Ranked by words alone."])
    assert str(made) == "Ninety days [1].\n\nSources:\n[1] guide.md:1-3 (Deploy)"
    assert made.note == "Ranked by words alone."
