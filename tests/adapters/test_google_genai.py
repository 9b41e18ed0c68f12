"""google-genai with a scripted model behind the Gemini API."""

from __future__ import annotations

import asyncio

import pytest

from tests.adapters.task import DOT, SCRIPT, SLEEP, TEXTS, cancel_when_started, is_cancelled, own_id, run_example
from tests.clients.scripted_model import serve_script
from tests.clients.wire_formats import Received

pytest.importorskip("google.genai", reason="make adapters installs google-genai")

from google import genai
from google.genai import types

from toolroll.adapters.google_genai import answers, async_answers, tools

# Where aiohttp is installed, the SDK makes a subclass of its session.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")


@pytest.fixture
def served():
    with serve_script([], bare=True) as server:
        yield server


@pytest.fixture
def client(served):
    return genai.Client(api_key="any", http_options={"base_url": served.url})


def test_the_example_gives_the_model_text_images_and_errors(served, client):
    served.script = SCRIPT
    assert run_example("Gemini", client=client)["response"].text == "Done."
    image = DOT.replace("+", "-").replace("/", "_")  # as the SDK writes base64
    assert served.last.results == [Received(TEXTS[0]), Received(TEXTS[1], (image,)), Received(TEXTS[2])]


def test_the_model_is_offered_the_schemas_of_the_kit(kit, served, client):
    client.models.generate_content(model="scripted", contents="go", config={"tools": tools(kit)})
    names = {"parameters_json_schema": "parametersJsonSchema"}  # the SDK writes the first, the API takes both
    offered = [{names.get(key, key): value for key, value in one.items()} for one in served.last.tools]
    assert offered == kit.definitions("gemini")


def test_a_call_has_the_id_of_the_provider(kit):
    kit.register(own_id)
    parts = [{"function_call": {"id": id, "name": "own_id", "args": {}}} for id in ("a", "b", None)]
    response = types.GenerateContentResponse(candidates=[{"content": {"parts": parts}}])
    for found in (answers(kit, response), asyncio.run(async_answers(kit, response))):
        given = [(one.function_response.id, one.function_response.response) for one in found]
        assert given == [("a", {"output": "id a"}), ("b", {"output": "id b"}), (None, {"output": "id "})]


def test_cancelling_the_run_ends_the_command(kit, ws, served, client):
    served.script = [[SLEEP]]

    async def run():
        chat = client.aio.chats.create(model="scripted", config={"tools": tools(kit)})
        answer = await chat.send_message("go")
        await cancel_when_started(ws, lambda: async_answers(kit, answer))

    asyncio.run(run())
    assert is_cancelled(kit)
