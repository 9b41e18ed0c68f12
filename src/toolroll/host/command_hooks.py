"""Run the operator's commands before and after calls, with the event as JSON on their standard input.

Events, exit codes and answers are those of Claude Code's hooks, with one difference: a hook before a call that fails
in any other way than its exit code 2, or answers with an unknown decision, refuses the call too.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import msgspec

from toolroll.host.approval.request import ApprovalRequest
from toolroll.host.runtime.launcher import AccessRules, Launcher, wait_for
from toolroll.host.runtime.state import create_nameless_file
from toolroll.host.sandbox.toolchains import readable_paths
from toolroll.policy.effects import Effect
from toolroll.result import ErrorCode, Result, ToolError

if TYPE_CHECKING:
    from toolroll.host.approval.guard import Guard
    from toolroll.host.files.root import Root
    from toolroll.host.settings import HookSettings

_REFUSED = 2
_MAX_ANSWER_BYTES = 64_000
_PERMISSIONS = ("allow", "deny", "ask")
_DECISIONS = ("approve", "block")  # the older words before a call, the only ones after it


class _SpecificOutput(msgspec.Struct, rename="camel"):
    permission_decision: str | None = None
    permission_decision_reason: str | None = None
    updated_input: dict[str, Any] | None = None
    additional_context: str | None = None


class _Answer(msgspec.Struct, rename="camel"):
    may_continue: bool = msgspec.field(name="continue", default=True)
    stop_reason: str | None = None
    decision: str | None = None
    reason: str | None = None
    hook_specific_output: _SpecificOutput = msgspec.field(default_factory=_SpecificOutput)


class CommandHook:
    """One command of the configuration. It reads the workspace and the system, writes nothing and has no network."""

    def __init__(
        self, settings: HookSettings, launcher: Launcher, root: Root, guard: Guard, environ: Mapping[str, str]
    ) -> None:
        self._settings, self._launcher, self._root, self._guard = settings, launcher, root, guard
        self._environ = environ
        self._patterns = settings.tools.split("|")

    def before(self, call: Any) -> Mapping[str, Any] | str | None:
        """Other arguments for the call, why it is refused, or None."""
        if not self._concerns(call.name):
            return None
        status, said, reason = self._run(self._event("PreToolUse", call))
        if status == _REFUSED:
            return reason
        if status != 0:
            return f"{self._settings.command!r} failed ({_describe(status)}). {reason}"
        return self._decide(call, self._read_answer(said))

    def _decide(self, call: Any, answer: _Answer) -> Mapping[str, Any] | str | None:
        """As `before`. Where an answer decides twice, the stricter decision counts."""
        specific = answer.hook_specific_output
        if not answer.may_continue:
            return answer.stop_reason or ""
        if answer.decision == "block":
            return answer.reason or ""
        if specific.permission_decision == "deny":
            return specific.permission_decision_reason or ""
        if specific.permission_decision == "ask":
            why = specific.permission_decision_reason or "a hook wants it to be approved"
            arguments = call.arguments if specific.updated_input is None else specific.updated_input
            self._guard.require(ApprovalRequest(call.name, Effect.NONE, arguments, why))
        return specific.updated_input

    def after(self, call: Any, result: Result) -> str | None:
        """What is added to the result: what the command says when it ends with 2, its answer, or that it failed."""
        if not self._concerns(call.name):
            return None
        shown = {"status": result.status, "text": result.text, "error": result.error and result.error.code}
        try:
            status, said, reason = self._run({**self._event("PostToolUse", call), "tool_response": shown})
            if status == 0:
                return _remarks(self._read_answer(said))
        except (ToolError, OSError) as error:  # the call was made: its result must not be lost
            return f"[Hook {self._settings.command!r} failed: {error}]"
        return reason if status == _REFUSED else f"[Hook {self._settings.command!r} failed: {_describe(status)}.]"

    def _read_answer(self, said: str) -> _Answer:
        """What the command has answered; a text that is no object counts as none. ToolError for an unknown decision."""
        if not said.startswith("{"):
            return _Answer()
        try:
            answer = msgspec.json.decode(said, type=_Answer)
        except (msgspec.DecodeError, RecursionError) as error:
            raise self._bad_answer(f"which cannot be read: {error}") from None
        permission = answer.hook_specific_output.permission_decision
        words = ("decision", answer.decision, _DECISIONS), ("permissionDecision", permission, _PERMISSIONS)
        for name, word, known in words:
            if word is not None and word not in known:
                raise self._bad_answer(f"whose {name!r} is {word!r}. Allowed are: {', '.join(known)}")
        return answer

    def _bad_answer(self, why: str) -> ToolError:
        what = f"The hook {self._settings.command!r} gave an answer {why}. Ask the user to correct the hook."
        return ToolError(ErrorCode.PERMISSION, what)

    def _concerns(self, name: str) -> bool:
        return any(fnmatchcase(name, one) for one in self._patterns)

    def _event(self, name: str, call: Any) -> dict[str, Any]:
        named = {"tool_name": call.name, "tool_input": call.arguments, "tool_use_id": call.id}
        return {"hook_event_name": name, "session_id": call.session, "cwd": self._root.path, **named}

    def _run(self, event: Mapping[str, Any]) -> tuple[int | None, str, str]:
        """The exit status, None for one that did not end in time, and what it printed to both streams."""
        access = AccessRules((), (*self._root.folders, *self._settings.paths(), *readable_paths(self._environ, ())))
        env = {"HOME": os.path.expanduser("~"), "CLAUDE_PROJECT_DIR": self._root.path}
        argv = ["/bin/sh", "-c", self._settings.command]
        given = create_nameless_file(msgspec.json.encode(event), sealed=True)
        printed, errors = create_nameless_file(b""), create_nameless_file(b"")
        try:
            process = self._launcher.start(
                argv, access, cwd=self._root.fd, env=env, stdin=given, stdout=printed, stderr=errors
            )
            status = wait_for(process, self._settings.timeout)
            if status is None:
                os.killpg(process.pid, signal.SIGKILL)  # with all that it started
                process.wait()
            return status, _read(printed), _read(errors)
        finally:
            for one in (given, printed, errors):
                os.close(one)


def _read(fd: int) -> str:
    return os.pread(fd, _MAX_ANSWER_BYTES, 0).decode("utf-8", "replace").strip()


def _describe(status: int | None) -> str:
    return "it did not end in time" if status is None else f"exit code {status}"


def _remarks(answer: _Answer) -> str:
    """What an answer after a call adds to the result."""
    stopped = None if answer.may_continue else answer.stop_reason or "A hook asks to stop here."
    blocked = (answer.reason or "A hook objects to this result.") if answer.decision == "block" else None
    return "\n".join(filter(None, (stopped, blocked, answer.hook_specific_output.additional_context)))
