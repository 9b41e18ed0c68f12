"""Ask before the changes of a fork land in the workspace, as the policy says: never, always, or by rules."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from toolroll.host.approval.request import ApprovalRequest
from toolroll.host.capture.git_objects import GitIndex
from toolroll.host.forks.fork import is_run_by_git, new_repositories
from toolroll.policy.auto_run import runs_by_itself
from toolroll.policy.commit_rules import FileEffect, FileEffectKind, judge_effects
from toolroll.policy.effects import Effect
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.approval.guard import Guard
    from toolroll.host.forks.fork import ForkChange
    from toolroll.host.forks.views import Node
    from toolroll.host.runtime.call import Call
    from toolroll.host.runtime.launcher import Launcher

_MAX_ROWS, _MAX_CHARS = 500, 400  # of a diff in a question, and of a row of it


class Landing:
    """Decides for one workspace."""

    def __init__(self, workspace: str, guard: Guard, launcher: Launcher) -> None:
        self._guard = guard
        self._index = GitIndex(workspace, launcher)

    def authorise(self, call: Call, rows: Sequence[ForkChange], diff: str, repository: str = "") -> None:
        """Return if these changes may land; ToolError if not. The approver is shown the diff.

        `repository` says what moves in the repository, if anything does: that is asked about.
        """
        policy = self._guard.policy
        if not (rows or repository) or policy.commit == "auto":
            return
        decision, reason = "ask", "all changes of commands need approval"
        if policy.commit == "rules":
            verdict = judge_effects(self._list_effects(rows), policy.commit_rules)
            decision, reason = verdict.decision, verdict.reason
        if decision == "deny":
            raise ToolError(
                ErrorCode.SECURITY,
                f"Nothing was changed: a rule forbids {reason}. Do it without that, or ask the user.",
            )
        if decision == "ask" or repository:
            self._guard.require(self._question(call, rows, repository or reason, f"{repository}\n{diff}".lstrip()))

    def ask_to_run(self, call: Call, why: str) -> None:
        """Return if a command that cannot be held may run on the workspace itself; ToolError if not."""
        self._guard.require(ApprovalRequest(call.name, Effect.SHELL, call.arguments, why))

    def _question(self, call: Call, rows: Sequence[ForkChange], reason: str, diff: str) -> ApprovalRequest:
        lines = [one if len(one) <= _MAX_CHARS else f"{one[:_MAX_CHARS]}..." for one in diff.splitlines()]
        more = f"\n({len(lines) - _MAX_ROWS} lines more)" if len(lines) > _MAX_ROWS else ""
        paths = "\n".join(row.path for row in rows[: _MAX_ROWS // 5])
        shown = {"changed": paths, "total": len(rows), "diff": "\n".join(lines[:_MAX_ROWS]) + more}
        effects, arguments = Effect.WRITE | Effect.DELETE, {**call.arguments, **shown}
        return ApprovalRequest(call.name, effects, arguments, reason, held=str(shown["diff"]))

    def _list_effects(self, rows: Sequence[ForkChange]) -> list[FileEffect]:
        self._index.refresh()
        made = new_repositories(rows)
        return [self._effect(row, made) for row in rows if not _is_folder(row.base) or not _is_folder(row.fork)]

    def _effect(self, row: ForkChange, repositories: tuple[str, ...]) -> FileEffect:
        base, fork = row.base, row.fork
        kind = _kind(base, fork)
        last = fork or base
        return FileEffect(
            row.path,
            kind,
            size=len(last.data or b"") if last else 0,
            untracked=kind in ("modify", "delete") and base is not None and not self._can_restore(row.path, base),
            executable=_is_executable(fork) and not _is_executable(base),
            auto_run=runs_by_itself(tuple(row.path.split("/"))) is not None
            or (row.path.startswith(repositories) and is_run_by_git(row)),
        )

    def _can_restore(self, path: str, node: Node) -> bool:
        """Whether git has what is there now, or nothing would be lost."""
        if _is_folder(node) or node.data == b"":
            return True
        data = node.data if node.data is not None else node.state.content.encode("utf-8", "surrogateescape")
        known = self._index.entries.get(path)
        name = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
        return known is not None and known.oid == name


def _kind(base: Node | None, fork: Node | None) -> FileEffectKind:
    if base is None:
        return "create"
    if fork is None:
        return "delete"
    same = (base.state.kind, base.state.content) == (fork.state.kind, fork.state.content)
    return "mode" if same else "modify"


def _is_folder(node: Node | None) -> bool:
    return node is None or node.state.kind == "directory"


def _is_executable(node: Node | None) -> bool:
    return node is not None and node.state.kind == "file" and bool(node.state.mode & 0o111)
