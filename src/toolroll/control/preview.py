"""The diff of the files that a call would change, for the person who is asked about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from toolroll.dialect import Relay
from toolroll.host.approval.request import MAX_ROWS, ApprovalRequest, rows
from toolroll.policy.effects import Effect
from toolroll.result import ToolError
from toolroll.text.diff import unified
from toolroll.text.escape import escape_line, escape_text

if TYPE_CHECKING:
    from toolroll.kit import Kit

_MORE_THAN_FILES = Effect.RUN | Effect.SHELL | Effect.DELETE | Effect.NETWORK


def preview_request(request: ApprovalRequest, kit: Kit) -> str:
    """The diff of a request that only changes files; empty if there is none, or if it is too long to show."""
    if request.held or Effect.WRITE not in request.effects or request.effects & _MORE_THAN_FILES:
        return ""
    try:
        diff = preview_diff(kit, request.name, request.arguments)
    except (ToolError, OSError):  # the call itself says why, if it is allowed
        return ""
    return diff if diff and rows(diff) + request.rows <= MAX_ROWS else ""


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
