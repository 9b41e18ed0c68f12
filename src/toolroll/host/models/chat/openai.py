"""The chat/completions protocol, spoken by OpenAI and many other servers, through the `openai` client."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from toolroll.host.models.chat.messages import (
    ChatMessage,
    ChatRequest,
    Endpoint,
    StopReason,
    ToolCall,
    Turn,
    Usage,
    count,
    encode_arguments,
    parse_arguments,
)
from toolroll.result import Image

if TYPE_CHECKING:
    import httpx2
    from openai import Stream
    from openai.types.chat import ChatCompletionChunk
    from openai.types.chat.chat_completion_chunk import ChoiceDeltaToolCall
    from openai.types.completion_usage import CompletionUsage

PACKAGE = "openai"
_IMAGES_TEXT = "The pictures that the tools have shown:"
_REASONING = re.compile(r"(?:openai/)?(?:o\d|gpt-5)")  # these models refuse `stop` and the older name of the bound
_CONTENT_FILTER = "content_filter"
_STOP_REASONS: dict[str, StopReason] = {
    "stop": "end",
    "tool_calls": "calls",
    "function_call": "calls",
    "length": "length",
    _CONTENT_FILTER: "refused",
}


def headers(key: str) -> dict[str, str]:
    """The authentication headers of a request."""
    return {"authorization": f"Bearer {key}"} if key else {}


def send(endpoint: Endpoint, web: httpx2.Client, model: str, request: ChatRequest) -> Stream[ChatCompletionChunk]:
    """Send a request; the stream of its answer. Raises `openai.APIError`."""
    from openai import OpenAI

    # Without a key the client would look for one in the environment.
    client = OpenAI(api_key=endpoint.key or "none", base_url=endpoint.url, http_client=web, max_retries=0)
    stream: Stream[ChatCompletionChunk] = client.chat.completions.create(**build_body(model, request))
    return stream


def build_body(model: str, request: ChatRequest) -> dict[str, Any]:
    """The body of a request that streams its answer."""
    messages = [_build_message(one) for one in _move_images(request.messages)]
    body: dict[str, Any] = {"model": model, "messages": messages}
    if request.tools:
        body["tools"] = [_build_tool(one) for one in request.tools]
    reasoning = _REASONING.match(model) is not None
    if request.stop and not reasoning:
        body["stop"] = list(request.stop)
    if request.max_tokens:
        body["max_completion_tokens" if reasoning else "max_tokens"] = request.max_tokens
    return {**body, "stream": True, "stream_options": {"include_usage": True}}


class OpenAIReader:
    """Assembles a turn from the chunks of a stream."""

    def __init__(self) -> None:
        self.complete = False
        self._text = ""
        self._calls: dict[int, ToolCall] = {}
        self._stop = ""
        self._refused = False
        self._usage = Usage()

    def take(self, chunk: ChatCompletionChunk) -> str:
        text = ""
        if chunk.usage:
            self._usage = _read_usage(chunk.usage)
        for choice in (getattr(chunk, "choices", None) or ())[:1]:
            delta = choice.delta
            text = delta.content or delta.refusal or ""
            self._text += text
            self._refused = self._refused or bool(delta.refusal)
            for position, call in enumerate(delta.tool_calls or ()):
                self._add_call(call, position)
            self._stop = choice.finish_reason or self._stop
            self.complete = bool(self._stop)
        return text

    def take_whole(self, answer: Mapping[str, Any]) -> str:
        """Read an answer that was not streamed, which differs from a chunk by few names; its text."""
        from openai.types.chat import ChatCompletionChunk

        choice = answer["choices"][0]
        choice = {**choice, "delta": choice["message"], "finish_reason": choice.get("finish_reason") or "stop"}
        return self.take(ChatCompletionChunk.construct(**{**answer, "choices": [choice]}))

    def turn(self) -> Turn:
        calls = tuple(self._calls[position] for position in sorted(self._calls))
        stop = "refused" if self._refused else _STOP_REASONS.get(self._stop, "end")
        if calls and stop == "end":
            stop = "calls"  # not all servers report the difference
        return Turn(ChatMessage("assistant", self._text, calls), stop, self._usage)

    def _add_call(self, delta: ChoiceDeltaToolCall, position: int) -> None:
        # Some servers omit the index of a single call, and some send the arguments as an object.
        given = getattr(delta, "index", None)
        index = given if isinstance(given, int) else position
        call = self._calls.get(index) or ToolCall(f"call_{index}", "", "")
        name, arguments = (delta.function.name, delta.function.arguments) if delta.function else ("", "")
        arguments = call.arguments + encode_arguments(arguments or "")
        self._calls[index] = ToolCall(delta.id or call.id, call.name + (name or ""), arguments)


make_reader = OpenAIReader


def _read_usage(usage: CompletionUsage) -> Usage:
    details = usage.prompt_tokens_details
    return Usage(count(usage.prompt_tokens), count(usage.completion_tokens), count(details and details.cached_tokens))


def _build_tool(definition: Mapping[str, Any]) -> dict[str, Any]:
    named = {"name": definition["name"], "description": definition["description"]}
    return {"type": "function", "function": {**named, "parameters": definition["inputSchema"]}}


def _move_images(messages: Iterable[ChatMessage]) -> Iterator[ChatMessage]:
    """Move the images of tool messages into a user message after them: the protocol allows them only there."""
    images: tuple[Image, ...] = ()
    for message in messages:
        if message.role != "tool" and images:
            yield ChatMessage("user", _IMAGES_TEXT, images=images)
            images = ()
        if message.role == "tool":
            images += message.images
        yield message
    if images:
        yield ChatMessage("user", _IMAGES_TEXT, images=images)


def _build_message(message: ChatMessage) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
    if message.calls:
        calls = [
            {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": _sendable_arguments(one)}}
            for one in message.calls
        ]
        return {"role": message.role, "content": message.text or None, "tool_calls": calls}
    if not message.images:
        return {"role": message.role, "content": message.text}
    images = [
        {"type": "image_url", "image_url": {"url": f"data:{one.mime};base64,{base64.b64encode(one.data).decode()}"}}
        for one in message.images
    ]
    return {"role": message.role, "content": [{"type": "text", "text": message.text}, *images]}


def _sendable_arguments(call: ToolCall) -> str:
    """The arguments unchanged if they are a JSON object: some servers refuse a conversation with anything else."""
    arguments = parse_arguments(call.arguments)
    return call.arguments if call.arguments and "broken" not in arguments else encode_arguments(arguments)
