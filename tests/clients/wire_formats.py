"""The four wire formats in which clients talk to a model: what a request holds, and how calls and text are answered."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Item = dict[str, Any]
Calls = Sequence[tuple[str, Item]]
"""Tools and their arguments, asked for in one answer."""
_USAGE = {"input_tokens": 5, "output_tokens": 5, "total_tokens": 10}


@dataclass(frozen=True)
class Received:
    """What the model got as the result of one call."""

    text: str
    images: tuple[str, ...] = ()
    """As base64."""


@dataclass(frozen=True)
class ModelRequest:
    """What a client sent to the model."""

    tools: Sequence[Item]
    """The definitions offered, by `name`; `namespace` where the format has one."""
    results: Sequence[Received]
    bare: bool = False
    """Whether the tools of toolroll have no prefix, and are all that there are."""

    @property
    def own(self) -> dict[str, Item]:
        """The tools of toolroll, by the names that toolroll gives them."""
        if self.bare:
            return {tool["name"]: tool for tool in self.tools}
        found = {}
        for tool in self.tools:
            _, mark, name = f"{tool.get('namespace', '')}_{tool['name']}".rpartition("toolroll")
            if mark:
                found[name.lstrip("_")] = tool
        return found

    def resolve(self, name: str, arguments: Item) -> tuple[Item, Item]:
        """The tool and its arguments: the tool itself, else the relay, else the name that a client would use."""
        own = self.own
        if name in own:
            return own[name], arguments
        if "call_tool" in own:
            return own["call_tool"], {"name": name, "arguments": arguments}
        other, tool = next(iter(own.items()))
        return tool | {"name": tool["name"].removesuffix(other) + name}, arguments


@dataclass(frozen=True)
class WireFormat:
    """One way to talk to a model."""

    path: str
    """In the path of its requests."""
    read: Callable[[Item], ModelRequest]
    answer: Callable[[ModelRequest, str | Calls], Item]
    """A whole answer: text, or calls of tools."""
    stream: Callable[[Item], Iterator[Item]]
    """The events of an answer."""
    has_event_names: bool = False
    end: str = ""
    """The last line of a stream."""


def _received(parts: str | Sequence[Item]) -> Received:
    """A result that is a text or a list of texts and images, in any of the formats."""
    if isinstance(parts, str):
        return Received(parts)
    texts = [one["text"] for one in parts if "text" in one]
    return Received("\n".join(texts), tuple(data for one in parts if (data := _image(one))))


def _image(part: Item) -> str:
    """The base64 of an image: Messages, Gemini, and the data URLs of Responses and Chat."""
    match part:
        case (
            {"source": {"data": str(data)}} | {"inlineData": {"data": str(data)}} | {"inline_data": {"data": str(data)}}
        ):
            return data
        case {"image_url": {"url": str(url)}} | {"image_url": str(url)}:
            return url.partition(",")[2]
    return ""


# Anthropic Messages


def _read_messages(body: Item) -> ModelRequest:
    blocks = [one for message in body["messages"] if isinstance(message["content"], list) for one in message["content"]]
    results = [_received(one.get("content", "")) for one in blocks if one["type"] == "tool_result"]
    return ModelRequest(body.get("tools") or [], results)


def _answer_messages(request: ModelRequest, step: str | Calls) -> Item:
    content: list[Item] = [{"type": "text", "text": step}]
    if not isinstance(step, str):
        content = [
            {"type": "tool_use", "id": f"toolu_{id}", "name": tool["name"], "input": arguments}
            for id, tool, arguments in _resolved(request, step)
        ]
    return {
        "id": f"msg_{len(request.results)}",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": content,
        "stop_reason": "end_turn" if isinstance(step, str) else "tool_use",
        "stop_sequence": None,
        "usage": _USAGE,
    }


def _stream_messages(answer: Item) -> Iterator[Item]:
    yield {"type": "message_start", "message": answer | {"content": [], "stop_reason": None}}
    for index, block in enumerate(answer["content"]):
        if block["type"] == "text":
            start, delta = block | {"text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            start = block | {"input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": index, "content_block": start}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    stop = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 5}}
    yield {"type": "message_stop"}


# OpenAI Responses


def _read_responses(body: Item) -> ModelRequest:
    tools: list[Item] = []
    for one in body.get("tools") or []:
        tools += [tool | {"namespace": one["name"]} for tool in one["tools"]] if one["type"] == "namespace" else [one]
    outputs = [one["output"] for one in body["input"] if one.get("type", "").endswith("call_output")]
    return ModelRequest([one for one in tools if "name" in one], [_received(one) for one in outputs])


def _answer_responses(request: ModelRequest, step: str | Calls) -> Item:
    said = {"type": "output_text", "text": step, "annotations": []}
    output: list[Item] = [{"type": "message", "id": "m1", "role": "assistant", "content": [said]}]
    if not isinstance(step, str):
        output = [
            {"type": "function_call", "id": f"fc_{id}", "call_id": f"call_{id}", "arguments": json.dumps(arguments)}
            | {key: tool[key] for key in ("name", "namespace") if key in tool}
            for id, tool, arguments in _resolved(request, step)
        ]
    id = f"resp_{len(request.results)}"
    return {"id": id, "object": "response", "status": "completed", "output": output, "usage": _USAGE}


def _stream_responses(answer: Item) -> Iterator[Item]:
    yield {"type": "response.created", "response": answer | {"status": "in_progress", "output": []}}
    for index, item in enumerate(answer["output"]):
        yield {"type": "response.output_item.added", "output_index": index, "item": item}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": answer}


# OpenAI Chat Completions


def _read_chat(body: Item) -> ModelRequest:
    """A result is text; its images are sent in a message of the user after it."""
    results: list[Received] = []
    for message in body["messages"]:
        if message["role"] == "tool":
            results.append(_received(message["content"]))
        elif message["role"] == "user" and results and not isinstance(message["content"], str):
            images = _received(message["content"]).images
            results[-1] = Received(results[-1].text, results[-1].images + images)
    return ModelRequest([one["function"] for one in body.get("tools") or []], results)


def _answer_chat(request: ModelRequest, step: str | Calls) -> Item:
    message: Item = {"role": "assistant", "content": step}
    if not isinstance(step, str):
        message["content"] = None
        message["tool_calls"] = [
            {"index": index, "id": f"call_{id}", "type": "function"}
            | {"function": {"name": tool["name"], "arguments": json.dumps(arguments)}}
            for index, (id, tool, arguments) in enumerate(_resolved(request, step))
        ]
    choice = {"index": 0, "message": message, "finish_reason": "stop" if isinstance(step, str) else "tool_calls"}
    usage = {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10}
    return {"id": "c1", "object": "chat.completion", "created": int(time.time()), "choices": [choice], "usage": usage}


def _stream_chat(answer: Item) -> Iterator[Item]:
    (choice,) = answer["choices"]
    chunk = answer | {"object": "chat.completion.chunk"}
    yield chunk | {"choices": [{"index": 0, "delta": choice["message"], "finish_reason": None}]}
    yield chunk | {"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}


# Gemini


def _read_gemini(body: Item) -> ModelRequest:
    """A result is JSON; its images are parts of it or stand beside it."""
    tools = [one for tool in body.get("tools") or [] for one in tool.get("functionDeclarations", [])]
    results: list[Received] = []
    for part in (part for content in body["contents"] for part in content.get("parts", [])):
        if "functionResponse" in part:
            given = part["functionResponse"]
            (text,) = given["response"].values()
            results.append(Received(str(text), _received(given.get("parts", [])).images))
        elif results and "inlineData" in part:
            results[-1] = Received(results[-1].text, (*results[-1].images, _image(part)))
    return ModelRequest(tools, results)


def _answer_gemini(request: ModelRequest, step: str | Calls) -> Item:
    parts: list[Item] = [{"text": step}]
    if not isinstance(step, str):
        parts = [{"functionCall": {"name": tool["name"], "args": given}} for _, tool, given in _resolved(request, step)]
    candidate = {"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
    usage = {"promptTokenCount": 5, "candidatesTokenCount": 5, "totalTokenCount": 10}
    return {"candidates": [candidate], "usageMetadata": usage}


def _resolved(request: ModelRequest, calls: Calls) -> Iterator[tuple[str, Item, Item]]:
    """An id, the tool as the client names it, and the arguments, for each call."""
    for number, (name, arguments) in enumerate(calls):
        yield f"{len(request.results)}_{number}", *request.resolve(name, arguments)


FORMATS = (
    WireFormat("/messages", _read_messages, _answer_messages, _stream_messages, has_event_names=True),
    WireFormat("/responses", _read_responses, _answer_responses, _stream_responses, has_event_names=True),
    WireFormat("/chat/completions", _read_chat, _answer_chat, _stream_chat, end="data: [DONE]\n\n"),
    WireFormat("enerateContent", _read_gemini, _answer_gemini, lambda answer: iter([answer])),
)
