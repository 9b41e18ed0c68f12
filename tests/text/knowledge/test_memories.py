"""Which memories answer a question, which go, and which become one."""

from dataclasses import replace

import pytest

from toolroll import ToolError
from toolroll.text.knowledge.memories import (
    MAX_WORKING,
    EvictionPlan,
    Memory,
    MemoryRow,
    MemorySummary,
    MergePlan,
    check_content,
    check_id,
    choose_forgotten,
    list_memories,
    normalise_content,
    plan_eviction,
    plan_merge,
    rank,
    recency,
    show_memory,
    summarise,
    worth,
)

DAY = 86400
NOW = 1_700_000_000.0


def memory(number, content="text", type="semantic", importance=0.5, days=0.0):
    return Memory(number, content, type, importance, NOW - days * DAY, NOW - days * DAY)


def numbers(memories):
    return [one.number for one in memories]


QUESTIONS = [
    # contents, question, numbers of those that answer it, the best first
    (["Prefers tabs over spaces", "Lunch was soup"], "indentation preference tabs", [1]),
    (["Port is 8080", "Port is 8081"], "8081", [2]),
    (["Likes C", "Likes Go"], "C", [1]),
    (["the cat", "a dog"], "the", [1]),
    (["Deploys run at night", "The deploy key is in the vault"], "deploy key", [2, 1]),
    (["call parseURL first", "nothing"], "parse url", [1]),
    (["call parse_url first", "nothing"], "parseURL", [1]),
    (["call PARSE_URL first", "nothing"], "parseurl", [1]),
    (["a_1", "Stra\u00dfe"], "a_1", [1]),
    (["_", "\u1e9e"], "_", []),
    (["a", "STRA\u1e9eE"], "stra\u00dfe", [2]),
    (["\u6771\u4eac\u306b\u4f4f\u3093\u3067\u3044\u308b", "soup"], "\u6771\u4eac", [1]),
    (["caf\u00e9 at noon", "soup"], "cafe\u0301", [1]),
    (["caf\u00e9 at noon", "soup"], "CAFE", [1]),
    (["error in the build", "the build is green"], "build error", [1, 2]),
    (["one"], "other", []),
    (["one"], "?!", []),
    ([], "one", []),
]


@pytest.mark.parametrize(("contents", "query", "answers"), QUESTIONS)
def test_a_question_by_its_words(contents, query, answers):
    memories = [memory(number, content) for number, content in enumerate(contents, 1)]
    assert numbers(one for one, _ in rank(memories, query, NOW)) == answers


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"importance": 0.9}, {"importance": 0.1}),
        ({"days": 1}, {"days": 300}),
        ({"type": "semantic", "days": 5}, {"type": "working", "days": 5}),
        ({"type": "episodic", "days": 5}, {"type": "perceptual", "days": 5}),
    ],
)
def test_of_two_that_answer_alike_the_important_the_fresh_and_the_lasting_come_first(first, second):
    for one, other in ((1, 2), (2, 1)):
        memories = [memory(one, "tabs", **first), memory(other, "tabs", **second)]
        assert numbers(found for found, _ in rank(memories, "tabs", NOW)) == [one, other]


def test_what_answers_better_comes_before_what_is_important():
    memories = [memory(1, "soup is important", importance=1.0), memory(2, "deploy key of the vault", importance=0.0)]
    assert numbers(one for one, _ in rank(memories, "soup vault deploy key", NOW)) == [2, 1]


def test_vectors_find_what_words_do_not():
    memories = [memory(1, "automobile"), memory(2, "car park"), memory(3, "soup"), memory(4, "tea")]
    assert numbers(one for one, _ in rank(memories, "car", NOW)) == [2]
    likeness = {1: 0.9, 2: 0.3, 3: 0.24, 4: -0.5}
    assert rank(memories, "car", NOW, likeness) == [(memories[1], 0.5571), (memories[0], 0.3857)]


def test_how_fresh_and_what_worth():
    assert [recency(memory(1, type=type, days=30), NOW) for type in ("episodic", "semantic")] == [
        0.5,
        pytest.approx(0.945, abs=0.001),
    ]
    assert recency(memory(1, days=-5), NOW) == 1.0
    assert worth(memory(1, type="working", importance=1.0, days=1), NOW) == pytest.approx(0.85)


KEPT = [
    memory(1, importance=0.05, days=1),
    memory(2, importance=0.1, days=40),
    memory(3, importance=0.9, days=30),
    memory(4, importance=0.5),
]


@pytest.mark.parametrize(
    ("strategy", "options", "gone"),
    [
        ("importance", {"threshold": 0.1}, [1]),
        ("importance", {"threshold": 0.0}, []),
        ("importance", {"threshold": 1.0}, [1, 2, 3, 4]),
        ("time", {"days": 30}, [2, 3]),
        ("time", {"days": 365}, []),
        ("time", {"days": 0}, [1, 2, 3, 4]),
        ("capacity", {"keep": 2}, [1, 2]),
        ("capacity", {"keep": 4}, []),
        ("capacity", {"keep": 1}, [1, 2, 4]),
    ],
)
def test_forgetting(strategy, options, gone):
    given = {"threshold": 0.1, "days": 30, "keep": 1000} | options
    assert numbers(choose_forgotten(KEPT, strategy, NOW, **given)) == gone


