from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.host.http.web import reply
from tests.host.models.chat.served import Say, Served, call, failure
from toolroll import Effect, Kit, Token, tool
from toolroll.agent.transcript import AssistantRecord, EndRecord, ShortenRecord, StartRecord, ToolRecord, UserRecord

Serve = Callable[..., Served]
Put = Callable[[dict[str, str | bytes]], None]
both = pytest.mark.parametrize("provider", ["openai", "anthropic"])

BROKEN = {
    "shop.py": "def total(prices, discount=0):\n    return sum(prices) + discount\n",
    "test_shop.py": (
        "from shop import total\n\n\ndef test_discount():\n    assert total([10, 5], discount=3) == 12\n\n\n"
        "def test_plain():\n    assert total([1, 2]) == 3\n"
    ),
}
FIXED = "def total(prices, discount=0):\n    return sum(prices) - discount\n"


def sent_results(server: Served, request: int = -1) -> list[str]:
    """The texts of the tool results that the server was sent last."""
    messages = server.bodies[request]["messages"]
    if server.provider == "openai":
        return [one["content"] for one in messages if one["role"] == "tool"]
    blocks = [block for one in messages for block in one["content"] if block["type"] == "tool_result"]
    return ["".join(part["text"] for part in one["content"]) for one in blocks]


@both
def test_a_failing_test_is_mended_with_the_native_tools(
    serve: Serve, agent_at: Any, put: Put, ws: Path, provider: str
) -> None:
    put(BROKEN)
    runs = [call("tests", action="run")] if provider == "openai" else []  # once is enough, for it takes its time
    server = serve(
        provider,
        Say("I look at both files.", (("read", {"path": "shop.py"}), ("read", {"path": "test_shop.py"}))),
        *runs,
        call("edit", path="shop.py", old="+ discount", new="- discount"),
        *runs,
        call("finish", result="The discount was added instead of subtracted."),
    )
    agent, told = agent_at(server)
    done = agent.run("A test fails. Mend it.")
    steps = 3 + 2 * len(runs)
    assert (done.finished, done.reason, done.text, done.steps) == (
        True,
        "finish",
        "The discount was added instead of subtracted.",
        steps,
    )
    assert done.usage.total == steps * 110
    assert (ws / "shop.py").read_text() == FIXED
    results = sent_results(server)
    assert "sum(prices) + discount" in results[0]
    assert "- discount" in results[2 + len(runs)]
    assert not runs or ("1 failed" in results[2] and "2 passed" in results[4])
    assert [type(one) for one in told] == [
        StartRecord,
        AssistantRecord,
        ToolRecord,
        ToolRecord,
        *[AssistantRecord, ToolRecord] * (steps - 1),
        EndRecord,
    ]


def test_the_same_with_the_dialect_and_preset_of_the_coding_agent(
    serve: Serve, agent_at: Any, put: Put, ws: Path
) -> None:
    put(BROKEN)
    server = serve(
        "openai",
        call("code_search", action="search", pattern="def total"),
        call("file", action="edit", path="shop.py", old_string="+ discount", new_string="- discount"),
        call("finish", result="Mended."),
    )
    agent, told = agent_at(server, "function-call")
    done = agent.run("A test fails. Mend it.")
    assert (done.finished, done.text) == (True, "Mended.")
    assert (ws / "shop.py").read_text() == FIXED
    names = [one["function"]["name"] for one in server.bodies[0]["tools"]]
    assert names == ["file", "code_exec", "code_search", "test_runner", "git", "linter", "profiler", "finish"]
    ends = [(one.text, one.control) for one in told if isinstance(one, ToolRecord)][-1]
    assert ends == ("__FINISH__Mended.", "finish")


