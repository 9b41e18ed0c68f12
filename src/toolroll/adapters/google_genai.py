"""Gemini by google-genai: `client.chats.create(config={"tools": tools(kit)}, ...)`, and `answers` for its calls.

The SDK's automatic function calling knows neither JSON schemas nor images, so the loop is in the user's program:

    while response.function_calls:
        response = chat.send_message(answers(kit, response))
"""

from __future__ import annotations

from typing import cast

from toolroll.host.requirement import require

require("google-genai", "google-genai>=3.3,<4")

from google.genai import types

from toolroll import formats
from toolroll.chains import Arguments, ToolCall, aparallel, parallel
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.kit import Kit
from toolroll.result import Result


def tools(kit: Kit) -> list[types.Tool]:
    """Every tool that the kit shows to a model."""
    return [types.Tool(function_declarations=kit.definitions("gemini"))]


def answers(kit: Kit, response: types.GenerateContentResponse) -> list[types.Part]:
    """Carry out the calls of a response, side by side; the parts that answer them."""
    calls = _Calls(kit, response.function_calls or [])
    return calls.answer(parallel(cast("Kit", calls), calls.places, most=kit.limits.concurrency))


async def async_answers(kit: Kit, response: types.GenerateContentResponse) -> list[types.Part]:
    """`answers` for coroutines; cancelling the task cancels the calls."""
    calls = _Calls(kit, response.function_calls or [])
    return calls.answer(await aparallel(cast("Kit", calls), calls.places, most=kit.limits.concurrency))


class _Calls:
    """The calls of a response, made as `parallel` makes those of a kit: by place, so that each has its id."""

    def __init__(self, kit: Kit, calls: list[types.FunctionCall]) -> None:
        self._kit = kit
        self._calls = calls
        self.places: list[ToolCall] = [(str(place), one.args) for place, one in enumerate(calls)]

    def call(self, place: str, arguments: Arguments, *, token: CancelToken) -> Result:
        one = self._calls[int(place)]
        return self._kit.call(one.name or "", arguments, id=one.id or "", token=token)

    async def acall(self, place: str, arguments: Arguments, *, token: CancelToken) -> Result:
        one = self._calls[int(place)]
        return await self._kit.acall(one.name or "", arguments, id=one.id or "", token=token)

    def answer(self, results: list[Result]) -> list[types.Part]:
        named = [(one.id or "", one.name or "") for one in self._calls]
        return [types.Part.model_validate(one) for one in formats.answers("gemini", named, results)]
