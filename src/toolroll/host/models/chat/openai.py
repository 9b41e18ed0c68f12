"""The chat/completions protocol, as OpenAI and many other servers speak it."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from toolroll.host.models.chat.messages import Ask, Message, Stop, ToolCall, Turn, Usage
from toolroll.host.models.chat.parse import Garbled, arguments_in, listed, number, object_in, text_in
from toolroll.result import Image

PATH = "/chat/completions"
_PICTURES = "The pictures that the tools have shown:"
_REASONS = re.compile(r"(?:openai/)?(?:o\d|gpt-5)")  # models that refuse `stop` and the older name of the bound
_REFUSED = "content_filter"  # a refusal in words of its own comes with the stop of any answer
_STOPS: dict[str, Stop] = {
    "stop": "end",
    "tool_calls": "calls",
    "function_call": "calls",
    "length": "length",
    _REFUSED: "refused",
}


def headers(key: str) -> dict[str, str]:
    """The headers of a request; without a key there is none to send."""
    return {"authorization": f"Bearer {key}"} if key else {}


def body(model: str, ask: Ask, *, stream: bool) -> dict[str, Any]:
    """A request."""
    made: dict[str, Any] = {"model": model, "messages": [_sent(one) for one in _with_pictures_apart(ask.messages)]}
    if ask.tools:
        made["tools"] = [_tool(one) for one in ask.tools]
    reasons = _REASONS.match(model) is not None
    if ask.stop and not reasons:
        made["stop"] = list(ask.stop)
    if ask.most_tokens:
        made["max_completion_tokens" if reasons else "max_tokens"] = ask.most_tokens
    if stream:
        made |= {"stream": True, "stream_options": {"include_usage": True}}
    return made


def read(answer: Mapping[str, Any]) -> Turn:
    """A whole answer; raises Garbled when it is none."""
    choice = next(iter(listed(answer, "choices")), None)
    if choice is None:
        raise Garbled("it has no choices")
    message = object_in(choice, "message")
    calls = tuple(
        _call(place, object_in(one, "function"), text_in(one, "id"))
        for place, one in enumerate(listed(message, "tool_calls"))
    )
    refusal = text_in(message, "refusal")
    stop = _REFUSED if refusal else text_in(choice, "finish_reason")
    return _turn(text_in(message, "content") or refusal, calls, stop, usage(answer.get("usage")))


def usage(given: Any) -> Usage:
    """The tokens that an answer tells; nothing when it tells none."""
    if not isinstance(given, Mapping):
        return Usage()
    details = object_in(given, "prompt_tokens_details")
    return Usage(number(given, "prompt_tokens"), number(given, "completion_tokens"), number(details, "cached_tokens"))


class Reader:
    """Puts a turn together from the events of a stream. `text` is what came with the last event."""

    def __init__(self) -> None:
        self.ended = False
        self.text = ""
        self._said: list[str] = []
        self._calls: dict[int, dict[str, str]] = {}
        self._stop = ""
        self._refused = False
        self._usage = Usage()

    def take(self, event: Mapping[str, Any]) -> None:
        """One event; raises Garbled when it makes no sense."""
        self.text = ""
        if event.get("usage"):
            self._usage = usage(event["usage"])
        for choice in listed(event, "choices")[:1]:
            delta = object_in(choice, "delta")
            refusal = text_in(delta, "refusal")
            self.text = text_in(delta, "content") or refusal
            self._said.append(self.text)
            self._refused = self._refused or bool(refusal)
            for place, one in enumerate(listed(delta, "tool_calls")):
                self._add(one, place)
            self._stop = text_in(choice, "finish_reason") or self._stop

    def done(self) -> None:
        """The stream says that it is over."""
        self.ended = True

    def turn(self) -> Turn:
        """The whole turn; raises Garbled when the stream never came to its end."""
        if not self._stop and not self.ended:
            raise Garbled("it ends in the middle")
        calls = [self._calls[place] for place in sorted(self._calls)]
        made = tuple(_call(place, one, one["id"]) for place, one in enumerate(calls))
        return _turn("".join(self._said), made, _REFUSED if self._refused else self._stop, self._usage)

    def _add(self, delta: Mapping[str, Any], place: int) -> None:
        # Some servers leave the index out when there is but one call.
        index = delta.get("index")
        call = self._calls.setdefault(
            index if isinstance(index, int) else place, {"id": "", "name": "", "arguments": ""}
        )
        function = object_in(delta, "function")
        call["id"] = call["id"] or text_in(delta, "id")
        call["name"] += text_in(function, "name")
        call["arguments"] += text_in(function, "arguments")


def _turn(text: str, calls: tuple[ToolCall, ...], stop: str, used: Usage) -> Turn:
    reason = _STOPS.get(stop, "end")
    if calls and reason == "end":
        reason = "calls"  # not all servers tell the difference
    return Turn(Message("assistant", text, calls), reason, used)


def _arguments(call: ToolCall) -> str:
    """As they were written, if they are an object: some servers refuse a conversation in which they are not."""
    given = arguments_in(call.arguments)
    return call.arguments if call.arguments and "broken" not in given else _written(given)


def _call(place: int, function: Mapping[str, Any], identifier: str) -> ToolCall:
    arguments = function.get("arguments")
    if isinstance(arguments, Mapping):  # as some servers send it
        arguments = _written(arguments)
    return ToolCall(identifier or f"call_{place}", text_in(function, "name"), str(arguments or ""))


def _written(arguments: Mapping[str, Any]) -> str:
    import msgspec

    return msgspec.json.encode(arguments).decode()


def _tool(definition: Mapping[str, Any]) -> dict[str, Any]:
    function = {
        "name": definition["name"],
        "description": definition["description"],
        "parameters": definition["inputSchema"],
    }
    return {"type": "function", "function": function}


def _with_pictures_apart(messages: Iterable[Message]) -> Iterator[Message]:
    """A tool's message has no place for pictures, and nothing may stand between them: they follow as the user's."""
    pictures: tuple[Image, ...] = ()
    for message in messages:
        if message.role != "tool" and pictures:
            yield Message("user", _PICTURES, images=pictures)
            pictures = ()
        if message.role == "tool":
            pictures += message.images
        yield message
    if pictures:
        yield Message("user", _PICTURES, images=pictures)


def _sent(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call, "content": message.text}
    if message.calls:
        calls = [
            {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": _arguments(one)}}
            for one in message.calls
        ]
        return {"role": message.role, "content": message.text or None, "tool_calls": calls}
    if not message.images:
        return {"role": message.role, "content": message.text}
    pictures = [
        {"type": "image_url", "image_url": {"url": f"data:{one.mime};base64,{base64.b64encode(one.data).decode()}"}}
        for one in message.images
    ]
    return {"role": message.role, "content": [{"type": "text", "text": message.text}, *pictures]}
