"""Anthropic's tool runner with a scripted model behind the Messages API."""

from __future__ import annotations

import asyncio
from functools import partialmethod
from importlib.util import find_spec

import pytest

from tests.adapters.task import DOT, SCRIPT, SLEEP, TEXTS, WRITE, cancel_when_started, is_cancelled, run_example
from tests.clients.scripted_model import serve_script
from tests.clients.wire_formats import Received

if find_spec("agno") is None:  # elsewhere the client is installed for `toolroll agent`, and takes a second to import
    pytest.skip("make adapters runs it, with the other frameworks", allow_module_level=True)

import anthropic

from toolroll.adapters.anthropic import async_tools, tools

REQUEST = {"model": "scripted", "max_tokens": 100, "messages": [{"role": "user", "content": "go"}]}


@pytest.fixture
def served():
    with serve_script([], bare=True) as server:
        yield server


@pytest.fixture
def client(served, monkeypatch):
    with anthropic.Anthropic(base_url=served.url, api_key="any") as client:
        messages = type(client.beta.messages)
        # The scripted model keeps no threads of messages on its side.
        monkeypatch.setattr(messages, "tool_runner", partialmethod(messages.tool_runner, thread=False))
        yield client


def test_the_example_gives_the_model_text_images_and_errors(served, client):
    served.script = SCRIPT
    made = run_example("Anthropic", client=client)
    assert made["message"].content[0].text == "Done."
    assert served.last.results == [Received(TEXTS[0]), Received(TEXTS[1], (DOT,)), Received(TEXTS[2])]


def test_the_model_is_offered_the_schemas_of_the_kit(kit, served, client):
    client.beta.messages.tool_runner(tools=tools(kit), **REQUEST).until_done()
    assert served.last.tools == kit.definitions("anthropic")


def test_an_error_is_marked_as_one(kit, client, served):
    served.script = [[("read", {"path": "crat.py"})]]
    runner = client.beta.messages.tool_runner(tools=tools(kit), **REQUEST)
    next(iter(runner))
    (block,) = runner.generate_tool_call_response()["content"]
    assert (block["is_error"], block["content"]) == (True, [{"type": "text", "text": TEXTS[2]}])


def test_the_approver_of_the_kit_is_asked(open_kit, ws, served, client):
    served.script = [[WRITE]]
    asked = []
    kit = open_kit(policy="ask", approve=lambda request: bool(asked.append(request.name)) or True)
    client.beta.messages.tool_runner(tools=tools(kit), **REQUEST).until_done()
    assert (asked, (ws / "new.txt").exists()) == (["write"], True)


def test_cancelling_the_run_ends_the_command(kit, ws, served):
    served.script = [[SLEEP]]

    async def run():
        async with anthropic.AsyncAnthropic(base_url=served.url, api_key="any") as client:
            runner = client.beta.messages.tool_runner(tools=async_tools(kit), **REQUEST)
            await cancel_when_started(ws, runner.until_done)

    asyncio.run(run())
    assert is_cancelled(kit)
