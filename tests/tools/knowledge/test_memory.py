"""Remember things from one session to the next."""

import os

import pytest

from tests.host.models.embedding.served import REAL

TABS = {"action": "add", "content": "The user prefers tabs over spaces", "type": "semantic", "importance": 0.9}
SOUP = {"action": "add", "content": "Lunch was soup", "importance": 0.05}


def add(kit, *calls):
    for call in calls:
        assert kit.call("memory", call).ok


def test_a_life_of_a_memory(kit, ws):
    made = kit.call("memory", TABS)
    day = made.data["memory"]["created"][:10]
    assert made.text == f"Remembered m1 [semantic, importance 0.9, {day}] The user prefers tabs over spaces"
    assert made.data == {
        "done": "Remembered",
        "memory": {
            "id": "m1",
            "content": "The user prefers tabs over spaces",
            "type": "semantic",
            "importance": 0.9,
            "created": made.data["memory"]["created"],
            "updated": made.data["memory"]["created"],
            "score": None,
            "replaced_by": None,
        },
        "dropped": [],
        "promoted": [],
        "replaced": [],
    }
    changed = kit.call("memory", {"action": "update", "id": "m1", "content": "Spaces, after all", "importance": 1})
    assert changed.text.startswith("Updated m1 [semantic, importance 1, ")
    assert kit.call("memory", {**TABS, "content": "spaces, after all."}).text.startswith("Known already: m1 ")
    assert kit.call("memory", {"action": "remove", "id": "m1"}).text.startswith("Removed m1 [semantic, ")
    assert kit.call("memory", {"action": "summary"}).text == "There are no memories."
    assert (os.listdir(ws), kit.journal.entries()) == ([], [])


def test_search_says_what_it_ranks_by(kit):
    add(kit, TABS, SOUP)
    found = kit.call("memory", {"action": "search", "query": "indentation preference tabs"})
    assert [row["id"] for row in found.data["memories"]] == ["m1"]
    assert (found.data["total"], found.data["ranking"]) == (1, "words")
    assert found.text.split("\n")[1:] == [
        "Ranked by words alone: what is said in other words may be missed. "
        "To rank by meaning too, run `toolroll models fetch`."
    ]
    assert kit.call("memory", {"action": "search", "query": "soup", "type": "semantic"}).data["total"] == 0
    add(kit, {**SOUP, "content": "More soup"})
    assert "\n1 more: raise `limit`" in kit.call("memory", {"action": "search", "query": "soup", "limit": 1}).text
    assert kit.call("memory", {"action": "search", "query": "xyz"}).text.startswith(
        "No memory answers this. There are:\nm3 "
    )


def test_forget_and_summary(kit):
    add(kit, TABS, SOUP)
    gone = kit.call("memory", {"action": "forget"})
    assert (gone.data["forgotten"], gone.data["left"]) == (["m2"], 1)
    assert gone.text.startswith("Forgot 1 memory; 1 left.\nm2 [working, ")
    summary = kit.call("memory", {"action": "summary"})
    assert (summary.data["total"], summary.data["types"]["semantic"]) == (1, 1)
    assert "tabs over spaces" in summary.text
    assert "soup" not in summary.text
    for options, forgotten in (
        ({"strategy": "time"}, []),
        ({"strategy": "capacity"}, []),
        ({"strategy": "importance", "threshold": 0.9}, []),
        ({"strategy": "time", "days": 0, "type": "working"}, []),
        ({"strategy": "capacity", "limit": 1}, []),
        ({"strategy": "time", "days": 0}, ["m1"]),
    ):
        assert kit.call("memory", {"action": "forget", **options}).data["forgotten"] == forgotten
    assert kit.call("memory", {"action": "forget"}).text == "Forgot 0 memories; 0 left."


def test_consolidate(kit):
    assert kit.call("memory", {"action": "consolidate"}).text == "Nothing to consolidate."
    add(kit, SOUP, {**TABS, "type": "working"}, {**TABS, "type": "episodic", "importance": 0.1})
    made = kit.call("memory", {"action": "consolidate"})
    assert (made.data["promoted"], made.data["merged"]) == (["m2"], {"m3": "m2"})
    lines = made.text.split("\n")
    assert (lines[0], lines[2]) == ("Made 1 memory semantic, merged 1.", "m3 said the same as m2 and is gone.")
    assert lines[1].startswith("m2 [semantic, importance 0.9, ")
    assert kit.call("memory", {"action": "consolidate"}).data["promoted"] == []
    assert kit.call("memory", {"action": "consolidate", "threshold": 0}).data["promoted"] == ["m1"]