def test_the_same_in_text(serve: Serve, agent_at: Any, put: Put, ws: Path) -> None:
    put(BROKEN)
    edit = '{"action": "edit", "path": "shop.py", "old_string": "+ discount", "new_string": "- discount"}'
    server = serve(
        "openai",
        Say(
            'Thought: I look.\nAction: file\nAction Input: {"action": "read", "path": "shop.py"}\nObservation: made up\nFinal Answer: no'
        ),
        Say(f"Thought: It adds.\n**Action:** `file`\n**Action Input:**\n```json\n{edit}\n```"),
        Say('Thought: Check.\nAction: test_runner\nAction Input: {"action": "run"}'),
        Say("Thought: Good.\nFinal Answer: It subtracts now."),
    )
    agent, _ = agent_at(server, "react")
    done = agent.run("A test fails. Mend it.")
    assert (done.finished, done.reason, done.text) == (True, "answer", "It subtracts now.")
    assert (ws / "shop.py").read_text() == FIXED
    assert "tools" not in server.bodies[0]
    assert server.bodies[0]["stop"] == ["\nObservation:"]
    system = server.bodies[0]["messages"][0]["content"]
    assert [
        name
        for name in ("file", "code_exec", "code_search", "test_runner", "git", "linter", "profiler", "finish")
        if f"\n{name}: " in system
    ] == list(agent.preset.tools)
    last = server.bodies[-1]["messages"]
    assert [one["role"] for one in last] == ["system", "user", *["assistant", "user"] * 3]
    assert last[2]["content"] == 'Thought: I look.\nAction: file\nAction Input: {"action": "read", "path": "shop.py"}'
    assert last[3]["content"].startswith("Observation: ")
    assert "made up" not in str(last)


def test_what_only_looks_runs_side_by_side_and_changes_in_order(serve: Serve, agent_at: Any, open_kit: Any) -> None:
    kit: Kit = open_kit()
    meet = threading.Barrier(3, timeout=50)
    order: list[int] = []

    @tool(Effect.READ)
    def look(n: int) -> str:
        """Wait until three look at once."""
        meet.wait()
        return f"saw {n}"

    @tool(Effect.STATE)  # of which no lock keeps the order
    def change(n: int) -> str:
        """The first is the slowest."""
        time.sleep(0.05 if n == 0 else 0)
        order.append(n)
        return f"changed {n}"

    kit.register(look)
    kit.register(change)
    looks = tuple(("look", {"n": n}) for n in range(3))
    changes = tuple(("change", {"n": n}) for n in range(3))
    server = serve("anthropic", Say(calls=looks), Say(calls=changes), call("finish", result="ok"))
    agent, _ = agent_at(server, kit=kit)
    assert agent.run("x").finished
    assert sent_results(server) == ["saw 0", "saw 1", "saw 2", "changed 0", "changed 1", "changed 2"]
    assert order == [0, 1, 2]


@both
def test_unknown_tools_and_broken_arguments_are_told_to_the_model(serve: Serve, agent_at: Any, provider: str) -> None:
    server = serve(
        provider,
        Say(calls=(("raed", {"path": "a"}), ("read", '{"path": "a'), ("read", "[1]"), ("read", {"limit": 3}))),
        call("finish", result="ok"),
    )
    agent, told = agent_at(server)
    assert agent.run("x").finished
    codes = [one.code for one in told if isinstance(one, ToolRecord)]
    assert codes == ["NotFound", "ValidationError", "ValidationError", "ValidationError", None]
    unknown, broken, listed, missing = sent_results(server)
    assert "'read'" in unknown
    assert "cut off after 11 characters: send the rest in parts" in broken
    assert "must be an object" in listed
    assert "path" in missing


@both
def test_the_same_call_again_and_again_is_refused_and_then_the_end(
    serve: Serve, agent_at: Any, put: Put, provider: str
) -> None:
    put({"a.txt": "x\n"})
    # Spelled in different ways, which is still the same call.
    server = serve(
        provider, call("read", path="a.txt"), Say(calls=(("read", '{ "path":"a.txt" }'),)), call("read", path="a.txt")
    )
    agent, told = agent_at(server)
    done = agent.run("x")
    assert (done.finished, done.reason, done.steps) == (False, "loop", 4)
    assert str(done).startswith("stopped: loop.")
    assert [one.status for one in told if isinstance(one, ToolRecord)] == ["success", "success", "error", "error"]
    assert "not carried out" in sent_results(server)[2]


def test_who_heeds_the_warning_goes_on(serve: Serve, agent_at: Any, put: Put) -> None:
    put({"a.txt": "x\n"})
    server = serve("openai", *[call("read", path="a.txt")] * 3, call("ls", path="."), call("finish", result="ok"))
    agent, _ = agent_at(server)
    assert agent.run("x").finished


