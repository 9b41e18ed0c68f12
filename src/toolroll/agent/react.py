"""Tool calls in text, for models without function calling: Thought, Action, Action Input, Observation."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from toolroll.host.models.chat.messages import Message, Stop, ToolCall, Turn

if TYPE_CHECKING:
    from toolroll.agent.model_client import Mind
    from toolroll.host.models.chat.model import Heard
    from toolroll.host.runtime.cancellation import Token

_RULES = """\
You can use these tools:

{tools}

Answer in exactly this form, one action at a time:

Thought: what you think
Action: the name of one tool
Action Input: the arguments, as one JSON object

Then stop: the result is given to you as an Observation. When the task is done, answer in this form instead:

Thought: what you think
Final Answer: the result"""
UNCLEAR = (
    "Your answer had neither an Action with its Action Input nor a Final Answer. Answer in the form that you were told."
)
_OBSERVATION = "Observation:"
_MARK = r"^[ \t>*#`-]*(?:{})[ \t*`]*:[ \t*]*"
_FINAL = re.compile(_MARK.format("final[ _]answer"), re.IGNORECASE | re.MULTILINE)
_ACTION = re.compile(_MARK.format("action"), re.IGNORECASE | re.MULTILINE)
_INPUT = re.compile(_MARK.format("action[ _]input"), re.IGNORECASE | re.MULTILINE)
_SEEN = re.compile(_MARK.format("observation"), re.IGNORECASE | re.MULTILINE)
_FENCE = re.compile(r"\A```\w*\n(.*?)(?:\n```|\Z)", re.DOTALL)
_NAME = re.compile(r"[`\"'*\s]*([\w.:-]+)")


class Textual:
    """A model that is asked in text and whose text is read as calls. Otherwise a mind like any other."""

    def __init__(self, mind: Mind) -> None:
        self._mind = mind
        self.name = mind.name

    def turn(
        self,
        messages: Iterable[Message],
        token: Token,
        *,
        tools: Iterable[Mapping[str, Any]] = (),
        stop: Iterable[str] = (),
        hear: Heard | None = None,
    ) -> Turn:
        """What the model says next."""
        given = list(tools)
        asked = [_spoken(one) for one in messages]
        rules = _RULES.format(tools="\n".join(map(_described, given)))
        at = 1 if asked and asked[0].role == "system" else 0
        asked[:at] = [Message("system", "\n\n".join([*(one.text for one in asked[:at]), rules]))]
        turn = self._mind.turn(asked, token, stop=(f"\n{_OBSERVATION}", *stop), hear=hear)
        if turn.stop in ("length", "refused"):
            return turn
        number = sum(one.role == "assistant" for one in asked) + 1
        return _read(turn, {str(one["name"]): one["inputSchema"] for one in given}, number)


def _described(tool: Mapping[str, Any]) -> str:
    schema = json.dumps(tool["inputSchema"].get("properties", {}), ensure_ascii=False)
    required = ", ".join(tool["inputSchema"].get("required", ())) or "none"
    return f"{tool['name']}: {tool['description']}\n  arguments: {schema}\n  required: {required}"


def _spoken(message: Message) -> Message:
    """A message as text. What a tool gave cannot pose as the model's own words: each line stays an observation's."""
    if message.role != "tool":
        return replace(message, calls=())
    return Message("user", f"{_OBSERVATION} {message.text}", images=message.images)


def _read(turn: Turn, schemas: Mapping[str, Mapping[str, Any]], number: int) -> Turn:
    """The turn with the call that its text asks for, or with its final answer alone."""
    text = turn.message.text
    if (seen := _SEEN.search(text)) is not None:
        text = text[: seen.start()]  # the model went on and made a result up
    final, action = _FINAL.search(text), _ACTION.search(text)
    if final is not None and (action is None or final.start() < action.start()):
        return _turn(turn, text[final.end() :].strip(), (), "end")
    if action is None:
        return _turn(turn, text, (), "unclear")
    given = _INPUT.search(text, action.end())
    name = _NAME.match(text[action.end() : given.start() if given else len(text)])
    if name is None:
        return _turn(turn, text, (), "unclear")
    raw, end = ("", action.end() + name.end()) if given is None else _input(text, given.end())
    call = ToolCall(f"action_{number}", name[1], _arguments(raw, schemas.get(name[1], {})))
    return _turn(turn, text[:end].rstrip() if given else text.rstrip(), (call,), "calls")


def _turn(turn: Turn, text: str, calls: tuple[ToolCall, ...], stop: Stop) -> Turn:
    return replace(turn, message=replace(turn.message, text=text, calls=calls), stop=stop)


def _input(text: str, at: int) -> tuple[str, int]:
    """The input and where it ends: one JSON value if there is one, else up to the next thing that the form has."""
    rest = text[at:]
    lead = len(rest) - len(rest.lstrip())
    fence = _FENCE.match(rest[lead:])
    inner = fence[1] if fence else rest[lead:]
    try:
        _, length = json.JSONDecoder(strict=False).raw_decode(inner)
    except ValueError:
        stop = min((found.start() for mark in (_ACTION, _FINAL) if (found := mark.search(inner))), default=len(inner))
        return inner[:stop].strip(), len(text)
    return inner[:length], len(text) if fence else at + lead + length


def _arguments(raw: str, schema: Mapping[str, Any]) -> str:
    """JSON for the input. A bare text is the one argument that a tool needs; what is broken is left to be told."""
    if not raw:
        return "{}"
    value: Any
    try:
        value = json.loads(raw, strict=False)  # line ends in texts are usual here, and clear
    except ValueError:
        value = None if raw.startswith(("{", "[")) else raw.strip("`").strip()
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    required = list(schema.get("required", ()))
    if isinstance(value, str | int | float) and len(required) == 1:
        return json.dumps({required[0]: value}, ensure_ascii=False)
    return raw
