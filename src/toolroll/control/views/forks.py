"""The forks of a kit: what each changed, and how the last command in it ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from toolroll.control.views.files import show_files
from toolroll.control.views.jobs import used_shell
from toolroll.host.files.journal.effects import PathEffect, describe_effects
from toolroll.host.forks.fork import ForkChange
from toolroll.host.forks.forks import OpenFork
from toolroll.kit import Kit
from toolroll.result import ToolError
from toolroll.text.files.changes import Change
from toolroll.text.terminal import clean

_MAX_FORKS = 20
_MAX_DIFF_CHARS = 100_000  # of all files of one fork


def list_forks(kit: Kit) -> dict[str, Any]:
    """The open forks, newest first."""
    opened = kit.context().forks.all()[::-1]
    return {"forks": [_row(one) for one in opened[:_MAX_FORKS]], "more": len(opened) > _MAX_FORKS}


def _row(one: OpenFork) -> dict[str, Any]:
    about = {"name": str(one.number), "kind": one.fork.kind, "opened": one.opened, "held": one.held}
    try:
        rows = one.rows()
        changed = sum(any(node and node.state.kind != "directory" for node in (row.base, row.fork)) for row in rows)
        check = _last_command(one.kit)
    except (ToolError, OSError) as error:  # it is dropped meanwhile, or the workspace is gone: the others are shown
        return {**about, "changed": 0, "files": [], "more": False, "check": None, "error": str(error)}
    return {**about, "changed": changed, **show_files(_describe(rows), _MAX_DIFF_CHARS), "check": check}


def _describe(rows: Sequence[ForkChange]) -> Iterator[tuple[Change, str]]:
    nodes = [node for row in rows for node in (row.base, row.fork) if node is not None]
    contents = {id(node.state): node.data for node in nodes}
    effects = {row.path: PathEffect(row.base and row.base.state, row.fork and row.fork.state) for row in rows}
    return describe_effects(effects, lambda state: contents.get(id(state)))


def _last_command(kit: Any) -> dict[str, Any] | None:
    """The last command that ran in a fork, how it ended, and the end of its output."""
    shell = used_shell(kit) if kit.is_open else None
    if shell is None or shell.memory.last is None:
        return None
    last = shell.memory.last
    return {"command": last.command, "status": last.status, "output": clean(last.output).strip("\n")}
