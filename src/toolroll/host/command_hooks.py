"""Run the operator's commands before and after calls, with the event as JSON on their standard input.

Events, exit codes and answers are those of Claude Code's hooks, with one difference: a hook before a call that fails
in any other way than its exit code 2 refuses the call too.
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


class _Decision(msgspec.Struct, rename="camel"):
    permission_decision: str = "allow"
    permission_decision_reason: str = ""
    updated_input: dict[str, Any] | None = None


class _Answer(msgspec.Struct, rename="camel"):
    hook_specific_output: _Decision = msgspec.field(default_factory=_Decision)


class CommandHook:
    """One command of the configuration. It reads the workspace and the system, writes nothing and has no network."""

    def __init__(self, settings: HookSettings, launcher: Launcher, root: Root, guard: Guard) -> None:
        self._settings, self._launcher, self._root, self._guard = settings, launcher, root, guard
        self._patterns = settings.tools.split("|")
        self._words = settings.words()

    def before(self, call: Any) -> Mapping[str, Any] | str | None:
        """Other arguments for the call, why it is refused, or None."""
        if not self._concerns(call.name):
            return None
        status, said, reason = self._run(self._event("PreToolUse", call))
        if status == _REFUSED:
            return reason
        if status != 0:
            return f"{self._settings.command!r} failed ({_describe(status)}). {reason}"
        decision = _decision(said)
        if decision.permission_decision == "deny":
            return decision.permission_decision_reason
        if decision.permission_decision == "ask":
            why = decision.permission_decision_reason or "a hook wants it to be approved"
            self._guard.require(ApprovalRequest(call.name, Effect.NONE, call.arguments, why))
        return decision.updated_input

    def after(self, call: Any, result: Result) -> str | None:
        """What is added to the result: what the command says when it ends with 2, or that it failed."""
        if not self._concerns(call.name):
            return None
        shown = {"status": result.status, "text": result.text, "error": result.error and result.error.code}
        status, _, said = self._run({**self._event("PostToolUse", call), "tool_response": shown})
        if status == 0:
            return None
        return said if status == _REFUSED else f"[Hook {self._settings.command!r} failed: {_describe(status)}.]"

    def _concerns(self, name: str) -> bool:
        return any(fnmatchcase(name, one) for one in self._patterns)

    def _event(self, name: str, call: Any) -> dict[str, Any]:
        named = {"tool_name": call.name, "tool_input": call.arguments, "tool_use_id": call.id}
        return {"hook_event_name": name, "session_id": call.session, "cwd": self._root.path, **named}

    def _run(self, event: Mapping[str, Any]) -> tuple[int | None, str, str]:
        """The exit status, None for one that did not end in time, and what it printed to both streams."""
        program = self._words[0]
        argv = [program if os.path.isabs(program) else self._launcher.program(program), *self._words[1:]]
        named = tuple(os.path.abspath(one) for one in argv if os.path.isabs(one) and os.path.exists(one))
        access = AccessRules((), (*self._root.folders, *named, *readable_paths(os.environ, ())))
        given = create_nameless_file(msgspec.json.encode(event), sealed=True)
        printed, errors = create_nameless_file(b""), create_nameless_file(b"")
        try:
            process = self._launcher.start(argv, access, cwd=self._root.fd, stdin=given, stdout=printed, stderr=errors)
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


def _decision(said: str) -> _Decision:
    """What a hook has answered; a text that is no answer counts as none."""
    if not said.startswith("{"):
        return _Decision()
    try:
        return msgspec.json.decode(said, type=_Answer).hook_specific_output
    except msgspec.DecodeError as error:
        raise ToolError(ErrorCode.PERMISSION, f"A hook gave an answer that cannot be read: {error}.") from None
