from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from toolroll import Effect, ErrorCode, Kit, Token, tool
from toolroll.chains import Chain, Output, aparallel, parallel

Files = dict[str, str | bytes]
Put = Callable[[Files], None]


@tool(Effect.NONE)
def echo(value: Any = None, text: str = "") -> dict[str, Any]:
    """Give back what it gets."""
    return {"value": value, "text": text, "kind": type(value).__name__}


@pytest.fixture
def kit(open_kit: Callable[..., Kit]) -> Kit:
    made = open_kit()
    made.register(echo)
    return made


def test_each_step_gets_what_came_before(kit: Kit, put: Put, ws: Path) -> None:
    put({"a.txt": "one\ntwo\n"})
    chain = (
        Chain("file")
        .step("read", {"path": "{file}"}, output="text")
        .step("grep", {"pattern": "two", "path": "{file}"}, output="found")
        .step("write", {"path": "b.txt", "content": "{{text}} of {file}: {text.status}, {found.status}"})
    )  # fmt: skip
    done = chain.run(kit, {"file": "a.txt"})
    assert done.ok
    assert done.failed is None
    assert (ws / "b.txt").read_text() == "{text} of a.txt: success, success"
    assert done.text == done.results[-1].text
    assert done.outputs["text"].text == done.results[0].text


def test_a_reference_alone_keeps_its_type(kit: Kit) -> None:
    chain = (
        Chain("items")
        .step("echo", {"value": "{items}"}, output="all")
        .step("echo", {"value": Output("all", "data", "value", 1)}, output="second")
        .step(
            "echo",
            {
                "value": {"deep": ["{second.data.value.n}", "{all.data.kind}"]},
                "text": "n={second.data.value.n} {x y} {",
            },
        )
    )
    done = chain.run(kit, {"items": [1, {"n": 7}]})
    assert [one.data for one in done.results] == [
        {"value": [1, {"n": 7}], "text": "", "kind": "list"},
        {"value": {"n": 7}, "text": "", "kind": "dict"},
        {"value": {"deep": [7, "list"]}, "text": "n=7 {x y} {", "kind": "dict"},
    ]


def test_it_stops_at_the_first_error_and_says_where(kit: Kit, ws: Path) -> None:
    chain = (
        Chain()
        .step("time")
        .step("read", {"path": "none.txt"}, output="text")
        .step("write", {"path": "b", "content": "{text}"})
    )
    done = chain.run(kit)
    assert (done.ok, done.failed, len(done.results)) == (False, 2, 2)
    assert done.text.startswith("Step 2 of 3 (read) failed: ")
    assert "none.txt" in done.text
    assert not (ws / "b").exists()


def test_a_part_that_is_not_there_is_an_error_of_its_step(kit: Kit) -> None:
    chain = Chain().step("echo", {"value": [1]}, output="x")
    for part, why in (
        ("data.nothing", "There is: value, text, kind"),
        ("data.value.4", "there are 1"),
        ("data.kind.y", "it is str"),
    ):
        done = chain.step("echo", {"value": f"{{x.{part}}}"}).run(kit)
        assert done.failed == 2
        assert done.results[1].error is not None
        assert done.results[1].error.code is ErrorCode.NOT_FOUND
        assert why in done.text


WRONG = [
    (
        lambda: Chain().step("echo", {"value": "{text}"}),
        "Step 1 .echo. refers to '{text}', but no step before it gives 'text'. There are: none.",
    ),
    (
        lambda: Chain("a").step("echo", output="b").step("echo", {"value": ["x", {"y": "is {c.data}"}]}),
        "There are: a, b.",
    ),
    (lambda: Chain().step("echo", {"value": Output("c")}), "gives 'c'"),
    (lambda: Chain("a").step("echo", output="a"), "use a new, plain name"),
    (lambda: Chain().step("echo", output="a-b"), "use a new, plain name"),
]


