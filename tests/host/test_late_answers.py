"""A call that only reads answers a model in time, and the next one gets the rest."""

from dataclasses import dataclass

import pytest

from toolroll import Context, Effect, tool


@dataclass
class Counted:
    number: int
    status: str = "success"

    def __str__(self) -> str:
        return f"Counted to {self.number}."


@tool(Effect.READ)
def count(ctx: Context, to: int) -> Counted:
    """Count, a hundred in a second."""
    import threading

    number = 0
    while number < to and ctx.token.remaining() > 0.1:
        threading.Event().wait(0.01)
        number += 1
    return Counted(number, "success" if number == to else "partial")


@tool(Effect.READ)
def look(ctx: Context, seconds: float) -> str:
    """Look for so long, without a part of an answer."""
    import threading

    for _ in range(round(seconds / 0.01)):
        threading.Event().wait(0.01)
        ctx.token.check()
    return "Looked."


@tool(Effect.WRITE)
def change(ctx: Context) -> str:
    """Change what was looked at."""
    return ctx.session and "Changed."


@pytest.fixture
def slow_kit(open_kit):
    kit = open_kit(limits={"answer_seconds": 0.3})
    for one in (count, look, change):
        kit.register(one)
    return kit


def ask_again(kit, name, arguments):
    """The answer that was worked out in the background."""
    for _ in range(200):
        result = kit.call(name, arguments)
        if result.status == "success":
            return result
    raise AssertionError(result.text)


def test_a_part_is_given_in_time_and_all_of_it_at_the_next_call(slow_kit):
    first = slow_kit.call("count", {"to": 60})
    assert first.status == "partial"
    assert 0 < first.data["number"] < 60
    assert "The rest is worked out in the background: the same call again gives all of it." in first.text
    assert ask_again(slow_kit, "count", {"to": 60}).text.startswith("Counted to 60.\n[Worked out in the background")


def test_without_a_part_it_says_that_the_answer_comes(slow_kit):
    first = slow_kit.call("look", {"seconds": 0.8})
    assert first.error.code == "TimeoutError"
    assert "make the same call again to get it" in first.text
    assert ask_again(slow_kit, "look", {"seconds": 0.8}).text.startswith("Looked.")


def test_an_answer_from_before_a_change_is_not_given(slow_kit):
    assert slow_kit.call("count", {"to": 60}).status == "partial"
    assert slow_kit.call("change", {}).ok
    assert slow_kit.call("count", {"to": 60}).status == "partial"


def test_a_program_gets_all_of_it_at_once(slow_kit):
    assert slow_kit.call("count", {"to": 60}, whole=True).data["number"] == 60


def test_closing_ends_the_work(slow_kit):
    assert not slow_kit.call("look", {"seconds": 600}).ok
    slow_kit.close()
