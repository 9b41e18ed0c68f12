"""ReAct: tool calls in text, for models without function calling (Thought, Action, Action Input, Observation)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from toolroll.host.models.chat.messages import ChatMessage, ChatRequest, StopReason, ToolCall, Turn
from toolroll.schema.argument_text import read_value

if TYPE_CHECKING:
    from toolroll.agent.model_client import ModelClient
    from toolroll.host.models.chat.model import OnText
    from toolroll.host.runtime.cancellation import CancelToken

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
UNCLEAR = "Your answer had neither an Action with its Action Input nor a Final Answer. Answer in the described form."
_OBSERVATION = "Observation:"
_MARK = r"^[ \t>*#`-]*(?:{})[ \t*`]*:[ \t*]*"
_FINAL = re.compile(_MARK.format("final[ _]answer"), re.IGNORECASE | re.MULTILINE)
_ACTION = re.compile(_MARK.format("action"), re.IGNORECASE | re.MULTILINE)
_INPUT = re.compile(_MARK.format("action[ _]input"), re.IGNORECASE | re.MULTILINE)
_OBSERVED = re.compile(_MARK.format("observation"), re.IGNORECASE | re.MULTILINE)
_FENCE = re.compile(r"\A```\w*\n(.*?)(?:\n```|\Z)", re.DOTALL)
_NAME = re.compile(r"[`\"'*\s]*([\w.:-]+)")


class ReactModel:
    """A model that gets the tools as text, and whose text is parsed for calls."""

    def __init__(self, model: ModelClient) -> None:
        self._model = model
        self.name = model.name

    def turn(self, request: ChatRequest, token: CancelToken, on_text: OnText | None = None) -> Turn:
        asked = [_as_text(one) for one in request.messages]
        rules = _RULES.format(tools="\n".join(map(_describe_tool, request.tools)))
        at = 1 if asked and asked[0].role == "system" else 0
        asked[:at] = [ChatMessage("system", "\n\n".join([*(one.text for one in asked[:at]), rules]))]
        stop = (f"\n{_OBSERVATION}", *request.stop)
        turn = self._model.turn(replace(request, messages=tuple(asked), tools=(), stop=stop), token, on_text)
        if turn.stop in ("length", "refused"):
            return turn
        number = sum(one.role == "assistant" for one in asked) + 1
        return _parse_turn(turn, {str(one["name"]): one["inputSchema"] for one in request.tools}, number)


def _describe_tool(tool: Mapping[str, Any]) -> str:
    schema = json.dumps(tool["inputSchema"].get("properties", {}), ensure_ascii=False)
    required = ", ".join(tool["inputSchema"].get("required", ())) or "none"
    return f"{tool['name']}: {tool['description']}\n  arguments: {schema}\n  required: {required}"


def _as_text(message: ChatMessage) -> ChatMessage:
    """A message as text. Output of a tool stays an observation of the user role, never text of the model."""
    if message.role != "tool":
        return replace(message, calls=())
    return ChatMessage("user", f"{_OBSERVATION} {message.text}", images=message.images)


def _parse_turn(turn: Turn, schemas: Mapping[str, Mapping[str, Any]], number: int) -> Turn:
    """The turn with the call in its text, or with its final answer alone."""
    text = turn.message.text
    if (seen := _OBSERVED.search(text)) is not None:
        text = text[: seen.start()]  # the model invented a result
    final, action = _FINAL.search(text), _ACTION.search(text)
    if final is not None and (action is None or final.start() < action.start()):
        return _replace_turn(turn, text[final.end() :].strip(), (), "end")
    if action is None:
        return _replace_turn(turn, text, (), "unclear")
    given = _INPUT.search(text, action.end())
    name = _NAME.match(text[action.end() : given.start() if given else len(text)])
    if name is None:
        return _replace_turn(turn, text, (), "unclear")
    behind = action.end() + name.end()  # where some write the arguments: read[{"path": "a.py"}], read({...})
    if given is None and (opened := text[behind : behind + 1]) and opened in "[(":
        raw, end = _parse_input(text, behind + 1)
        raw = raw.rstrip().removesuffix("]" if opened == "[" else ")") if not raw.endswith("}") else raw
    elif given is None:
        raw, end = "", behind
    else:
        raw, end = _parse_input(text, given.end())
    call = ToolCall(f"action_{number}", name[1], _build_arguments(raw, schemas.get(name[1], {})))
    return _replace_turn(turn, text[:end].rstrip() if given else text.rstrip(), (call,), "calls")


def _replace_turn(turn: Turn, text: str, calls: tuple[ToolCall, ...], stop: StopReason) -> Turn:
    return replace(turn, message=replace(turn.message, text=text, calls=calls), stop=stop)


def _parse_input(text: str, at: int) -> tuple[str, int]:
    """The input and where it ends: one JSON value, or else all text up to the next Action or Final Answer."""
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


def _build_arguments(raw: str, schema: Mapping[str, Any]) -> str:
    """JSON for the input. A bare text becomes the only required argument; invalid JSON stays for the tool's error."""
    if not raw:
        return "{}"
    value: Any
    try:
        value = read_value(raw)
    except ValueError:
        value = None if raw.startswith(("{", "[")) else raw.strip("`").strip()
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    required = list(schema.get("required", ()))
    if isinstance(value, str | int | float) and len(required) == 1:
        return json.dumps({required[0]: value}, ensure_ascii=False)
    return raw
