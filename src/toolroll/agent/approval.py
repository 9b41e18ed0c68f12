"""Ask a person before a call runs: show the whole call and, for a change of files, its diff."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from toolroll.dialect import Relay
from toolroll.host.approval.request import MAX_ROWS, Answer, ApprovalRequest, CannotAskError, rows
from toolroll.policy.effects import Effect
from toolroll.text.diff import unified
from toolroll.text.escape import escape_line, escape_text

if TYPE_CHECKING:
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
CHOICES = "Allow? [y]es, [n]o, for this [s]ession, [a]lways: "
CHOICES_ONCE = "Allow? [y]es, [n]o: "
_MORE_THAN_FILES = Effect.RUN | Effect.SHELL | Effect.DELETE | Effect.NETWORK


@dataclass(frozen=True, slots=True)
class ApprovalPrompt:
    """The question to a person."""

    text: str
    """The whole request, its title on the first line."""
    choices: str = CHOICES
    diff: str = ""
    """The changes of files that the call would make; empty if the diff is too long to show."""


def build_prompt(request: ApprovalRequest, kit: Kit) -> ApprovalPrompt:
    """The question for a request: the whole request and, for a change of files, its diff if one can be made."""
    diff = None
    if Effect.WRITE in request.effects and not request.effects & _MORE_THAN_FILES:
        diff = preview_diff(kit, request.name, request.arguments)
    fits = diff is not None and rows(diff) + request.rows <= MAX_ROWS
    return ApprovalPrompt(request.text, CHOICES if request.key else CHOICES_ONCE, diff if diff and fits else "")


def parse_answer(text: str) -> Answer | None:
    """The meaning of a typed answer; None if it has none."""
    return _ANSWERS.get(text.strip().lower())


def refuse_unasked(_request: ApprovalRequest) -> Answer:
    """The approver where there is no terminal to ask on."""
    raise CannotAskError("there is no terminal to ask on; the user can run this on one, or with --yes")


def make_approver(kit: Callable[[], Kit], ask: Callable[[ApprovalPrompt], str]) -> Callable[[ApprovalRequest], Answer]:
    """An approver that asks a person, and repeats the question until the answer has a meaning."""

    def approve(request: ApprovalRequest) -> Answer:
        prompt = build_prompt(request, kit())
        while (given := parse_answer(ask(prompt))) is None:
            pass
        return given

    return approve


def preview_diff(kit: Kit, name: str, arguments: Mapping[str, Any]) -> str | None:
    """The diff that a call would make, from running it on copies of its files; None if that fails."""
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
