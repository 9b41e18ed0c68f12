"""Approval by a framework that pauses a call, asks a person, and makes the call again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolroll.host.approval.request import Answer, ApprovalRequest, Approver
from toolroll.policy import commands
from toolroll.policy.effects import Effect
from toolroll.policy.rules import judge

if TYPE_CHECKING:
    from toolroll.kit import Kit


_MAX_CALLS = 1_000
"""How many paused calls are remembered."""


class NeedsApprovalError(Exception):
    """A call stopped because a person must agree first. Nothing that it did was kept."""

    def __init__(self, request: ApprovalRequest) -> None:
        super().__init__(request.text)
        self.request = request


class PausedCalls:
    """The questions that a person was shown, by call. An agreement covers these, and what the call itself shows.

    `scope` is what the framework knows a call by, such as the ids of its conversation and of the call: equal calls of
    two scopes are two calls, so that nobody agrees to a question that only somebody else was shown.
    """

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._shown: dict[str, set[str]] = {}

    def approver(self, name: str, arguments: Any, *, approved: bool, scope: str = "") -> Approver:
        """The approver of one call: it stops the call at a question that the person has not agreed to."""
        key = _key(scope, name, arguments)

        def approve(request: ApprovalRequest) -> Answer:
            shown = self._shown.setdefault(key, set())
            if approved and (request.text in shown or shows_all(self._kit, name, arguments, request)):
                return True
            shown.add(request.text)
            self._drop_oldest()
            raise NeedsApprovalError(request)

        return approve

    def is_paused(self, name: str, arguments: Any, *, scope: str = "") -> bool:
        """Whether such a call has stopped at a question, and has not ended since."""
        return bool(self._shown.get(_key(scope, name, arguments)))

    def end(self, name: str, arguments: Any, *, scope: str = "") -> None:
        """Forget the questions of a call that has ended."""
        self._shown.pop(_key(scope, name, arguments), None)

    def _drop_oldest(self) -> None:
        """Forget calls that nobody has answered for long; one that is answered after all is asked about again."""
        while len(self._shown) > _MAX_CALLS:
            self._shown.pop(next(iter(self._shown)), None)


def asks_before(kit: Kit, name: str, arguments: Mapping[str, Any] | None = None) -> bool:
    """Whether the policy asks about a call of this tool before it runs, and the kit has no approver of its own.

    Without arguments, every command counts as one that is asked about.
    """
    entry = kit.entry(name)
    if entry is None or kit.approver is not None:
        return False
    if judge(entry.effects, kit.mode, kit.policy).decision == "ask":
        return True
    if not entry.effects & kit.policy.ask & Effect.SHELL:
        return False
    command = (arguments or {}).get("command")
    return not isinstance(command, str) or commands.judge(command).decision != "allow"


def shows_all(kit: Kit, name: str, arguments: Any, request: ApprovalRequest) -> bool:
    """Whether somebody who has seen the call has seen all that the request is about."""
    taken = kit.check(name, arguments)
    shown = list(taken.arguments.values())
    is_it = (request.name, request.arguments) == (taken.name, taken.arguments)  # not a call that its program makes
    return is_it and not request.variables and all(text in shown for text in request.runs)


def _key(scope: str, name: str, arguments: Any) -> str:
    return f"{scope} {name} {json.dumps(arguments, sort_keys=True, default=repr)}"
