"""Ask a person before a call runs: show the whole call and, for a change of files, its diff."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from toolroll.control.preview import preview_request
from toolroll.host.approval.request import Answer, ApprovalRequest, CannotAskError, ParallelApprover, read_answer
from toolroll.host.approval.waiting import WaitingApprovals
from toolroll.host.runtime.cancellation import CancelToken

if TYPE_CHECKING:
    from toolroll.kit import Kit

_WORDS = {
    **dict.fromkeys(("y", "yes"), "once"),
    **dict.fromkeys(("n", "no", ""), "no"),
    **dict.fromkeys(("s", "session"), "session"),
    **dict.fromkeys(("a", "always"), "always"),
}
CHOICES = "Allow? [y]es, [n]o, for this [s]ession, [a]lways: "
CHOICES_ONCE = "Allow? [y]es, [n]o: "
_NO_TERMINAL = "there is no terminal to ask on; the user can run this on one, or with --yes"


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
    return ApprovalPrompt(request.text, CHOICES if request.key else CHOICES_ONCE, preview_request(request, kit))


def parse_answer(typed: str) -> str | None:
    """The word for `read_answer` that a typed line stands for; None if it has no meaning."""
    return _WORDS.get(typed.strip().lower())


def make_approver(
    kit: Callable[[], Kit],
    ask: Callable[[ApprovalPrompt, CancelToken], str] | None,
    approvals: WaitingApprovals,
    token: CancelToken,
    why_not: str = _NO_TERMINAL,
) -> Callable[[ApprovalRequest], Answer]:
    """An approver that asks a person, and repeats the question until the answer has a meaning.

    `ask` gets a token that is cancelled when the request was answered elsewhere, such as in the console. Without `ask`
    there is no terminal, as `why_not` says. `token` ends the wait.
    """
    terminal = threading.Lock()

    def approve(request: ApprovalRequest) -> Answer:
        def asker(withdrawn: CancelToken) -> Answer:
            if ask is None:
                raise CannotAskError(why_not)
            prompt = build_prompt(request, kit())
            while (given := parse_answer(ask(prompt, withdrawn))) is None:
                withdrawn.check()
            return read_answer(given)

        preview = partial(preview_request, kit=kit())
        return approvals.ask(request, token, asker=asker, turn=terminal, preview=preview)

    return ParallelApprover(approve)
