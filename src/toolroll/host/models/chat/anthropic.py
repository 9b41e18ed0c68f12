"""The messages protocol of Anthropic, through the `anthropic` client."""

from __future__ import annotations

import base64
from collections.abc import Mapping
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

if TYPE_CHECKING:
    import httpx2
    from anthropic import Stream
    from anthropic.types import RawContentBlockDelta, RawMessageStreamEvent

PACKAGE = "anthropic"
_DEFAULT_MAX_TOKENS = 8192  # the protocol requires a bound; every current model allows this many
_STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "pause_turn": "end",
    "tool_use": "calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
}


def headers(key: str) -> dict[str, str]:
    """The authentication headers of a request. Other servers of this protocol know only this form."""
    return {"x-api-key": key} if key else {}


def send(endpoint: Endpoint, web: httpx2.Client, model: str, request: ChatRequest) -> Stream[RawMessageStreamEvent]:
    """Send a request; the stream of its answer. Raises `anthropic.APIError`."""
    from anthropic import Anthropic

    # Without a key the client would look for one in the environment and in the user's files.
    client = Anthropic(
        api_key=endpoint.key or "none",
        base_url=endpoint.url.removesuffix("/v1"),
        http_client=web,
        max_retries=0,
        open_telemetry=False,
    )
    stream: Stream[RawMessageStreamEvent] = client.messages.create(**build_body(model, request))
    return stream


def build_body(model: str, request: ChatRequest) -> dict[str, Any]:
    """The body of a request that streams its answer."""
    system = "\n\n".join(one.text for one in request.messages if one.role == "system" and one.text)
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": request.max_tokens or _DEFAULT_MAX_TOKENS,
        "messages": _build_messages(request),
        "stream": True,
    }
    if system:
        body["system"] = system
    if request.tools:
        body["tools"] = [
            {"name": one["name"], "description": one["description"], "input_schema": one["inputSchema"]}
            for one in request.tools
        ]
    if request.stop:
        body["stop_sequences"] = list(request.stop)
    return body


class AnthropicReader:
    """Assembles a turn from the events of a stream."""

    def __init__(self) -> None:
        self.complete = False
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, str] = {}
        self._stop = ""
        self._usage: dict[str, object] = {}

    def take(self, event: RawMessageStreamEvent) -> str:
        text = ""
        match event.type:
            case "message_start":
                self._usage |= event.message.usage.to_dict()
            case "content_block_start":
                self._blocks[event.index] = block = dict(event.content_block.to_dict())
                text = str(block.get("text") or "")
            case "content_block_delta":
                text = self._add_delta(event.index, event.delta)
            case "message_delta":
                self._stop = event.delta.stop_reason or self._stop
                self._usage |= event.usage.to_dict()
            case "message_stop":
                self.complete = True
        return text

    def take_whole(self, answer: Mapping[str, Any]) -> str:
        self._blocks = {index: dict(block) for index, block in enumerate(answer["content"])}
        self._usage = dict(answer.get("usage") or {})
        self._stop = answer.get("stop_reason") or ""
        self.complete = True
        return self.turn().message.text

    def turn(self) -> Turn:
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        text = "".join(str(one.get("text") or "") for one in blocks if one.get("type") == "text")
        thinking = tuple(one for one in blocks if one.get("type") in ("thinking", "redacted_thinking"))
        calls = tuple(
            self._build_call(index, block)
            for index, block in sorted(self._blocks.items())
            if block.get("type") == "tool_use"
        )
        stop = _STOP_REASONS.get(self._stop, "calls" if calls else "end")
        return Turn(ChatMessage("assistant", text, calls, provider_blocks=thinking), stop, self._count_usage())

    def _add_delta(self, index: int, delta: RawContentBlockDelta) -> str:
        block = self._blocks[index]
        match delta.type:
            case "text_delta":
                block["text"] += delta.text
                return delta.text
            case "input_json_delta":  # kept as text, because it may be invalid JSON
                self._inputs[index] = self._inputs.get(index, "") + delta.partial_json
            case "thinking_delta":
                block["thinking"] += delta.thinking
            case "signature_delta":
                block["signature"] += delta.signature
        return ""

    def _build_call(self, index: int, block: Mapping[str, Any]) -> ToolCall:
        arguments = self._inputs.get(index) or encode_arguments(block.get("input") or {})
        return ToolCall(str(block.get("id") or f"call_{index}"), str(block.get("name") or ""), arguments)

    def _count_usage(self) -> Usage:
        names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
        fresh, created, cached, output = (count(self._usage.get(name)) for name in names)
        return Usage(fresh + created + cached, output, cached)


make_reader = AnthropicReader


def _build_messages(request: ChatRequest) -> list[dict[str, Any]]:
    """The messages; consecutive ones of one side are merged, as the protocol requires."""
    merged: list[dict[str, Any]] = []
    for message in request.messages:
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        blocks = _build_blocks(message)
        if merged and merged[-1]["role"] == role:
            merged[-1]["content"] += blocks
        elif blocks:
            merged.append({"role": role, "content": blocks})
    return merged


def _build_blocks(message: ChatMessage) -> list[dict[str, Any]]:
    images = [
        {
            "type": "image",
            "source": {"type": "base64", "media_type": one.mime, "data": base64.b64encode(one.data).decode()},
        }
        for one in message.images
    ]
    # The server refuses an empty text.
    text = [{"type": "text", "text": message.text}] if message.text.strip() else []
    if message.role == "tool":
        result: dict[str, Any] = {"type": "tool_result", "tool_use_id": message.call_id, "content": [*text, *images]}
        return [{**result, "is_error": True} if message.failed else result]
    calls = [
        {"type": "tool_use", "id": one.id, "name": one.name, "input": parse_arguments(one.arguments)}
        for one in message.calls
    ]
    return [*map(dict, message.provider_blocks), *text, *images, *calls]
