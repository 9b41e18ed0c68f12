"""The events of a run, as watchers receive them and as a transcript stores them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec


class _Record(msgspec.Struct, frozen=True, tag_field="type", omit_defaults=True):
    pass


class StartRecord(_Record, frozen=True, tag="start"):
    """The run starts."""

    task: str
    model: str
    preset: str
    dialect: str
    style: str
    tools: list[str]
    system: str = ""
    version: int = 1


class RecordedCall(msgspec.Struct, frozen=True):
    """A tool call of the model, with the arguments as it wrote them."""

    id: str
    name: str
    arguments: str


class AssistantRecord(_Record, frozen=True, tag="assistant"):
    """One turn of the model."""

    text: str
    calls: list[RecordedCall] = []
    stop: str = "end"
    input_tokens: int = 0
    output_tokens: int = 0
    provider_blocks: list[dict[str, Any]] = msgspec.field(default_factory=list, name="own")


class ToolRecord(_Record, frozen=True, tag="tool"):
    """The result of a tool call, or its refusal."""

    id: str
    name: str
    status: str
    text: str
    code: str | None = None
    control: str | None = None
    seconds: float = 0.0


class UserRecord(_Record, frozen=True, tag="user"):
    """A message of the loop to the model."""

    text: str


class ShortenRecord(_Record, frozen=True, tag="shortened"):
    """The conversation was too long: this many old results were cut."""

    results: int


class EndRecord(_Record, frozen=True, tag="end"):
    """The run has ended."""

    finished: bool
    reason: str
    text: str
    steps: int
    input_tokens: int
    output_tokens: int


Record = StartRecord | AssistantRecord | ToolRecord | UserRecord | ShortenRecord | EndRecord
Watch = Callable[[Record], None]
