"""The door that every call and every command passes: carries out the policy and asks the approver."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from toolroll.policy.effects import Effect
from toolroll.policy.rules import Policy, Verdict, has_paths, judge, judge_path
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.grants import Grants
    from toolroll.policy.commands import Judgement, Part, Rule


@dataclass(frozen=True, slots=True)
class Request:
    """What the approver is asked: exactly the call that would run."""

    name: str
    effects: Effect
    arguments: Mapping[str, Any]
    reason: str
    commands: tuple[str, ...] = ()
    """The single commands of a shell text that need the approval."""


Answer = bool | Literal["once", "session", "always"]
Approver = Callable[[Request], Answer]


class Guard:
    """Authorises calls and commands. What the approver grants for the session or for always is not asked again."""

    def __init__(self, policy: Policy, mode: str, approve: Approver | None = None) -> None:
        self.policy = policy
        self.mode = mode
        self._approve = approve
        self._grants: Grants | None = None
        self._lock = threading.Lock()
        self._granted: set[str] = set()
        self._rules: tuple[Rule, ...] = ()
        self._verdicts: dict[int, Verdict] = {}
        self._by_path = has_paths(policy)

    def remember(self, grants: Grants) -> None:
        """Take over what was granted for always, and keep there what will be."""
        self._grants = grants
        self._granted.update(grants.tools)
        self._rules = (*self._rules, *grants.rules)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that commands are judged by: the operator's, and what the approver has granted."""
        return (*self.policy.rules, *self._rules)

    def always_passes(self, effects: Effect, *, about_paths: bool) -> bool:
        """Whether calls with these effects may run whatever their arguments are: then there is nothing to authorise."""
        return self._verdict(effects).decision == "allow" and not (about_paths and self._by_path)

    def authorise(self, name: str, effects: Effect, arguments: Mapping[str, Any]) -> None:
        """Return if the call may run; raise ToolError if not."""
        verdict = self._verdict(effects)
        if verdict.decision == "allow" or (verdict.decision == "ask" and name in self._granted):
            return
        if verdict.decision == "deny":
            raise ToolError(ErrorCode.PERMISSION, f"Tool {name!r} is {verdict.reason}. Use another or ask the user.")
        self._ask_tool(Request(name, effects, arguments, verdict.reason))

    def authorise_paths(
        self, name: str, effects: Effect, arguments: Mapping[str, Any], paths: Callable[[], Iterable[tuple[str, ...]]]
    ) -> None:
        """Return if the call may be about these paths; raise ToolError if not."""
        if not self._by_path:
            return
        for parts in paths():
            verdict = judge_path(parts, effects, self.policy)
            if verdict.decision == "deny":
                raise ToolError(ErrorCode.PERMISSION, f"{'/'.join(parts)!r} is {verdict.reason}. Use another path.")
            if verdict.decision == "ask":
                self._ask_tool(Request(name, effects, arguments, f"{verdict.reason} for {'/'.join(parts)!r}"))

    def authorise_command(
        self, name: str, arguments: Mapping[str, Any], decide: Callable[[tuple[Rule, ...]], Judgement]
    ) -> None:
        """Return if the command may run; `decide` judges it by the rules that hold now."""
        judgement = decide(self.rules)
        if judgement.decision == "deny":
            raise ToolError(ErrorCode.SECURITY, judgement.reason)
        if judgement.decision == "allow" or not self._must_ask(judgement):
            return
        with self._lock:
            judgement = decide(self.rules)  # another thread may just have been granted the same
            asked = [part for part in judgement.parts if part.decision == "ask"]
            if judgement.decision == "allow":
                return
            request = Request(name, Effect.SHELL, arguments, judgement.reason, tuple(part.text for part in asked))
            answer = self._approve(request) if self._approve else False
            if not answer:
                raise ToolError(
                    ErrorCode.PERMISSION, f"{judgement.reason} Nobody approved it: ask the user, or do without."
                )
            if answer in ("session", "always"):
                self._grant(asked, always=answer == "always")

    def ask(self, request: Request) -> bool:
        """Whether the approver agrees to something out of the ordinary; without an approver nobody does."""
        with self._lock:
            return bool(self._approve and self._approve(request))

    def _must_ask(self, judgement: Judgement) -> bool:
        return Effect.SHELL in self.policy.ask or any(part.by_rule for part in judgement.parts)

    def _grant(self, parts: list[Part], *, always: bool) -> None:
        from toolroll.policy.commands import granted

        rules = tuple(rule for part in parts if (rule := granted(part)) is not None)
        self._rules = (*self._rules, *rules)
        if always and self._grants is not None:
            self._grants.add(rules=rules)

    def _verdict(self, effects: Effect) -> Verdict:
        found = self._verdicts.get(effects.value)
        if found is None:
            found = self._verdicts[effects.value] = judge(effects, self.mode, self.policy)
        return found

    def _ask_tool(self, request: Request) -> None:
        # One question at a time: two threads must not race for one answer of one person.
        with self._lock:
            if request.name in self._granted:
                return
            answer = self._approve(request) if self._approve else False
            if not answer:
                raise ToolError(
                    ErrorCode.PERMISSION,
                    f"Tool {request.name!r} {request.reason} and did not get it. Ask the user, or do without.",
                )
            if answer in ("session", "always"):
                self._granted.add(request.name)
            if answer == "always" and self._grants is not None:
                self._grants.add(tools=(request.name,))
