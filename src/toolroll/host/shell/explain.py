"""Say that the sandbox caused a failure, and which setting would allow what was denied."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from toolroll.host.runtime.launcher import AccessRules, is_beneath
from toolroll.host.sandbox.mount_plan import is_visible, resolve_paths
from toolroll.host.sandbox.tiers import Tier
from toolroll.text.shell.denials import Denial, find_denials

if TYPE_CHECKING:
    from toolroll.host.shell.command_launcher import StartedCommand

_OWN_TEMP = ("/tmp", "/var/tmp", "/dev/shm")  # under bubblewrap each command has its own


_OF_ROOT = ("mount", "chroot", "setns", "bpf", "perf_event_open")
_MEMORY = (
    "Other programs have files in /dev/shm: until those are gone, commands under Landlock have no shared memory. "
    "Under bubblewrap commands have their own."
)
_AWAY = "The sandbox keeps commands away from {!r}. The settings `readable` and `roots` add folders."


def explain(output: str, launched: StartedCommand) -> str:
    """One line on what the sandbox denied to a command that failed; empty where it denied nothing.

    What the proxy refused comes first. A file that the user may not change either, or that is in the workspace, is an
    ordinary failure.
    """
    if launched.tier == Tier.NONE or launched.access is None:
        return ""
    if refused := launched.refused():
        return refused[-1]
    if launched.tier == Tier.LANDLOCK and "_multiprocessing.SemLock(" in output and "Permission denied" in output:
        return _MEMORY
    for denial in find_denials(output):
        if said := _explain_one(denial, launched, launched.access):
            return said
    return ""


def _explain_one(denial: Denial, launched: StartedCommand, access: AccessRules) -> str:
    if denial.kind in ("host", "socket"):
        return "" if launched.network else _explain_network(denial)
    if denial.kind == "call":
        what = denial.target.lower() or "more privileges"
        # Only root may call most of them anyway, and bubblewrap lets a command trace its own processes.
        ordinary = launched.tier.startswith(Tier.BUBBLEWRAP) if what == "ptrace" else what in _OF_ROOT and os.geteuid()
        return "" if ordinary else f"The sandbox does not allow {what} to commands (setting `sandbox`)."
    if denial.kind == "missing":
        return _explain_missing(denial.target, launched, access)
    return _explain_path(denial.target, launched, access)


def _explain_network(denial: Denial) -> str:
    if denial.kind == "socket":
        return "The sandbox did not let it open a socket. The setting `network` names hosts for commands."
    if not denial.target:
        return "The sandbox did not let it reach the network. The setting `network` names hosts for commands."
    allow = f"The setting `network` (--network {denial.target}) allows it: ask the user."
    return f"The sandbox did not let it reach {denial.target!r}. {allow}"


def _explain_missing(path: str, launched: StartedCommand, access: AccessRules) -> str:
    """Under bubblewrap what a command may not read is not there; of what is beneath no folder of /, nothing is said."""
    top = f"/{path.split('/')[1]}"
    there = is_visible(path, access) or (access.alias and is_beneath(path, access.alias))
    if there or not launched.tier.startswith(Tier.BUBBLEWRAP) or path == top or not os.path.isdir(top):
        return ""
    return "" if any(is_beneath(path, one) for one in _OWN_TEMP) else _AWAY.format(path)


def _explain_path(named: str, launched: StartedCommand, access: AccessRules) -> str:
    path = os.path.normpath(os.path.join(launched.cwd, named))
    if not os.path.isabs(named) and " " in named and not os.path.lexists(path):  # "could not lock file .git/config"
        path = os.path.normpath(os.path.join(launched.cwd, named.rsplit(" ", 1)[1]))
    if access.alias and is_beneath(path, access.alias):
        path = access.write[0] + path[len(access.alias) :]
    if any(is_beneath(path, one) for one in (*access.keep, *access.lock)):
        return f"The sandbox keeps {named!r} as it is: it is protected (setting `protected`)."
    shown = any(is_beneath(path, one) for one in (*access.read, *resolve_paths(access.read)))
    own = _OWN_TEMP if launched.tier.startswith(Tier.BUBBLEWRAP) and not shown else ()
    if any(is_beneath(path, one) for one in (*access.write, *resolve_paths(access.write), *own)):
        return ""
    if is_beneath(path, "/dev/shm"):
        return _MEMORY
    # Whether a hidden path exists is not looked up: a command must not learn it this way.
    if not is_visible(path, access):
        return _AWAY.format(named)
    if os.access(_nearest(path), os.W_OK):
        return (
            f"The sandbox lets commands write only in the workspace and in $TMPDIR, not to {named!r} (setting `roots`)."
        )
    return ""


def _nearest(path: str) -> str:
    """The path, or the nearest folder above it that is there."""
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    return path
