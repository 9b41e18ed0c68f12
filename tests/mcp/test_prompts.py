"""The prompts as clients list and get them."""

import pytest

from tests.values import assert_values
from toolroll.mcp import prompts as module
from toolroll.mcp.backend import UnknownItemError
from toolroll.mcp.prompts import PROMPTS, Prompt, PromptArgument, find_prompt

TWO = Prompt(
    "two",
    "Two",
    "About two.",
    "{first} and {second}",
    (PromptArgument("first", "One."), PromptArgument("second", "", "2")),
)


def text_of(result):
    (message,) = result["messages"]
    assert (message["role"], message["content"]["type"]) == ("user", "text")
    return message["content"]["text"]


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: prompt.name)
def test_every_prompt_can_be_filled_in(prompt):
    given = {one.name: f"<{one.name}>" for one in prompt.arguments}
    filled = find_prompt(prompt.name).fill(given)
    text = text_of(filled)
    assert [value for value in given.values() if value not in text] == []
    assert "{" not in text
    assert filled["description"] == prompt.about


def test_a_prompt_as_it_is_listed():
    assert TWO.to_list_item() == {
        "name": "two",
        "title": "Two",
        "description": "About two.",
        "arguments": [
            {"name": "first", "description": "One.", "required": True},
            {"name": "second", "description": "", "required": False},
        ],
    }


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"first": "a"}, "a and 2"),
        ({"first": "a", "second": ""}, "a and 2"),
        ({"first": "a", "second": "b"}, "a and b"),
        ({"first": "{second}"}, "{second} and 2"),
    ],
)
def test_defaults_stand_for_what_is_not_given(given, text):
    assert text_of(TWO.fill(given)) == text


def test_prompts_that_cannot_be_filled_in():
    with pytest.raises(UnknownItemError, match=r"^There is no prompt 'x'. There are: fix-tests,"):
        find_prompt("x")
    with pytest.raises(ValueError, match=r"^Prompt 'two' needs the argument 'first': One.$"):
        TWO.fill({"second": "x"})
    with pytest.raises(ValueError, match=r"^Prompt 'two' has no argument 'third'. There are: first, second.$"):
        TWO.fill({"first": "x", "third": "y"})
    with pytest.raises(ValueError, match=r"has no argument 'x'. There are: none.$"):
        Prompt("none", "", "", "").fill({"x": "y"})


def test_paths_are_completed_for_arguments_that_are_paths():
    paths = {prompt.name: [one.name for one in prompt.arguments if one.path] for prompt in PROMPTS}
    assert {name: found for name, found in paths.items() if found} == {"fix-tests": ["target"], "explain": ["path"]}


def test_values_stay_as_they_are():
    assert_values(module)
