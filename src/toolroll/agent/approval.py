"""What a person is asked before a call runs: the whole call, and for a change of files also the diff it makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from toolroll.dialect import Relay
from toolroll.host.approval.request import MAX_ROWS, CannotAskError, rows
from toolroll.policy.effects import Effect
from toolroll.text.diff import unified
from toolroll.text.escape import escape_line, escape_text

if TYPE_CHECKING:
    from toolroll.host.approval.request import Answer, ApprovalRequest
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
ONCE = "Allow? [y]es, [n]o: "
_MORE_THAN_FILES = Effect.RUN | Effect.SHELL | Effect.DELETE | Effect.NETWORK


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked."""

    text: str
    """The whole request, its title on the first line."""
    prompt: str = PROMPT
    diff: str = ""
    """What the call would change, as a help: a long one is cut, the text never is."""


def question(request: ApprovalRequest, kit: Kit) -> Question:
    """The question for a request: all of it, and for a change of files also its diff where there is one."""
    diff = None
    if Effect.WRITE in request.effects and not request.effects & _MORE_THAN_FILES:
        diff = rehearsed(kit, request.name, request.arguments)
    fits = diff is not None and rows(diff) + request.rows <= MAX_ROWS
    return Question(request.text, PROMPT if request.key else ONCE, diff if diff and fits else "")


def answer(text: str) -> Answer | None:
    """What a typed answer means; None when it means nothing."""
    return _ANSWERS.get(text.strip().lower())


def nobody(_request: ApprovalRequest) -> Answer:
    """The approver where no person can be asked."""
    raise CannotAskError("there is no terminal to ask on; the user can run this on one, or with --yes")


def asking(kit: Callable[[], Kit], ask: Callable[[Question], str]) -> Callable[[ApprovalRequest], Answer]:
    """An approver that asks a person, again until the answer means something."""

    def approve(request: ApprovalRequest) -> Answer:
        shown = question(request, kit())
        while (given := answer(ask(shown))) is None:
            pass
        return given

    return approve


def rehearsed(kit: Kit, name: str, arguments: Mapping[str, Any]) -> str | None:
    """The diff that a call would make, found by making it on copies of its files; None when it cannot be told."""
    from toolroll.host.files.copies import Copies
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
    diffs = ((one.path, unified(one.text(one.before), one.text(one.after))) for one in changes)
    return "\n".join(f"{escape_line(path)}\n{escape_text(diff)}" for path, diff in diffs)
