"""LangChain 1 agents with a scripted chat model."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.adapters.task import (
    ASK_ABOUT_NEW,
    DOT,
    SCRIPT,
    SLEEP,
    TEXTS,
    WRITE,
    cancel_when_started,
    count,
    is_cancelled,
    own_id,
    run_example,
)

pytest.importorskip("langchain", reason="make adapters installs langchain")

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import Field

from toolroll.adapters.langchain import tools

THREAD = {"configurable": {"thread_id": "1"}}


class Scripted(BaseChatModel):
    """Asks for the next step of its script, by how many results it was given."""

    script: list[Any]
    offered: list[Any] = Field(default_factory=list)
    seen: list[ToolMessage] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools, **_):
        self.offered = [convert_to_openai_tool(one)["function"] for one in tools]
        return self

    def _generate(self, messages, *_, **__):
        self.seen = [one for one in messages if isinstance(one, ToolMessage)]
        done, calls = len(self.seen), []
        if done < len(self.script):
            calls = [{"name": name, "args": args, "id": f"{done}"} for name, args in self.script[done]]
        message = AIMessage("" if calls else "Done.", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


def ask(kit, script, **more):
    model = Scripted(script=script)
    return model, create_agent(model, tools(kit), checkpointer=InMemorySaver(), **more)


def test_the_example_gives_the_model_text_images_and_errors():
    model = Scripted(script=SCRIPT)
    run_example("LangChain", model=model)
    text, image, error = model.seen
    assert (text.content, text.status, text.artifact["path"]) == (TEXTS[0], "success", "cart.py")
    assert image.content == [
        {"type": "text", "text": TEXTS[1]},
        {"type": "image", "base64": DOT, "mime_type": "image/png"},
    ]
    assert (error.content, error.status) == (TEXTS[2], "error")


def test_the_model_is_offered_the_schemas_of_the_kit(kit):
    model, agent = ask(kit, [])
    agent.invoke({"messages": "go"}, THREAD)
    assert model.offered == [one["function"] for one in kit.definitions("openai")]


@pytest.mark.parametrize(
    ("answer", "written"),
    [
        ({"decisions": [{"type": "approve"}]}, True),
        ({"decisions": [{"type": "reject"}]}, False),
        ("once", True),
        ("no", False),
    ],
)
def test_a_call_that_needs_approval_interrupts_the_graph(open_kit, ws, answer, written):
    model, agent = ask(open_kit(policy="ask"), [[WRITE]])
    (interrupt,) = agent.invoke({"messages": "go"}, THREAD)["__interrupt__"]
    (action,) = interrupt.value["action_requests"]
    assert (action["name"], action["args"]) == WRITE
    assert action["description"].startswith("write: needs approval\n\npath: new.txt")
    assert not (ws / "new.txt").exists()
    agent.invoke(Command(resume=answer), THREAD)
    assert (ws / "new.txt").exists() == written
    assert ("The user was asked and declined." in model.seen[0].content) != written


@pytest.mark.parametrize("wrap", [lambda one: {"decisions": [one]}, lambda one: one], ids=["decisions", "one decision"])
def test_the_model_reads_why_the_user_rejects_a_call(open_kit, ws, wrap):
    model, agent = ask(open_kit(policy="ask"), [[WRITE]])
    agent.invoke({"messages": "go"}, THREAD)
    agent.invoke(Command(resume=wrap({"type": "reject", "message": "Use old.txt."})), THREAD)
    assert "The user was asked and declined ('Use old.txt.')." in model.seen[0].content
    assert not (ws / "new.txt").exists()


def test_a_call_has_the_id_of_the_framework(kit):
    kit.register(own_id)
    model, agent = ask(kit, [[("own_id", {})], [("own_id", {})]])
    agent.invoke({"messages": "go"}, THREAD)
    asyncio.run(agent.ainvoke({"messages": "go"}, {"configurable": {"thread_id": "2"}}))
    assert [(one.tool_call_id, one.content) for one in model.seen] == [("0", "id 0"), ("1", "id 1")]


def test_a_graph_without_checkpointer_is_told_why_nobody_was_asked(open_kit, ws):
    model = Scripted(script=[[WRITE]])
    create_agent(model, tools(open_kit(policy="ask"))).invoke({"messages": "go"})
    assert "the graph has no checkpointer" in model.seen[0].content
    assert not (ws / "new.txt").exists()


def test_the_kits_own_approver_comes_first(open_kit, ws):
    _, agent = ask(open_kit(policy="ask", approve=lambda _: True), [[WRITE]])
    agent.invoke({"messages": "go"}, THREAD)
    assert (ws / "new.txt").exists()


def test_a_question_that_comes_up_in_the_call_is_asked_too(open_kit, ws):
    _, agent = ask(open_kit(policy=ASK_ABOUT_NEW), [[WRITE]])

    async def run():
        await agent.ainvoke({"messages": "go"}, THREAD)
        await agent.ainvoke(Command(resume=True), THREAD)

    asyncio.run(run())
    assert (ws / "new.txt").exists()


def test_cancelling_the_run_ends_the_command(kit, ws):
    _, agent = ask(kit, [[SLEEP]])

    asyncio.run(cancel_when_started(ws, lambda: agent.ainvoke({"messages": "go"}, THREAD)))
    assert is_cancelled(kit)


def test_progress_is_streamed(kit):
    kit.register(count)
    _, agent = ask(kit, [[("count", {})]])
    events = list(agent.stream({"messages": "go"}, THREAD, stream_mode="custom"))
    assert events == [{"tool": "count", "done": 1, "total": 2, "note": "half"}]