@pytest.mark.parametrize(("make", "message"), WRONG)
def test_what_cannot_work_is_refused_before_anything_runs(make: Callable[[], Chain], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_a_missing_input_is_named(kit: Kit) -> None:
    with pytest.raises(ValueError, match="needs 'a', 'c'"):
        Chain("a", "b", "c").step("echo").run(kit, {"b": 1})


def test_a_chain_is_a_value(kit: Kit) -> None:
    first = Chain().step("echo", {"value": 1}, output="x")
    longer = first.step("echo", {"value": "{x.data.value}"})
    assert (len(first.steps), len(longer.steps)) == (1, 2)
    assert [one.data["value"] for one in longer.run(kit).results] == [1, 1]


def test_chains_for_coroutines(kit: Kit) -> None:
    chain = Chain("n").step("echo", {"value": "{n}"}, output="x").step("echo", {"value": "{x.data.value}"})
    assert asyncio.run(chain.arun(kit, {"n": 3})) .results[1].data["value"] == 3  # fmt: skip


@pytest.fixture
def slow(kit: Kit) -> list[int]:
    """How many ran at once, each time that one began."""
    lock, running, seen = threading.Lock(), [0], []

    @tool(Effect.NONE)
    def nap(ctx: Any, n: int = 0, seconds: float = 0.05) -> str:
        """Sleep."""
        with lock:
            running[0] += 1
            seen.append(running[0])
        try:
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                ctx.token.check()
                time.sleep(0.005)
        finally:
            with lock:
                running[0] -= 1
        return str(n)

    kit.register(nap)
    return seen


def naps(count: int, **more: Any) -> list[tuple[str, dict[str, Any]]]:
    # The later ones are the faster ones, so that the order cannot come from the time.
    return [("nap", {"n": n, "seconds": 0.06 - n * 0.01, **more}) for n in range(count)]


def test_side_by_side_in_order_and_bounded(kit: Kit, slow: list[int]) -> None:
    assert [one.text for one in parallel(kit, naps(5))] == ["0", "1", "2", "3", "4"]
    assert max(slow) > 1
    slow.clear()
    assert [one.text for one in parallel(kit, naps(5), most=2)] == ["0", "1", "2", "3", "4"]
    assert max(slow) == 2
    slow.clear()
    assert [one.text for one in asyncio.run(aparallel(kit, naps(5), most=2))] == ["0", "1", "2", "3", "4"]
    assert max(slow) == 2
    assert parallel(kit, []) == []


def test_errors_are_results_beside_the_others(kit: Kit, slow: list[int]) -> None:
    found = parallel(kit, [("nap", {"n": 1}), ("nope", {}), ("nap", "{broken")])
    assert [one.status for one in found] == ["success", "error", "error"]


@pytest.mark.parametrize("count", [1, 3])
def test_one_token_cancels_all(kit: Kit, slow: list[int], count: int) -> None:
    token = Token()
    threading.Timer(0.1, token.cancel).start()
    started = time.monotonic()
    found = parallel(kit, naps(count, seconds=90), token=token)
    assert {one.error.code for one in found if one.error} == {ErrorCode.CANCELLED}
    assert time.monotonic() - started < 45


def test_a_cancelled_task_cancels_its_calls(kit: Kit, slow: list[int]) -> None:
    async def run() -> None:
        task = asyncio.create_task(aparallel(kit, naps(2, seconds=90)))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    started = time.monotonic()
    asyncio.run(run())
    assert time.monotonic() - started < 45


def test_a_system_error_ends_the_others_and_is_raised(kit: Kit, slow: list[int]) -> None:
    @tool(Effect.NONE)
    def burst() -> str:
        """Break."""
        raise ZeroDivisionError

    kit.register(replace(burst, module="toolroll.tools.burst"))  # what goes wrong in ours is raised
    started = time.monotonic()
    with pytest.raises(ZeroDivisionError):
        parallel(kit, [("burst", {}), *naps(2, seconds=90)])
    assert time.monotonic() - started < 45
