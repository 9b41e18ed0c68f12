"""agno with a scripted model behind the Chat Completions API."""

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
    is_cancelled,
    own_id,
    run_example,
)
from tests.clients.scripted_model import serve_script
from tests.clients.wire_formats import Received

pytest.importorskip("agno", reason="make adapters installs agno")

from agno.agent import Agent
from agno.models.openai import OpenAIChat

from toolroll.adapters.agno import async_tools, tools


@pytest.fixture
def served():
    with serve_script([], bare=True) as server:
        yield server


@pytest.fixture
def model(served):
    return OpenAIChat("scripted", base_url=f"{served.url}/v1", api_key="any")


def test_the_example_gives_the_model_text_images_and_errors(served, model):
    served.script = SCRIPT
    assert run_example("agno", model=model)["result"].content == "Done."
    assert served.last.results == [Received(TEXTS[0]), Received(TEXTS[1], (DOT,)), Received(TEXTS[2])]


def test_the_model_is_offered_the_schemas_of_the_kit(kit, served, model):
    Agent(model=model, tools=tools(kit)).run("go")
    wanted = {one["function"]["name"]: one["function"] for one in kit.definitions("openai")}
    assert {
        one["name"]: {key: one[key] for key in ("name", "description", "parameters")} for one in served.last.tools
    } == wanted


@pytest.mark.parametrize("approved", [True, False])
def test_a_call_that_needs_approval_pauses_the_run(open_kit, ws, served, model, approved):
    served.script = [[WRITE]]
    agent = Agent(model=model, tools=tools(open_kit(policy="ask")))
    paused = agent.run("go")
    assert paused.is_paused
    (asked,) = paused.active_requirements
    assert (asked.tool_execution.tool_name, asked.tool_execution.tool_args) == WRITE
    if approved:
        asked.confirm()
    else:
        asked.reject()
    done = agent.continue_run(run_response=paused, requirements=paused.requirements)
    assert done.content == "Done."
    assert (ws / "new.txt").exists() == approved


def test_a_question_that_comes_up_in_the_call_says_why_nobody_was_asked(open_kit, ws, served, model):
    served.script = [[WRITE]]
    Agent(model=model, tools=tools(open_kit(policy=ASK_ABOUT_NEW))).run("go")
    assert "agno asks before a call, and this question came up later" in served.last.results[0].text
    assert not (ws / "new.txt").exists()


def test_a_call_has_the_id_of_the_provider(kit, served, model):
    kit.register(own_id)
    served.script = [[("own_id", {})]]
    (call,) = Agent(model=model, tools=tools(kit)).run("go").tools
    (acall,) = asyncio.run(Agent(model=model, tools=async_tools(kit)).arun("go")).tools
    for one in (call, acall):
        assert one.tool_call_id
        assert one.result == f"id {one.tool_call_id}"


def test_an_argument_cannot_stand_for_the_call(kit, served, model):
    served.script = [[("read", {"path": "cart.py", "fc": "x"})]]
    (call,) = Agent(model=model, tools=tools(kit)).run("go").tools
    assert call.result == TEXTS[0]


def test_cancelling_the_run_ends_the_command(kit, ws, served, model):
    served.script = [[SLEEP]]

    asyncio.run(cancel_when_started(ws, lambda: Agent(model=model, tools=async_tools(kit)).arun("go")))
    assert is_cancelled(kit)