def test_too_many_working_memories():
    working = [memory(number, type="working", importance=0.5) for number in range(1, MAX_WORKING + 1)]
    others = [memory(1000 + number) for number in range(50)]
    assert plan_eviction([*working, *others], 1, NOW) == EvictionPlan()
    dull, old = memory(201, type="working", importance=0.1), memory(202, type="working", importance=0.7, days=9)
    assert plan_eviction([*working, dull, old], 1, NOW) == EvictionPlan([dull], [replace(old, type="semantic")])
    assert plan_eviction([*working, dull], dull.number, NOW) == EvictionPlan([working[0]], [])


def test_what_is_important_lasts():
    memories = [
        memory(1, "a", "working", 0.7),
        memory(2, "b", "episodic", 0.9),
        memory(3, "c", "working", 0.69),
        memory(4, "d", "perceptual", 1.0),
        memory(5, "e", "semantic", 1.0),
    ]
    promoted = [replace(memories[0], type="semantic"), replace(memories[1], type="semantic")]
    assert plan_merge(memories, 0.7, None) == MergePlan(promoted, promoted, {})
    assert numbers(plan_merge(memories, 0.7, "episodic").promoted) == [2]
    assert numbers(plan_merge(memories, 0.7, "perceptual").promoted) == [4]
    assert plan_merge(memories, 0.7, "semantic") == MergePlan()
    assert numbers(plan_merge(memories, 0.0, None).promoted) == [1, 2, 3]


def test_what_says_the_same_becomes_one():
    memories = [
        memory(1, "Use tabs.", "working", 0.9, days=3),
        memory(2, "use  tabs", "semantic", 0.2, days=9),
        memory(3, "USE TABS", "episodic", 0.3, days=1),
        memory(4, "do not use tabs", "working", 0.1),
        memory(5, "x", "working", 0.1, days=2),
        memory(6, "x", "working", 0.2, days=1),
    ]
    tabs = Memory(2, "use  tabs", "semantic", 0.9, NOW - 9 * DAY, NOW - DAY)
    other = Memory(5, "x", "working", 0.2, NOW - 2 * DAY, NOW - DAY)
    assert plan_merge(memories, 0.7, None) == MergePlan([tabs, other], [], {1: 2, 3: 2, 6: 5})


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("Use tabs.", " use\n TABS ", True),
        ("use tabs", "do not use tabs", False),
        ("x > 3", "x < 3", False),
        ("port 8080", "port 8081", False),
        ("C", "C++", False),
        ("is it?", "is it", False),
    ],
)
def test_what_says_the_same(one, other, alike):
    assert (normalise_content(one) == normalise_content(other)) is alike


def test_a_summary():
    assert summarise([], NOW, 10) == MemorySummary(
        0, dict.fromkeys(("working", "episodic", "semantic", "perceptual"), 0), "", "", []
    )
    assert str(summarise([], NOW, 10)) == "There are no memories."
    made = summarise(
        [
            memory(1, "tabs", importance=0.9),
            memory(2, "x " * 200, "working", 0.1, 2),
            memory(3, "y", "working", 0.0, 3),
        ],
        NOW,
        2,
    )
    assert (made.total, made.types["working"], len(made.memories)) == (3, 2, 2)
    assert str(made) == (
        "3 memories: 2 working, 1 semantic. From 2023-11-11 to 2023-11-14. What matters most:\n"
        "m1 [semantic, importance 0.9, 2023-11-14] tabs\n"
        f"m2 [working, importance 0.1, 2023-11-12] {('x ' * 200)[:197]}..."
    )  # fmt: skip


def test_what_is_shown():
    shown = show_memory(memory(7, "a\nb"), 0.5)
    assert shown == MemoryRow("m7", "a\nb", "semantic", 0.5, "2023-11-14T22:13:20Z", "2023-11-14T22:13:20Z", 0.5)
    assert str(shown) == "m7 [semantic, importance 0.5, 2023-11-14] a\n    b"
    assert shown.brief == "m7 [semantic, importance 0.5, 2023-11-14] a b"
    many = list_memories([memory(number) for number in range(25)])
    assert (len(many), many[-1]) == (21, "and 5 more")


@pytest.mark.parametrize(("id", "number"), [("m12", 12), ("M12", 12), ("12", 12), (" m1 ", 1)])
def test_an_id(id, number):
    assert check_id(id) == number


@pytest.mark.parametrize("id", ["", "m", "x1", "m-1", "m1.5", "m" + "9" * 30, "m1; drop", "\u0661", "../m1"])
def test_no_id(id):
    with pytest.raises(ToolError, match="Ids look like 'm12'") as caught:
        check_id(id)
    assert caught.value.code == "ValidationError"


@pytest.mark.parametrize(
    ("content", "code"), [("", "ValidationError"), (" \n", "ValidationError"), ("a\0b", "ValidationError"), ("x" * 4001, "TooLarge")]
)  # fmt: skip
def test_no_content(content, code):
    with pytest.raises(ToolError) as caught:
        check_content(content)
    assert caught.value.code == code


def test_content_is_trimmed():
    assert check_content("  a b\n") == "a b"
    assert check_content("x" * 4000) == "x" * 4000