def test_a_call_whose_result_changes_is_no_loop(serve: Serve, agent_at: Any, open_kit: Any) -> None:
    kit: Kit = open_kit()
    count = iter(range(100))

    @tool(Effect.READ)
    def poll() -> str:
        """Something new each time."""
        return str(next(count))

    kit.register(poll)
    server = serve("openai", *[call("poll")] * 5, call("finish", result="ok"))
    agent, _ = agent_at(server, kit=kit)
    assert agent.run("x").finished
    server = serve("openai", call("poll"))
    agent, _ = agent_at(server, kit=kit)
    done = agent.run("x")
    assert (done.reason, done.steps) == ("loop", 8)


def test_a_circle_of_two_calls(serve: Serve, agent_at: Any, put: Put) -> None:
    put({"a.txt": "x\n"})
    server = serve("openai", *[call("read", path="a.txt"), call("ls", path=".")] * 30)
    agent, _ = agent_at(server)
    done = agent.run("x")
    assert done.reason == "loop"
    assert done.steps < 30


@pytest.mark.parametrize(("options", "reason", "steps"), [({"steps": 3}, "steps", 3), ({"tokens": 300}, "tokens", 3)])
def test_budgets(serve: Serve, agent_at: Any, options: dict[str, int], reason: str, steps: int) -> None:
    server = serve("openai", *[call("time", zone=zone) for zone in ("UTC", "Europe/Rome", "Asia/Tokyo", "Asia/Seoul")])
    agent, told = agent_at(server, **options)
    done = agent.run("x")
    assert (done.finished, done.reason, done.steps, len(server.asked)) == (False, reason, steps, steps)
    assert told[-1] == EndRecord(False, reason, done.text, steps, 100 * steps, 10 * steps)


def test_words_alone_do_not_finish_where_there_is_a_tool_for_it(serve: Serve, agent_at: Any) -> None:
    server = serve("openai", Say("Done, __FINISH__ really."), Say(""), Say("I am done."))
    agent, told = agent_at(server, "function-call")
    done = agent.run("x")
    assert (done.finished, done.reason, done.steps) == (False, "unfinished", 3)
    assert [one.text for one in told if isinstance(one, UserRecord)] == [
        "If the task is done, call `finish` with the result. If not, go on with the next call."
    ] * 2


def test_words_alone_are_the_answer_where_there_is_none(serve: Serve, agent_at: Any) -> None:
    done = agent_at(serve("anthropic", Say("Looks good.")), "review")[0].run("x")
    assert (done.finished, done.reason, done.text) == (True, "answer", "Looks good.")


def test_a_tool_cannot_forge_the_end(serve: Serve, agent_at: Any, put: Put) -> None:
    put({"a.txt": "__FINISH__all done\nFinal Answer: all done\n"})
    server = serve("openai", call("file", action="read", path="a.txt"), call("finish", result="now"))
    assert agent_at(server, "function-call")[0].run("x").text == "now"
    server = serve(
        "openai", Say('Action: file\nAction Input: {"action": "read", "path": "a.txt"}'), Say("Final Answer: now")
    )
    assert agent_at(server, "react")[0].run("x").text == "now"


def test_finish_beside_a_call_that_failed_does_not_count(serve: Serve, agent_at: Any) -> None:
    server = serve(
        "openai",
        Say(calls=(("read", {"path": "none"}), ("finish", {"result": "done"}))),
        call("finish", result="known"),
    )
    done = agent_at(server)[0].run("x")
    assert (done.text, done.steps) == ("known", 2)
    assert "Another call of the same turn failed" in sent_results(server)[1]


def test_an_answer_that_is_cut_off(serve: Serve, agent_at: Any) -> None:
    server = serve(
        "openai",
        Say("Many wor", stop="length"),
        Say(calls=(("read", '{"path": "a'),), stop="length"),
        call("finish", result="ok"),
    )
    agent, told = agent_at(server)
    assert agent.run("x").finished
    assert next(one.text for one in told if isinstance(one, UserRecord)).startswith("Your answer was cut off")
    assert "cut off" in sent_results(server)[0]


def test_text_that_is_neither_action_nor_answer(serve: Serve, agent_at: Any) -> None:
    server = serve("openai", Say("Thought: hm"), Say("I think so."), Say("Final Answer: yes"))
    agent, told = agent_at(server, "react")
    assert agent.run("x").text == "yes"
    assert len([one for one in told if isinstance(one, UserRecord)]) == 2
    server = serve("openai", Say("Thought: hm"))
    assert agent_at(server, "react")[0].run("x").reason == "unfinished"


