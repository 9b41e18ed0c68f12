"""What a person is asked before a call runs: exactly the call, and for a change of files the diff that it makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec

from toolroll.dialect import Relay
from toolroll.policy.effects import Effect
from toolroll.result import ErrorCode, ToolError
from toolroll.text.diff import unified

if TYPE_CHECKING:
    from toolroll.host.guard import Answer, Request
    from toolroll.kit import Kit

_ANSWERS: dict[str, Answer] = {
    "y": True,
    "yes": True,
    "n": False,
    "no": False,
    "": False,
    "s": "session",
    "session": "session",
    "a": "always",
    "always": "always",
}
PROMPT = "Allow? [y]es, [n]o, for this [s]ession, [a]lways: "
_MORE_THAN_FILES = Effect.RUN | Effect.SHELL | Effect.DELETE | Effect.NETWORK


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked."""

    title: str
    body: str
    diff: bool = False
    """Whether the body is a diff."""


def question(request: Request, kit: Kit) -> Question:
    """The question for a request: its diff, its commands or its arguments, complete."""
    title = f"{request.name}: {request.reason}"
    diff = None
    if Effect.WRITE in request.effects and not request.effects & _MORE_THAN_FILES:
        diff = rehearsed(kit, request.name, request.arguments)
    if diff is not None:
        return Question(title, diff, diff=True)
    body = "\n".join(f"  {name}: {_indented(value)}" for name, value in request.arguments.items())
    if request.commands:
        body += "\n  asked about:\n" + "\n".join(f"    {_indented(one)}" for one in request.commands)
    return Question(title, body)


def answer(text: str) -> Answer | None:
    """What a typed answer means; None when it means nothing."""
    return _ANSWERS.get(text.strip().lower())


def nobody(request: Request) -> Answer:
    """The approver where nobody can be asked."""
    raise ToolError(
        ErrorCode.PERMISSION,
        f"{request.name!r} {request.reason}, and nobody is there to be asked. Do without it. "
        "(The user can run this on a terminal, or with --yes.)",
    )


def asking(kit: Callable[[], Kit], ask: Callable[[Question], str]) -> Callable[[Request], Answer]:
    """An approver that asks a person, again until the answer means something."""

    def approve(request: Request) -> Answer:
        shown = question(request, kit())
        while (given := answer(ask(shown))) is None:
            pass
        return given

    return approve


def rehearsed(kit: Kit, name: str, arguments: Mapping[str, Any]) -> str | None:
    """The diff that a call would make, found by making it on copies of its files; None when it cannot be told."""
    from toolroll.host.copies import Copies
    from toolroll.kit import Kit as Rehearsal

    entry = {one.name: one for one in kit.entries()}.get(name)
    if entry is None or isinstance(entry, Relay):
        return None
    view = entry.pick(arguments)
    paths = view.tool.paths_in(view.bind(arguments))
    if not paths:
        return None
    with Copies(kit.workspace, only=paths) as copies:
        folder = copies.make("rehearsal")
        policy = replace(kit.policy, ask=Effect.NONE, rules=())
        with Rehearsal(folder, kit.dialect, policy=policy, state_dir=copies.state("rehearsal"), tools="all") as there:
            if not there.call(name, arguments).ok:
                return None
        changes = copies.changes("rehearsal")
    if not changes or any(one.binary for one in changes):
        return None
    return "\n".join(f"{one.path}\n{unified(one.text(one.before), one.text(one.after))}" for one in changes)


def _indented(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text.replace("\n", "\n    ")
