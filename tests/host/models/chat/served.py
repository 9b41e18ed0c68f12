"""A server on the loopback that speaks a provider's real protocol, streaming included, with scripted answers.

It also checks each request as strictly as the providers do: a conversation that they would refuse gets a 400.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.host.http.web import Asked, Server, reply

KEY = "sk-test-0123456789abcdefghijklmnop"
Call = tuple[str, dict[str, Any] | str]
NAMES = {"openai": ("OPENAI_API_KEY", "OPENAI_BASE_URL"), "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")}


@dataclass(frozen=True)
class Say:
    """What the model says: text, calls of tools, and why it stopped if that does not follow from them."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    stop: str = ""
    tokens: tuple[int, int] = (100, 10)
    whole: bool = True
    """False: the connection ends in the middle of the answer."""


Step = Say | bytes | Callable[[Asked], bytes | Iterable[bytes]]


def call(name: str, **arguments: Any) -> Say:
    return Say(calls=((name, arguments),))


class Served(Server):
    """Says each step in turn; the last again and again. `cut` is the size of the pieces a stream is sent in.

    Without `streams` it answers in one piece, as servers do that cannot stream.
    """

    def __init__(self, provider: str, *steps: Step, cut: int = 11, usage: bool = True, streams: bool = True) -> None:
        self.provider = provider
        self.steps = list(steps)
        self.cut = cut
        self.usage = usage
        self.streams = streams
        self._said = 0
        super().__init__(self._answer)

    @property
    def environment(self) -> dict[str, str]:
        key, place = NAMES[self.provider]
        url = self.url("/v1" if self.provider == "openai" else "").rstrip("/")
        return {"TOOLROLL_MODEL": f"{self.provider}:scripted-1", key: KEY, place: url}

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(one.body) for one in self.asked]

    def _answer(self, asked: Asked) -> bytes | Iterable[bytes]:
        body = json.loads(asked.body)
        expected = {"openai": "/v1/chat/completions", "anthropic": "/v1/messages"}[self.provider]
        if asked.path != expected:
            return failure(404, "not_found_error", f"no {asked.path}")
        if (asked.headers.get("authorization"), asked.headers.get("x-api-key")) not in (
            (f"Bearer {KEY}", None),
            (None, KEY),
        ):
            return failure(401, "authentication_error", f"Incorrect API key provided: {asked.headers}")
        if why := {"openai": _wrong_openai, "anthropic": _wrong_anthropic}[self.provider](body):
            return failure(400, "invalid_request_error", why)
        step = self.steps[min(self._said, len(self.steps) - 1)]
        self._said += 1
        if not isinstance(step, Say):
            return step if isinstance(step, bytes) else step(asked)
        made = {"openai": _openai, "anthropic": _anthropic}[self.provider](step, self._said, self.usage)
        if not body.get("stream"):
            return failure(400, "invalid_request_error", "stream: expected true")
        if not self.streams:
            return reply(json.dumps(made), content_type="application/json")
        events = {"openai": _openai_events, "anthropic": _anthropic_events}[self.provider](made)
        return streamed("".join(events).encode(), self.cut, whole=step.whole)


def failure(status: int, kind: str, message: str, **headers: str) -> bytes:
    body = json.dumps({"type": "error", "error": {"type": kind, "message": message}})
    return reply(body, f"{status} No", content_type="application/json", **headers)


def streamed(data: bytes, cut: int = 11, *, whole: bool = True) -> Iterator[bytes]:
    """An answer in chunks that end anywhere, also inside a character."""
    yield b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    end = len(data) if whole else len(data) // 2
    for at in range(0, end, cut):
        piece = data[at : min(at + cut, end)]
        yield f"{len(piece):x}\r\n".encode() + piece + b"\r\n"
    if whole:
        yield b"0\r\n\r\n"


def _arguments(given: dict[str, Any] | str) -> str:
    return given if isinstance(given, str) else json.dumps(given)


def _openai(say: Say, number: int, usage: bool) -> dict[str, Any]:
    calls = [
        {"id": f"call_{number}_{at}", "type": "function", "function": {"name": name, "arguments": _arguments(given)}}
        for at, (name, given) in enumerate(say.calls)
    ]
    message = {"role": "assistant", "content": say.text or None, **({"tool_calls": calls} if calls else {})}
    stop = say.stop or ("tool_calls" if calls else "stop")
    used = {"prompt_tokens": say.tokens[0], "completion_tokens": say.tokens[1], "total_tokens": sum(say.tokens)}
    choice = {"index": 0, "message": message, "finish_reason": stop}
    made = {"id": f"chatcmpl-{number}", "object": "chat.completion", "model": "scripted-1", "choices": [choice]}
    return {**made, "usage": used} if usage else made


