"""OpenAI Agents with a scripted model behind the Responses API."""

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
    run_example,
)
from tests.clients.scripted_model import serve_script
from tests.clients.wire_formats import Received
from toolroll import Policy

pytest.importorskip("agents", reason="make adapters installs openai-agents")

from agents import Agent, OpenAIResponsesModel, Runner
from openai import AsyncOpenAI

from toolroll.adapters.openai_agents import tools

# `run_sync` goes on with an event loop that it has shut down.
pytestmark = pytest.mark.filterwarnings("ignore:asynchronous generator:ResourceWarning")


@pytest.fixture
def served():
    with serve_script([], bare=True) as server:
        yield server


@pytest.fixture
def model(served):
    client = AsyncOpenAI(base_url=f"{served.url}/v1", api_key="any")
    return OpenAIResponsesModel("scripted", client)


def test_the_example_gives_the_model_text_images_and_errors(served, model):
    served.script = SCRIPT
    assert run_example("OpenAI Agents", model=model)["result"].final_output == "Done."
    assert served.last.results == [Received(TEXTS[0]), Received(TEXTS[1], (DOT,)), Received(TEXTS[2])]


def test_the_model_is_offered_the_schemas_of_the_kit(kit, served, model):
    Runner.run_sync(Agent("coder", model=model, tools=tools(kit)), "go")
    assert served.last.tools == kit.definitions("responses")


@pytest.mark.parametrize("approved", [True, False])
def test_a_call_that_needs_approval_is_an_interruption(open_kit, ws, served, model, approved):
    served.script = [[WRITE]]
    agent = Agent("coder", model=model, tools=tools(open_kit(policy="ask")))
    asked = Runner.run_sync(agent, "go")
    (item,) = asked.interruptions
    assert item.name == "write"
    assert not (ws / "new.txt").exists()
    state = asked.to_state()
    if approved:
        state.approve(item)
    else:
        state.reject(item)
    assert Runner.run_sync(agent, state).final_output == "Done."
    assert (ws / "new.txt").exists() == approved


def test_reading_commands_need_no_approval(open_kit, served, model):
    served.script = [[("bash", {"command": "cat cart.py"})]]
    Runner.run_sync(Agent("coder", model=model, tools=tools(open_kit(policy="ask"))), "go")
    assert served.last.results == [Received("total = 1")]


def test_a_question_that_comes_up_in_the_call_is_asked_before_the_next_one(open_kit, ws, served, model):
    served.script = [[WRITE], [WRITE]]
    agent = Agent("coder", model=model, tools=tools(open_kit(policy=ASK_ABOUT_NEW)))
    asked = Runner.run_sync(agent, "go")
    assert "Call it again with the same arguments" in served.last.results[0].text
    (item,) = asked.interruptions
    state = asked.to_state()
    state.approve(item)
    Runner.run_sync(agent, state)
    assert (ws / "new.txt").exists()


def test_a_question_about_more_than_the_call_shows_is_not_answered_by_it(open_kit, ws, served, model):
    served.script = [[("bash", {"command": "touch new.txt"})]]
    agent = Agent("coder", model=model, tools=tools(open_kit(policy=Policy(commit="ask"))))
    Runner.run_sync(agent, "go")
    assert "OpenAI Agents shows a person the call alone" in served.last.results[0].text
    assert not (ws / "new.txt").exists()


def test_cancelling_the_run_ends_the_command(kit, ws, served, model):
    served.script = [[SLEEP]]

    asyncio.run(cancel_when_started(ws, lambda: Runner.run(Agent("coder", model=model, tools=tools(kit)), "go")))
    assert is_cancelled(kit)
