"""One call: who asked for what, how it is cancelled, and its limits. Engines take it; tools get it as `ctx.call`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.event_loop import EventLoop
from toolroll.policy.limits import Limits

if TYPE_CHECKING:
    from toolroll.text.files.changes import Change

Progress = Callable[[float, float | None, str], None]  # takes what is done, the total if it is known, and a short note


def silent(_done: float, _total: float | None, _note: str) -> None:
    """Report nothing: the caller did not ask for progress."""


def go_on_from(progress: Progress, start: float) -> Progress:
    """Report a further part of a call above what was reported before: clients take growing values only."""
    return lambda done, total, note: progress(start + done, total if total is None else start + total, note)


@dataclass(slots=True)
class Call:
    """A call from its start to its result. The executor sets the name and the arguments."""

    limits: Limits = field(default_factory=Limits)
    token: CancelToken = field(default_factory=CancelToken)  # cancels the call and holds its deadline
    session: str = ""
    message: str = ""  # the message of the conversation that the call belongs to
    progress: Progress = silent
    loop: EventLoop = field(default_factory=EventLoop)  # runs tools that are coroutines
    tools: str = ""  # which tools the model is shown; empty for the kit's own choice
    id: str = ""  # what the provider's answer calls it
    client: str = ""  # who makes it, where several may
    cwd: str = "."  # the folder of the workspace where relative paths begin
    name: str = ""  # the name of the tool in the dialect
    arguments: Mapping[str, Any] = field(default_factory=dict)  # the checked arguments, by the dialect's names
    changes: list[Change] = field(default_factory=list)  # what its commands have changed in the workspace
    notes: list[str] = field(default_factory=list)  # what is to be said about these changes
    is_relayed: bool = False  # it came by a tool that calls others
    is_inner: bool = False  # a program that `python` runs has made it
    is_whole: bool = False  # its data goes to a program, which gets all of it or an error
    is_compared: bool = False  # it runs in a fork, which is compared with its base: its commands need no capture