def _openai_events(made: dict[str, Any]) -> Iterator[str]:
    """As the real one: the name of a call first, then its arguments bit by bit; usage in an event without choices."""
    message = made["choices"][0]["message"]

    def event(delta: dict[str, Any], stop: str | None = None) -> str:
        return _event(
            {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": stop}]}
        )

    yield ": keep-alive\r\n\r\n"
    yield event({"role": "assistant", "content": ""})
    for at in range(0, len(message["content"] or ""), 5):
        yield event({"content": message["content"][at : at + 5]})
    for index, one in enumerate(message.get("tool_calls", ())):
        function = one["function"]
        yield event(
            {
                "tool_calls": [
                    {
                        "index": index,
                        "id": one["id"],
                        "type": "function",
                        "function": {"name": function["name"], "arguments": ""},
                    }
                ]
            }
        )
        for at in range(0, len(function["arguments"]), 6):
            yield event(
                {"tool_calls": [{"index": index, "function": {"arguments": function["arguments"][at : at + 6]}}]}
            )
    yield event({}, made["choices"][0]["finish_reason"])
    if "usage" in made:
        yield _event({"object": "chat.completion.chunk", "choices": [], "usage": made["usage"]})
    yield "data: [DONE]\n\n"


def _anthropic(say: Say, number: int, usage: bool) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": say.text}] if say.text else []
    for at, (name, given) in enumerate(say.calls):
        content.append({"type": "tool_use", "id": f"toolu_{number}_{at}", "name": name, "input": given})
    stop = say.stop or ("tool_use" if say.calls else "end_turn")
    made = {"id": f"msg_{number}", "type": "message", "role": "assistant", "content": content, "stop_reason": stop}
    return {**made, "usage": {"input_tokens": say.tokens[0], "output_tokens": say.tokens[1]}} if usage else made


def _anthropic_events(made: dict[str, Any]) -> Iterator[str]:
    def event(kind: str, **data: Any) -> str:
        return f"event: {kind}\n{_event({'type': kind, **data})}"

    used = made.get("usage", {})
    yield event(
        "message_start",
        message={**made, "content": [], "stop_reason": None, "usage": {**used, "output_tokens": 1} if used else {}},
    )
    yield event("ping")
    for index, block in enumerate(made["content"]):
        if block["type"] == "text":
            yield event("content_block_start", index=index, content_block={"type": "text", "text": ""})
            deltas = [
                {"type": "text_delta", "text": block["text"][at : at + 5]} for at in range(0, len(block["text"]), 5)
            ]
        else:
            yield event("content_block_start", index=index, content_block={**block, "input": {}})
            given = _arguments(block["input"])
            deltas = [
                {"type": "input_json_delta", "partial_json": given[at : at + 6]} for at in range(0, len(given), 6)
            ]
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    yield event(
        "message_delta",
        delta={"stop_reason": made["stop_reason"]},
        usage={"output_tokens": used["output_tokens"]} if used else {},
    )
    yield event("message_stop")


def _event(data: dict[str, Any]) -> str:
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n"


def _wrong_openai(body: dict[str, Any]) -> str:
    open_calls: list[str] = []
    for message in body["messages"]:
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                return f"{message['tool_call_id']} answers no call"
            open_calls.remove(message["tool_call_id"])
        elif open_calls:
            return f"{open_calls} have no answer"
        if message["role"] == "assistant":
            calls = message.get("tool_calls", ())
            open_calls = [one["id"] for one in calls]
            if not all(_is_object(one["function"]["arguments"]) for one in calls):
                return "arguments are the JSON of an object"
            if not open_calls and not isinstance(message.get("content"), str):
                return "an assistant message needs content or tool_calls"
    return (
        f"{open_calls} have no answer"
        if open_calls
        else _wrong_tools(one["function"]["parameters"] for one in body.get("tools", ()))
    )


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _wrong_anthropic(body: dict[str, Any]) -> str:
    if not body.get("max_tokens"):
        return "max_tokens: field required"
    roles = [one["role"] for one in body["messages"]]
    if roles != ["user", "assistant"] * (len(roles) // 2) + ["user"] * (len(roles) % 2):
        return f"roles must alternate: {roles}"
    open_calls: set[str] = set()
    for message in body["messages"]:
        blocks = message["content"]
        if not blocks or any(one["type"] == "text" and not one["text"].strip() for one in blocks):
            return "text content blocks must be non-empty"
        answered = {one["tool_use_id"] for one in blocks if one["type"] == "tool_result"}
        if message["role"] == "user" and answered != open_calls:
            return f"tool_use {sorted(open_calls)}, tool_result {sorted(answered)}"
        if any(not isinstance(one["input"], dict) for one in blocks if one["type"] == "tool_use"):
            return "tool_use.input: should be a valid dictionary"
        open_calls = {one["id"] for one in blocks if one["type"] == "tool_use"}
    return _wrong_tools(one["input_schema"] for one in body.get("tools", ()))


def _wrong_tools(schemas: Iterable[dict[str, Any]]) -> str:
    return "" if all(one.get("type") == "object" for one in schemas) else "a tool's schema is an object"
