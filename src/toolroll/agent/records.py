"""What happens in a run, record by record: what a watcher is told and what a transcript holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec


class _Record(msgspec.Struct, frozen=True, tag_field="type", omit_defaults=True):
    pass


class Started(_Record, frozen=True, tag="start"):
    """A run begins."""

    task: str
    model: str
    preset: str
    dialect: str
    style: str
    tools: list[str]
    system: str = ""
    version: int = 1


class Calling(msgspec.Struct, frozen=True):
    """A call that the model asks for; the arguments as it wrote them."""

    id: str
    name: str
    arguments: str


class Said(_Record, frozen=True, tag="assistant"):
    """The model has spoken."""

    text: str
    calls: list[Calling] = []
    stop: str = "end"
    input_tokens: int = 0
    output_tokens: int = 0
    own: list[dict[str, Any]] = []


class Answered(_Record, frozen=True, tag="tool"):
    """A call was carried out, or refused."""

    id: str
    name: str
    status: str
    text: str
    code: str | None = None
    control: str | None = None
    seconds: float = 0.0


class Told(_Record, frozen=True, tag="user"):
    """The loop said something to the model."""

    text: str


class Shortened(_Record, frozen=True, tag="shortened"):
    """The conversation was too long: so many old results were cut."""

    results: int


class Ended(_Record, frozen=True, tag="end"):
    """The run is over."""

    finished: bool
    reason: str
    text: str
    steps: int
    input_tokens: int
    output_tokens: int


Record = Started | Said | Answered | Told | Shortened | Ended
Watch = Callable[[Record], None]
