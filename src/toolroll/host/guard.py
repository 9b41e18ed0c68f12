"""The door that every call passes: carries out the policy and asks the approver."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from toolroll.policy.effects import Effect
from toolroll.policy.rules import Policy, Verdict, judge
from toolroll.result import ErrorCode, ToolError


@dataclass(frozen=True, slots=True)
class Request:
    """What the approver is asked: exactly the call that would run."""

    name: str
    effects: Effect
    arguments: Mapping[str, Any]
    reason: str


Approver = Callable[[Request], bool | Literal["session"]]


class Guard:
    """Authorises calls. An approver that answers "session" is not asked again for that tool."""

    def __init__(self, policy: Policy, mode: str, approve: Approver | None = None) -> None:
        self.policy = policy
        self.mode = mode
        self._approve = approve
        self._lock = threading.Lock()
        self._granted: set[str] = set()
        self._verdicts: dict[int, Verdict] = {}

    def authorise(self, name: str, effects: Effect, arguments: Mapping[str, Any]) -> None:
        """Return if the call may run; raise ToolError if not."""
        verdict = self._verdict(effects)
        if verdict.decision == "allow" or (verdict.decision == "ask" and name in self._granted):
            return
        if verdict.decision == "deny":
            raise ToolError(ErrorCode.PERMISSION, f"Tool {name!r} is {verdict.reason}. Use another or ask the user.")
        self._ask(Request(name, effects, arguments, verdict.reason))

    def _verdict(self, effects: Effect) -> Verdict:
        found = self._verdicts.get(effects.value)
        if found is None:
            found = self._verdicts[effects.value] = judge(effects, self.mode, self.policy)
        return found

    def _ask(self, request: Request) -> None:
        # One question at a time: two threads must not race for one answer of one person.
        with self._lock:
            answer = self._approve(request) if self._approve else False
            if answer == "session":
                self._granted.add(request.name)
        if not answer:
            raise ToolError(
                ErrorCode.PERMISSION,
                f"Tool {request.name!r} {request.reason} and did not get it. Ask the user, or do without.",
            )