def test_working_memory_makes_room_and_says_so(kit):
    add(kit, SOUP, *({"action": "add", "content": f"step {number}"} for number in range(99)))
    made = kit.call("memory", {"action": "add", "content": "one more"})
    assert made.data["dropped"] == ["m1"]
    assert made.text.endswith("\nDropped m1: there were too many working memories.")
    assert kit.call("memory", {"action": "summary"}).data["total"] == 100


def test_what_is_important_is_not_dropped(kit):
    calls = [{"action": "add", "content": f"step {number}", "importance": 0.7} for number in range(101)]
    add(kit, *calls[:100])
    made = kit.call("memory", calls[100])
    assert (made.data["dropped"], made.data["promoted"]) == ([], ["m1"])
    assert made.text.endswith("\nMade m1 semantic, being important: there were too many working memories.")


def test_another_session_finds_it(open_kit):
    add(open_kit(session="one"), TABS)
    found = open_kit(session="two").call("memory", {"action": "search", "query": "tabs"})
    assert [row["content"] for row in found.data["memories"]] == [TABS["content"]]


BAD = [
    ({}, "ValidationError"),
    ({"action": "sing"}, "ValidationError"),
    ({"action": "add"}, "ValidationError"),
    ({"action": "add", "content": " "}, "ValidationError"),
    ({"action": "add", "content": "a\0"}, "ValidationError"),
    ({"action": "add", "content": "\ud800"}, "ValidationError"),
    ({"action": "add", "content": "x" * 4001}, "TooLarge"),
    ({"action": "add", "content": "a", "type": "poem"}, "ValidationError"),
    ({"action": "add", "content": "a", "importance": 1.1}, "ValidationError"),
    ({"action": "add", "content": "a", "importance": -1}, "ValidationError"),
    ({"action": "search"}, "ValidationError"),
    ({"action": "search", "query": " "}, "ValidationError"),
    ({"action": "search", "query": "a", "limit": 0}, "ValidationError"),
    ({"action": "update"}, "ValidationError"),
    ({"action": "update", "id": "m1"}, "ValidationError"),
    ({"action": "update", "id": "m1", "content": ""}, "ValidationError"),
    ({"action": "update", "id": "m1", "content": " "}, "ValidationError"),
    ({"action": "update", "id": "m9", "content": "a"}, "NotFound"),
    ({"action": "remove"}, "ValidationError"),
    ({"action": "remove", "id": "../m1"}, "ValidationError"),
    ({"action": "remove", "id": "m9"}, "NotFound"),
    ({"action": "forget", "strategy": "mood"}, "ValidationError"),
    ({"action": "forget", "threshold": 2}, "ValidationError"),
    ({"action": "forget", "strategy": "time", "days": -1}, "ValidationError"),
    ({"action": "forget", "strategy": "capacity", "limit": 0}, "ValidationError"),
    ({"action": "consolidate", "threshold": -0.1}, "ValidationError"),
]


@pytest.mark.parametrize(("arguments", "code"), BAD)
def test_bad_input_changes_nothing(kit, arguments, code):
    add(kit, TABS)
    before = kit.call("memory", {"action": "summary"}).data
    result = kit.call("memory", arguments)
    assert result.error.code == code, result.text
    assert kit.call("memory", {"action": "summary"}).data == before


def test_a_wrong_id_is_answered_with_a_call_that_shows_the_right_ones(kit):
    add(kit, TABS)
    suggestion = kit.call("memory", {"action": "remove", "id": "m7"}).error.suggest[0]
    assert [row["id"] for row in kit.call(suggestion.name, suggestion.arguments).data["memories"]] == ["m1"]


@REAL
def test_by_meaning(real_weights, open_kit):
    kit = open_kit()
    add(kit, TABS, SOUP)
    found = kit.call("memory", {"action": "search", "query": "what was eaten"})
    assert [row["id"] for row in found.data["memories"]] == ["m2"]
    assert (found.data["ranking"], found.text.split("\n")[-1]) == ("meaning and words", "Ranked by meaning and words.")


def test_a_contradiction_is_told(kit):
    kit.call("memory", {"action": "add", "content": "The port is 80"})
    made = kit.call("memory", {"action": "add", "content": "The port is 81"})
    assert "It contradicts m1 [working, importance 0.5, " in made.text
    assert made.text.endswith("replaced by m2] The port is 80, which is older: the newer one counts.")
