"""Authorise every call and every command: carry out the policy and ask the approver."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from toolroll.host.approval.request import (
    MAX_ROWS,
    Answer,
    ApprovalRequest,
    Approver,
    CallChangedError,
    CannotAskError,
    ChangedCall,
    Consent,
    ParallelApprover,
    Refusal,
)
from toolroll.host.runtime.cancellation import asking_person
from toolroll.policy.decision import Rule, Verdict
from toolroll.policy.effects import Effect
from toolroll.policy.rules import Policy, has_paths, judge, judge_path
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.approval.grants import Grants
    from toolroll.policy.commands import Judgement

__all__ = ["Answer", "ApprovalRequest", "Approver", "CannotAskError", "Consent", "Guard", "ask_by"]

_NO_APPROVER = "no approver is set up here"
_DECLINED = (
    "The user was asked and declined{why}. Do not try it in another way: go on without it, or ask what to do instead."
)
_NOT_ASKED = "The user was not asked, because {why}. Go on without it, or tell the user what you need and why."

_CALL_APPROVER: ContextVar[Approver | None] = ContextVar("_CALL_APPROVER", default=None)
_CHANGED_CALL: ContextVar[Mapping[str, Any] | None] = ContextVar("_CHANGED_CALL", default=None)
T = TypeVar("T")


class StoppedByApproverError(Exception):
    """The approver of a call raised: this stops the call. `ask_by` raises the cause."""


def ask_by(approve: Approver, run: Callable[..., T], *arguments: Any) -> T:
    """Run a function whose questions this approver answers, where the guard has none of its own.

    What the approver raises comes out as it is.
    """
    before = _CALL_APPROVER.set(approve)
    try:
        return run(*arguments)
    except StoppedByApproverError as stopped:
        raise (stopped.__cause__ or stopped) from None
    finally:
        _CALL_APPROVER.reset(before)


def run_changed(arguments: Mapping[str, Any], run: Callable[..., T], *given: Any) -> T:
    """Run a call that the person has changed to these arguments: what it asks about them is answered already."""
    before = _CHANGED_CALL.set(arguments)
    try:
        return run(*given)
    finally:
        _CHANGED_CALL.reset(before)


class Guard:
    """Authorises calls and commands. What the approver grants for the session or for always is not asked again."""

    def __init__(self, policy: Policy, mode: str, approve: Approver | None = None) -> None:
        self.policy = policy
        self.mode = mode
        self._approve = approve
        self._grants: Grants | None = None
        self._lock = threading.Lock()
        self._granted: set[tuple[str, ...]] = set()
        self.session_grants: set[tuple[str, ...]] = set()
        """What was granted for the session, also in its earlier processes."""
        self.answered: Callable[[ApprovalRequest, Answer], None] = lambda _request, _answer: None
        """Gets every answer of the approver."""
        self._verdicts: dict[int, Verdict] = {}
        self._by_path = has_paths(policy)

    @property
    def approver(self) -> Approver | None:
        """What answers the questions of every call, if anything does."""
        return self._approve

    @property
    def can_ask(self) -> bool:
        """Whether the call that runs here may ask somebody."""
        return self._approve is not None or _CALL_APPROVER.get() is not None

    def remember(self, grants: Grants) -> None:
        self._grants = grants
        self._granted.update(grants.keys)

    def resume(self, grants: Iterable[tuple[str, ...]]) -> None:
        """Go on with a session that was granted this."""
        self.session_grants.update(grants)
        self._granted.update(self.session_grants)

    def always_passes(self, effects: Effect, *, about_paths: bool) -> bool:
        """Whether calls with these effects may run whatever their arguments are: then there is nothing to authorise."""
        return self._verdict(effects).decision == "allow" and not (about_paths and self._by_path)

    def authorise(
        self, name: str, effects: Effect, arguments: Mapping[str, Any], action: str = "", *, editable: bool = False
    ) -> None:
        """Return if the call may run; raise ToolError if not. `action`: which one, where a name stands for several.

        `editable`: these are the arguments of the whole call, which the person may change.
        """
        verdict = self._verdict(effects)
        if verdict.decision == "allow":
            return
        if verdict.decision == "deny":
            raise ToolError(ErrorCode.PERMISSION, f"Tool {verdict.reason}: {name!r}. Use another or ask the user.")
        key = ("tool", name, action, *_rule_key(verdict.rule))
        covers = _calls(name, action)
        request = ApprovalRequest(name, effects, arguments, verdict.reason, key=key, covers=covers, editable=editable)
        self.require(request)

    def authorise_paths(
        self,
        name: str,
        effects: Effect,
        arguments: Mapping[str, Any],
        paths: Callable[[], Iterable[tuple[str, ...]]],
        action: str = "",
    ) -> None:
        """Return if the call may be about these paths; raise ToolError if not."""
        if not self._by_path:
            return
        for parts in paths():
            verdict, path = judge_path(parts, effects, self.policy), "/".join(parts)
            if verdict.decision == "deny":
                raise ToolError(ErrorCode.PERMISSION, f"{path!r} is {verdict.reason}. Use another path.")
            if verdict.decision == "ask":
                key = ("path", name, action, path, *_rule_key(verdict.rule))
                why, covers = f"{verdict.reason} for {path!r}", f"{_calls(name, action)} at {path!r}"
                self.require(ApprovalRequest(name, effects, arguments, why, key=key, covers=covers, editable=True))

    def authorise_command(
        self,
        name: str,
        arguments: Mapping[str, Any],
        judgement: Judgement,
        runs: tuple[str, ...],
        folder: str | None,
        program: str = "",
        variables: tuple[str, ...] = (),
    ) -> None:
        """Return if these texts may run, as they were judged; raise ToolError if not.

        A lasting answer is for exactly these texts, in this folder, read by this program, with these variables that
        earlier commands have set; without a folder there is none.
        """
        if judgement.decision == "deny":
            raise ToolError(ErrorCode.SECURITY, judgement.reason)
        if judgement.decision == "allow" or not self.must_ask(judgement):
            return
        from toolroll.policy.predicted import predict

        key = () if folder is None else ("command", name, program, folder, *runs, *variables)
        covers = f"exactly this command in the folder {folder!r}" + " with these variables" * bool(variables)
        parts = tuple((one.text, one.reason) for one in judgement.parts)
        told = runs, key, covers, variables, parts, predict(judgement.parts)
        self.require(ApprovalRequest(name, Effect.SHELL, arguments, judgement.reason, *told, editable=True))

    def require(self, request: ApprovalRequest) -> None:
        """Return if the approver agrees, or has agreed to the same key before; else ToolError with what to do next."""
        consent, why = self._ask(request)
        if consent is Consent.GIVEN:
            return
        what = f"{request.name!r} was refused: {request.reason.rstrip('.')}."
        how = (_DECLINED if consent is Consent.DECLINED else _NOT_ASKED).format(why=why)
        raise ToolError(ErrorCode.PERMISSION, f"{what} {how}")

    def ask(self, request: ApprovalRequest) -> Consent:
        """What the approver says; ToolError when the question is too long to be shown whole."""
        return self._ask(request)[0]

    def _ask(self, request: ApprovalRequest) -> tuple[Consent, str]:
        """The approver's consent, and why it declined or could not be asked."""
        if self._is_granted(request):  # and so waits for no other question
            return Consent.GIVEN, ""
        if request.editable and _CHANGED_CALL.get() == request.arguments:
            _check_length(request)
            return Consent.GIVEN, ""
        approve = self._approve or _CALL_APPROVER.get()
        if approve is None:
            return Consent.NOT_ASKED, _NO_APPROVER
        # One question at a time: two threads must not race for one answer of one person.
        with nullcontext() if isinstance(approve, ParallelApprover) else self._lock:
            if self._is_granted(request):  # by the answer that was waited for
                return Consent.GIVEN, ""
            _check_length(request)
            try:
                # A copy, so that the approver cannot change what runs.
                with asking_person():
                    answer = approve(replace(request, arguments=copy.deepcopy(dict(request.arguments)), guard=self))
            except CannotAskError as error:
                return Consent.NOT_ASKED, str(error).rstrip(".")
            except (EOFError, OSError) as error:
                return Consent.NOT_ASKED, f"asking failed ({type(error).__name__})"
            except Exception as error:
                if self._approve is None:
                    raise StoppedByApproverError from error
                raise
            return self._read_answer(request, answer)

    def _read_answer(self, request: ApprovalRequest, answer: Answer) -> tuple[Consent, str]:
        self.answered(request, answer)
        if isinstance(answer, ChangedCall) and request.editable:
            raise CallChangedError(answer.arguments)
        if answer not in (True, "once", "session", "always"):
            reason = answer.reason.strip() if isinstance(answer, Refusal) else ""
            return Consent.DECLINED, f" ({reason!r})" if reason else ""
        self._keep(request, answer)
        return Consent.GIVEN, ""

    def _is_granted(self, request: ApprovalRequest) -> bool:
        return bool(request.key) and request.key in self._granted

    def _keep(self, request: ApprovalRequest, answer: Answer) -> None:
        if not request.key or answer not in ("session", "always"):
            return
        self._granted.add(request.key)
        if answer == "session":
            self.session_grants.add(request.key)
        elif self._grants is not None:
            self._grants.add(request.key)

    def must_ask(self, judgement: Judgement) -> bool:
        """Whether the approver is asked about a command that no table allows."""
        return Effect.SHELL in self.policy.ask or any(part.by_rule or part.firm for part in judgement.parts)

    def _verdict(self, effects: Effect) -> Verdict:
        found = self._verdicts.get(effects.value)
        if found is None:
            found = self._verdicts[effects.value] = judge(effects, self.mode, self.policy)
        return found


def _calls(name: str, action: str) -> str:
    return f"every call of {name!r}" + (f" with the action {action!r}" if action else "")


def _rule_key(rule: Rule | None) -> tuple[str, ...]:
    """The part of a key that keeps questions of different rules apart."""
    return () if rule is None else (rule.path or "", rule.effect or "", rule.reason)


def _check_length(request: ApprovalRequest) -> None:
    if request.rows > MAX_ROWS:
        raise ToolError(
            ErrorCode.TOO_LARGE,
            f"{request.name!r} was refused: it needs approval, the user must see all of it, and it takes "
            f"{request.rows} rows of 80 columns, more than the {MAX_ROWS} that can be shown. Split it into smaller "
            "calls, or write the text to a file in parts and use that.",
        )
