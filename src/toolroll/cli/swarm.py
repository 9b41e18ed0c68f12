"""`toolroll swarm "task"`: several workers on one task, each in its own copy of the workspace."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from toolroll.cli.agent import MODEL, STEPS, TASK, TOKENS, model_of, number, policy_of, told
from toolroll.cli.command import Command, Option, UsageError, one_of
from toolroll.cli.options import SANDBOX, WORKSPACE
from toolroll.cli.screen import coloured, show

if TYPE_CHECKING:
    from argparse import Namespace

    from toolroll.agent.presets import Preset
    from toolroll.agent.records import Record
    from toolroll.agent.swarm import Merged
    from toolroll.kit import Kit


def run(args: Namespace) -> int:
    """Let the workers work and print their reports as one; 0 only when all finished."""
    from toolroll.agent.presets import PRESETS
    from toolroll.agent.swarm import swarm
    from toolroll.host.files.trust import WorkspaceError

    if not args.task:
        raise UsageError('Which task? Say it: toolroll swarm "make the parser robust". See: toolroll swarm --help')
    if not args.workspace or not os.path.isdir(args.workspace):
        raise UsageError(f"Cannot open the workspace {args.workspace!r}: it is no folder. Name one with -C DIR.")
    presets = [PRESETS[name] for name in _chosen(args.workers)]
    steps, tokens = number(args, "steps") or 50, number(args, "tokens")
    lock = threading.Lock()

    def watch(worker: str, record: Record) -> None:
        if line := told(record):
            with lock:
                print(f"{coloured(worker, 'cyan', sys.stderr)} {line}", file=sys.stderr)

    def kit_for(preset: Preset, folder: str, state: str) -> Kit:
        from toolroll.kit import Kit

        # In a copy there is nothing that must be asked about; what a rule of the user asks about is denied.
        policy = policy_of(args, "standard")
        return Kit(folder, preset.dialect, policy=policy, tools=preset.tools, state_dir=state)

    model = model_of(args.model)
    try:
        merged = swarm(args.task, args.workspace, presets, model, kit_for, steps=steps, tokens=tokens, watch=watch)
    except WorkspaceError as error:
        raise UsageError(str(error)) from None
    show(merged.text(_kept(merged, args)))
    return 0 if merged.finished else 1


def _chosen(given: str | None) -> Sequence[str]:
    from toolroll.agent.presets import WORKERS

    names = [name.strip() for name in (given or ",".join(WORKERS)).split(",") if name.strip()]
    for name in names:
        one_of("worker", name, WORKERS)
    if not names:
        raise UsageError(f"Which workers? There are: {', '.join(WORKERS)}.")
    return list(dict.fromkeys(names))


def _kept(merged: Merged, args: Namespace) -> dict[str, str]:
    """Write the patches where they stay; the path of each."""
    from toolroll.host.files.root import Root
    from toolroll.host.runtime.state import State

    folder = args.patches
    if folder is None:
        with Root(args.workspace) as root:
            folder = os.path.join(State.of(root.path).path, "swarm", os.urandom(4).hex())
    paths: dict[str, str] = {}
    for report in merged.reports:
        if report.patch:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            paths[report.worker] = os.path.join(folder, f"{report.worker}.patch")
            with open(paths[report.worker], "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
                file.write(report.patch)
    return paths


_WORKERS = Option(("--workers",), "Which workers, with commas between them (review,test,optimize,debug).", "NAMES")
_PATCHES = Option(("--patches",), "Folder for the patches (the workspace's state folder).", "DIR")
COMMAND = Command(
    "swarm",
    "Let several workers work on one task, each in its own copy.",
    run,
    (TASK, _WORKERS, MODEL, STEPS, TOKENS, _PATCHES, SANDBOX, WORKSPACE),
    more="""\
Each worker gets a copy of the workspace without what its ignore files keep out, and all work at the same time. The
workspace itself is not changed: what a worker changed is a patch in its part of the report. --steps and --tokens are
for each worker. The copies are removed in the end, also when the swarm is interrupted.""",
)
