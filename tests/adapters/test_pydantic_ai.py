"""pydantic-ai agents with a function model."""

from __future__ import annotations

import asyncio

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
    run_example,
)
from toolroll import Policy

pytest.importorskip("pydantic_ai", reason="make adapters installs pydantic-ai")

from pydantic_ai import Agent, BinaryContent, DeferredToolRequests, DeferredToolResults, ToolDenied
from pydantic_ai.capabilities import HandleDeferredToolCalls
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

from toolroll.adapters.pydantic_ai import ToolProgressEvent, toolset


class Scripted(FunctionModel):
    """Asks for the next step of its script, by how many results it was given."""

    def __init__(self, script):
        super().__init__(self.answer, stream_function=self.stream)
        self.script = script
        self.seen = []
        self.offered = []

    def answer(self, messages, info):
        parts = [part for message in messages for part in message.parts]
        self.seen = [part for part in parts if isinstance(part, ToolReturnPart)]
        self.offered = info.function_tools
        if len(self.seen) >= len(self.script):
            return ModelResponse([TextPart("Done.")])
        return ModelResponse([ToolCallPart(name, args) for name, args in self.script[len(self.seen)]])

    async def stream(self, messages, info):
        (part,) = self.answer(messages, info).parts
        if isinstance(part, TextPart):
            yield part.content
        else:
            yield {0: DeltaToolCall(part.tool_name, part.args_as_json_str(), tool_call_id=part.tool_call_id)}


def ask(kit, script):
    model = Scripted(script)
    return model, Agent(model, toolsets=[toolset(kit)], output_type=[str, DeferredToolRequests])


def answer(agent, asked, approval):
    ((call),) = asked.output.approvals
    given = DeferredToolResults(approvals={call.tool_call_id: approval})
    return agent.run_sync(message_history=asked.all_messages(), deferred_tool_results=given)


def test_the_example_gives_the_model_text_images_and_errors():
    model = Scripted(SCRIPT)
    made = run_example("pydantic-ai", model=model)
    text, image, error = model.seen
    assert (text.content, text.outcome, text.metadata["path"]) == (TEXTS[0], "success", "cart.py")
    said, dot = image.content
    assert (said, type(dot), dot.base64, dot.media_type) == (TEXTS[1], BinaryContent, DOT, "image/png")
    assert (error.content, error.outcome) == (TEXTS[2], "failed")
    assert made["result"].output == "Done."


def test_the_model_is_offered_the_schemas_of_the_kit(kit):
    model, agent = ask(kit, [])
    agent.run_sync("go")
    wanted = [one["function"] for one in kit.definitions("openai")]
    assert [(one.name, one.description, one.parameters_json_schema) for one in model.offered] == [
        (one["name"], one["description"], one["parameters"]) for one in wanted
    ]


@pytest.mark.parametrize(("approval", "written"), [(True, True), (ToolDenied("Not now."), False)])
@pytest.mark.parametrize("policy", ["ask", ASK_ABOUT_NEW], ids=["ask", "late"])
def test_a_call_that_needs_approval_is_deferred(open_kit, ws, policy, approval, written):
    model, agent = ask(open_kit(policy=policy), [[WRITE]])
    asked = agent.run_sync("go")
    ((call),) = asked.output.approvals
    assert (call.tool_name, call.args) == WRITE
    assert asked.output.metadata[call.tool_call_id]["question"].startswith("write: needs approval")
    assert not (ws / "new.txt").exists()
    assert answer(agent, asked, approval).output == "Done."
    assert (ws / "new.txt").exists() == written
    assert model.seen[0].content.startswith("Created new.txt" if written else "Not now.")


def test_an_approval_covers_no_question_that_another_conversation_was_shown(open_kit, ws):
    _, agent = ask(open_kit(policy=Policy(commit="ask")), [[("bash", {"command": "cp cart.py new.txt"})]])
    question = lambda asked: next(iter(asked.output.metadata.values()))["question"]  # noqa: E731
    ann = agent.run_sync("go")
    (ws / "cart.py").write_text("total = 2\n")
    bob = agent.run_sync("go")
    assert "+total = 2" in question(bob)
    (ws / "cart.py").write_text("total = 1\n")
    again = answer(agent, bob, True)
    assert question(again) == question(ann)
    assert not (ws / "new.txt").exists()
    assert answer(agent, again, True).output == "Done."
    assert (ws / "new.txt").read_text() == "total = 1\n"


def test_an_agent_that_cannot_defer_is_told_why_nobody_was_asked(open_kit, ws):
    model = Scripted([[WRITE]])
    Agent(model, toolsets=[toolset(open_kit(policy="ask"))]).run_sync("go")
    assert "`DeferredToolRequests` is not in the `output_type` of the agent" in model.seen[0].content
    assert not (ws / "new.txt").exists()


def test_a_capability_answers_within_the_run(open_kit, ws):
    def approve(_ctx, requests):
        return requests.build_results(approve_all=True)

    model = Scripted([[WRITE]])
    Agent(model, toolsets=[toolset(open_kit(policy="ask"))], capabilities=[HandleDeferredToolCalls(approve)]).run_sync(
        "go"
    )
    assert (ws / "new.txt").exists()


def test_cancelling_the_run_ends_the_command(kit, ws):
    _, agent = ask(kit, [[SLEEP]])

    asyncio.run(cancel_when_started(ws, lambda: agent.run("go")))
    assert is_cancelled(kit)


def test_progress_is_in_the_event_stream(kit):
    kit.register(count)
    _, agent = ask(kit, [[("count", {})]])
    events = []

    async def handle(_ctx, stream):
        async for one in stream:
            if isinstance(one, ToolProgressEvent):
                events.append((one.tool_name, one.done, one.total, one.note))

    agent.run_sync("go", event_stream_handler=handle)
    assert events == [("count", 1, 2, "half")]
