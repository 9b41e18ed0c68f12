"""Conversations with a chat model, independent of the provider."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from toolroll.result import Image

Role = Literal["system", "user", "assistant", "tool"]
StopReason = Literal["end", "calls", "length", "refused", "unclear"]
"""Why an answer ends; "unclear" when it is neither an answer nor a tool call."""

_CHARS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call that a model asks for."""

    id: str
    name: str
    arguments: str
    """JSON as the model wrote it, possibly invalid."""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a conversation. A message of the role "tool" answers the call `call_id`."""

    role: Role
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    failed: bool = False
    images: tuple[Image, ...] = ()
    provider_blocks: tuple[Mapping[str, Any], ...] = ()
    """Opaque blocks of the provider, such as signed thinking; they are sent back unchanged."""

    @property
    def chars(self) -> int:
        return len(self.text) + sum(len(call.arguments) for call in self.calls)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or several turns."""

    input: int = 0
    output: int = 0
    cached: int = 0
    """Input tokens that the provider read from its cache."""
    estimated: bool = False
    """True if a part is an estimate, because the provider reported no usage."""

    @property
    def total(self) -> int:
        return self.input + self.output

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cached + other.cached,
            self.estimated or other.estimated,
        )


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer of a model, why it stopped, and what it cost."""

    message: ChatMessage
    stop: StopReason
    usage: Usage


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """The conversation, the tools that the model may call, and the bounds of its answer."""

    messages: tuple[ChatMessage, ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    """Definitions in the shape of MCP, `{name, description, inputSchema}`."""
    stop: tuple[str, ...] = ()
    max_tokens: int | None = None
    """Of the answer; None leaves it to the provider."""


def estimate_usage(request: ChatRequest, answer: ChatMessage) -> Usage:
    """Usage by the number of characters, for providers that report none."""
    sent = sum(message.chars for message in request.messages)
    return Usage(sent // _CHARS_PER_TOKEN + 1, answer.chars // _CHARS_PER_TOKEN + 1, estimated=True)
