"""Gemini by google-genai: `client.chats.create(config={"tools": tools(kit)}, ...)`, and `answers` for its calls.

The SDK's automatic function calling knows neither JSON schemas nor images, so the loop is in the user's program:

    while response.function_calls:
        response = chat.send_message(answers(kit, response))
"""

from __future__ import annotations

from toolroll.host.requirement import require

require("google-genai", "google-genai>=3.3,<4")

from google.genai import types

from toolroll import formats
from toolroll.chains import aparallel, parallel
from toolroll.kit import Kit
from toolroll.result import Result


def tools(kit: Kit) -> list[types.Tool]:
    """Every tool that the kit shows to a model."""
    return [types.Tool(function_declarations=kit.definitions("gemini"))]


def answers(kit: Kit, response: types.GenerateContentResponse) -> list[types.Part]:
    """Carry out the calls of a response, side by side; the parts that answer them."""
    calls = response.function_calls or []
    return _parts(calls, parallel(kit, [(one.name or "", one.args) for one in calls]))


async def async_answers(kit: Kit, response: types.GenerateContentResponse) -> list[types.Part]:
    """`answers` for coroutines; cancelling the task cancels the calls."""
    calls = response.function_calls or []
    return _parts(calls, await aparallel(kit, [(one.name or "", one.args) for one in calls]))


def _parts(calls: list[types.FunctionCall], results: list[Result]) -> list[types.Part]:
    named = [(one.id or "", one.name or "") for one in calls]
    return [types.Part.model_validate(one) for one in formats.answers("gemini", named, results)]