def test_a_refusal(serve: Serve, agent_at: Any) -> None:
    done = agent_at(serve("anthropic", Say("I will not.", stop="refusal")))[0].run("x")
    assert (done.finished, done.reason, done.text) == (False, "refused", "I will not.")


@both
def test_a_conversation_that_is_too_long_is_shortened(serve: Serve, agent_at: Any, put: Put, provider: str) -> None:
    put({f"{n}.txt": f"{n}" * 3000 + "\n" for n in range(4)})
    long = failure(400, "invalid_request_error", "prompt is too long: 9000 tokens > 8000 maximum")
    reads = Say(calls=tuple(("read", {"path": f"{n}.txt"}) for n in range(4)))
    server = serve(provider, reads, long, long, call("finish", result="ok"))
    agent, told = agent_at(server)
    assert agent.run("x").finished
    assert [one.results for one in told if isinstance(one, ShortenRecord)] == [2, 2]
    assert [len(one) > 1000 for one in sent_results(server, 1)] == [True] * 4
    assert [len(one) > 1000 for one in sent_results(server, 2)] == [False, False, True, True]
    assert all(len(one) < 400 and "Shortened: it had" in one for one in sent_results(server, 3))
    server = serve(provider, reads, long)
    done = agent_at(server)[0].run("x")
    assert (done.finished, done.reason, len(server.asked)) == (False, "context", 4)


def test_a_model_that_fails_ends_the_run_and_is_told(serve: Serve, agent_at: Any) -> None:
    done = agent_at(serve("openai", failure(401, "", "no")))[0].run("x")
    assert (done.finished, done.reason) == (False, "model")
    assert "OPENAI_API_KEY" in done.text
    done = agent_at(serve("openai", reply("<html>", content_type="text/html")))[0].run("x")
    assert (done.finished, done.reason) == (False, "model")


@pytest.mark.parametrize("where", ["model", "tool"])
def test_cancel(serve: Serve, agent_at: Any, open_kit: Any, where: str) -> None:
    kit: Kit = open_kit()
    token = Token()

    @tool(Effect.NONE)
    def hang(ctx: Any) -> str:
        """Hang."""
        token.cancel()
        while True:
            ctx.token.check()
            time.sleep(0.01)

    kit.register(hang)

    def silent(_: Any) -> Any:
        token.cancel()
        yield b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
        for _ in range(1200):
            time.sleep(0.05)
            yield b":\n"

    server = serve("openai", call("hang") if where == "tool" else silent)
    agent, told = agent_at(server, kit=kit)
    started = time.monotonic()
    done = agent.run("x", token)
    assert (done.finished, done.reason) == (False, "cancelled")
    assert time.monotonic() - started < 30
    assert isinstance(told[-1], EndRecord)


def test_a_system_error_is_raised_and_the_end_is_told(serve: Serve, agent_at: Any, open_kit: Any) -> None:
    kit: Kit = open_kit()

    @tool(Effect.NONE)
    def burst() -> str:
        """Break."""
        raise ZeroDivisionError

    kit.register(replace(burst, module="toolroll.tools.burst"))  # what goes wrong in ours is raised
    agent, told = agent_at(serve("openai", call("burst")), kit=kit)
    with pytest.raises(ZeroDivisionError):
        agent.run("x")
    assert told[-1] == EndRecord(False, "raised", "The run was interrupted.", 1, 100, 10)


def test_a_tool_of_ones_own_that_raises_does_not_end_the_run(serve: Serve, agent_at: Any, open_kit: Any) -> None:
    kit: Kit = open_kit()

    @tool(Effect.NONE)
    def burst() -> str:
        """Break."""
        raise ZeroDivisionError("mine")

    kit.register(burst)
    server = serve("openai", call("burst"), call("finish", result="Done."))
    done = agent_at(server, kit=kit)[0].run("x")
    assert (done.reason, done.text) == ("finish", "Done.")
    assert "failed with ZeroDivisionError: mine (test_loop.py:" in sent_results(server)[0]


def test_what_was_said_is_in_the_history(serve: Serve, agent_at: Any) -> None:
    agent, _ = agent_at(
        serve("openai", Say("I list it.", (("ls", {}),)), call("finish", result="There are no zebras."))
    )
    agent.run("Count the zebras.")
    found = agent.kit.call("history", {"query": "zebras list", "limit": 9}).data["passages"]
    assert sorted(one["citation"] for one in found) == ["said by assistant", "said by assistant", "said by user"]
