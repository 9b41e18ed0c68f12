"""What is said to a model and by it, in no provider's words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from toolroll.result import Image

Role = Literal["system", "user", "assistant", "tool"]
Stop = Literal["end", "calls", "length", "refused", "unclear"]
"""Why an answer ends; "unclear" when it could not be read as an answer or a call."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that a model asks for."""

    id: str
    name: str
    arguments: str
    """JSON as the model wrote it, perhaps broken."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation. Those of a tool answer the call with this `call` identifier."""

    role: Role
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    call: str = ""
    failed: bool = False
    images: tuple[Image, ...] = ()
    own: tuple[Mapping[str, Any], ...] = ()
    """Blocks that only the provider understands, such as signed thoughts; they are sent back as they came."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or several turns."""

    input: int = 0
    output: int = 0
    cached: int = 0
    """Those of the input that the provider had in its cache."""
    estimated: bool = False
    """Whether a part was counted here, because the provider told none."""

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
    """What a model answered, why it stopped there, and what it cost."""

    message: Message
    stop: Stop
    usage: Usage


@dataclass(frozen=True, slots=True)
class Ask:
    """What a model is asked: the conversation, the tools it may call, and what bounds its answer."""

    messages: tuple[Message, ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    """Definitions in the shape of MCP, `{name, description, inputSchema}`."""
    stop: tuple[str, ...] = ()
    """Texts that end the answer."""
    most_tokens: int | None = None
    """Of the answer; None leaves it to the provider."""


def estimated(text_in: int, text_out: int) -> Usage:
    """Usage by the number of characters, for providers that tell none."""
    return Usage(text_in // 4 + 1, text_out // 4 + 1, estimated=True)
