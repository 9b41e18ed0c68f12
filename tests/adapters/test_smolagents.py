"""smolagents with a scripted model."""

from __future__ import annotations

import pytest

from tests.adapters.task import SCRIPT, TEXTS, WRITE, run_example

pytest.importorskip("smolagents", reason="make adapters installs smolagents")

from smolagents import ChatMessage, MessageRole, Model, ToolCallingAgent
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction, get_tool_json_schema

from toolroll.adapters.smolagents import tools

END = ("final_answer", {"answer": "Done."})


class Scripted(Model):
    """Asks for one call after another, and keeps what it was sent last."""

    def __init__(self, calls):
        super().__init__(model_id="scripted")
        self.calls = iter(calls)
        self.seen = []
        self.offered = {}

    def generate(self, messages, tools_to_call_from=(), **_):
        self.offered = {one.name: get_tool_json_schema(one)["function"] for one in tools_to_call_from}
        self.seen = [part for one in messages for part in one.content]
        name, arguments = next(self.calls)
        call = ChatMessageToolCall(ChatMessageToolCallFunction(arguments, name), "1", "function")
        return ChatMessage(MessageRole.ASSISTANT, tool_calls=[call])


def test_the_example_gives_the_model_text_images_and_errors():
    model = Scripted([*(call for step in SCRIPT for call in step), END])
    assert run_example("smolagents", model=model)["answer"] == "Done."
    texts = "\n".join(one["text"] for one in model.seen if one["type"] == "text")
    assert [text in texts for text in TEXTS] == [True, True, True]
    assert [one["image"].size for one in model.seen if one["type"] == "image"] == [(1, 1)]


def test_the_model_is_offered_the_schemas_of_the_kit(kit):
    model = Scripted([END])
    ToolCallingAgent(tools=tools(kit), model=model).run("go")
    for wanted in (one["function"] for one in kit.definitions("openai")):
        given = model.offered[wanted["name"]]
        assert given["description"] == wanted["description"]
        assert given["parameters"]["required"] == wanted["parameters"].get("required", [])
        for name, schema in wanted["parameters"]["properties"].items():
            described = given["parameters"]["properties"][name]
            assert {key: described[key] for key in schema if key != "anyOf"} == {
                key: value for key, value in schema.items() if key != "anyOf"
            }


def test_the_approver_of_the_kit_is_asked(open_kit, ws):
    asked = []
    kit = open_kit(policy="ask", approve=lambda request: bool(asked.append(request.name)) or True)
    ToolCallingAgent(tools=tools(kit), model=Scripted([WRITE, END])).run("go")
    assert (asked, (ws / "new.txt").exists()) == (["write"], True)


def test_the_code_of_an_agent_gets_whole_data_and_its_eyes_a_part(kit):
    bash = next(one for one in tools(kit) if one.name == "bash")
    given = bash(command="seq 1 100000")
    assert sum(map(int, given["output"].split())) == 5_000_050_000
    assert len(str(given)) < 60_000
