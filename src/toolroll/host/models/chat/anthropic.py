"""The messages protocol of Anthropic."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from toolroll.host.models.chat.messages import Ask, Message, Stop, ToolCall, Turn, Usage
from toolroll.host.models.chat.parse import Garbled, arguments_in, listed, number, object_in, text_in

PATH = "/v1/messages"
_VERSION = "2023-06-01"
_MOST_TOKENS = 8192  # the protocol wants a bound; every current model may say as much
_STOPS: dict[str, Stop] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "pause_turn": "end",
    "tool_use": "calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
}


def headers(key: str) -> dict[str, str]:
    """The headers of a request."""
    return {"anthropic-version": _VERSION, **({"x-api-key": key} if key else {})}


def body(model: str, ask: Ask, *, stream: bool) -> dict[str, Any]:
    """A request: what the system says stands apart, and messages of one side in a row are one."""
    system = "\n\n".join(one.text for one in ask.messages if one.role == "system" and one.text)
    made: dict[str, Any] = {"model": model, "max_tokens": ask.most_tokens or _MOST_TOKENS, "messages": _merged(ask)}
    if system:
        made["system"] = system
    if ask.tools:
        made["tools"] = [
            {"name": one["name"], "description": one["description"], "input_schema": one["inputSchema"]}
            for one in ask.tools
        ]
    if ask.stop:
        made["stop_sequences"] = list(ask.stop)
    if stream:
        made["stream"] = True
    return made


def read(answer: Mapping[str, Any]) -> Turn:
    """A whole answer; raises Garbled when it is none."""
    if not isinstance(answer.get("content"), list):
        raise Garbled("it has no content")
    blocks = [dict(one) for one in listed(answer, "content")]
    return _turn(blocks, text_in(answer, "stop_reason"), _usage(object_in(answer, "usage")))


class Reader:
    """Puts a turn together from the events of a stream. `text` is what came with the last event."""

    def __init__(self) -> None:
        self.ended = False
        self.text = ""
        self._blocks: dict[int, dict[str, Any]] = {}
        self._json: dict[int, str] = {}
        self._stop = ""
        self._usage: dict[str, Any] = {}

    def take(self, event: Mapping[str, Any]) -> None:
        """One event; raises Garbled when it makes no sense."""
        self.text = ""
        match event.get("type"):
            case "message_start":
                self._usage |= object_in(object_in(event, "message"), "usage")
            case "content_block_start":
                self._blocks[number(event, "index")] = dict(object_in(event, "content_block"))
            case "content_block_delta":
                self._add(number(event, "index"), object_in(event, "delta"))
            case "message_delta":
                self._stop = text_in(object_in(event, "delta"), "stop_reason") or self._stop
                self._usage |= object_in(event, "usage")
            case "message_stop":
                self.ended = True

    def done(self) -> None:
        """Other servers end a stream so."""
        self.ended = True

    def turn(self) -> Turn:
        """The whole turn; raises Garbled when the stream never came to its end."""
        if not self.ended:
            raise Garbled("it ends in the middle")
        for index, text in self._json.items():
            self._blocks[index]["input"] = text  # as it was written, for it may be broken
        return _turn([self._blocks[index] for index in sorted(self._blocks)], self._stop, _usage(self._usage))

    def _add(self, index: int, delta: Mapping[str, Any]) -> None:
        block = self._blocks.get(index)
        if block is None:
            raise Garbled("it adds to what it has not begun")
        match delta.get("type"):
            case "text_delta":
                self.text = text_in(delta, "text")
                block["text"] = text_in(block, "text") + self.text
            case "input_json_delta":
                self._json[index] = self._json.get(index, "") + text_in(delta, "partial_json")
            case "thinking_delta":
                block["thinking"] = text_in(block, "thinking") + text_in(delta, "thinking")
            case "signature_delta":
                block["signature"] = text_in(block, "signature") + text_in(delta, "signature")


def _turn(blocks: list[dict[str, Any]], stop: str, used: Usage) -> Turn:
    text = "".join(text_in(one, "text") for one in blocks if one.get("type") == "text")
    calls = tuple(_call(place, one) for place, one in enumerate(blocks) if one.get("type") == "tool_use")
    own = tuple(one for one in blocks if one.get("type") in ("thinking", "redacted_thinking"))
    reason = _STOPS.get(stop, "calls" if calls else "end")
    return Turn(Message("assistant", text, calls, own=own), reason, used)


def _call(place: int, block: Mapping[str, Any]) -> ToolCall:
    import msgspec

    given = block.get("input")
    arguments = given if isinstance(given, str) else msgspec.json.encode(given or {}).decode()
    return ToolCall(text_in(block, "id") or f"call_{place}", text_in(block, "name"), arguments)


def _usage(given: Mapping[str, Any]) -> Usage:
    cached = number(given, "cache_read_input_tokens")
    fresh = number(given, "input_tokens") + number(given, "cache_creation_input_tokens")
    return Usage(fresh + cached, number(given, "output_tokens"), cached)


def _merged(ask: Ask) -> list[dict[str, Any]]:
    merged: list[dict[str, Any]] = []
    for message in ask.messages:
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        blocks = _blocks(message)
        if merged and merged[-1]["role"] == role:
            merged[-1]["content"] += blocks
        elif blocks:
            merged.append({"role": role, "content": blocks})
    return merged


def _blocks(message: Message) -> list[dict[str, Any]]:
    images = [
        {
            "type": "image",
            "source": {"type": "base64", "media_type": one.mime, "data": base64.b64encode(one.data).decode()},
        }
        for one in message.images
    ]
    # An empty text is refused.
    text = [{"type": "text", "text": message.text}] if message.text.strip() else []
    if message.role == "tool":
        made: dict[str, Any] = {"type": "tool_result", "tool_use_id": message.call, "content": [*text, *images]}
        return [{**made, "is_error": True} if message.failed else made]
    calls = [
        {"type": "tool_use", "id": one.id, "name": one.name, "input": arguments_in(one.arguments)}
        for one in message.calls
    ]
    return [*map(dict, message.own), *text, *images, *calls]
