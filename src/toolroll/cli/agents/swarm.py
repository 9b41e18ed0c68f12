"""`toolroll swarm "task"`: run several workers on one task, each in its own copy of the workspace."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from toolroll.cli.agents.agent import MODEL, STEPS, TASK, TOKENS, YES, allow, build_settings, load_model, read_number
from toolroll.cli.agents.agent_screen import format_record
from toolroll.cli.command import Command, Option, UsageError, one_of
from toolroll.cli.options import SANDBOX, WORKSPACE
from toolroll.cli.screen import coloured, show, write

if TYPE_CHECKING:
    from argparse import Namespace

    from toolroll.agent.presets import Preset
    from toolroll.agent.swarm import SwarmReport
    from toolroll.agent.transcript import Record
    from toolroll.kit import Kit


def run(args: Namespace) -> int:
    """Run the workers and print one report; 0 only if all finished."""
    from toolroll.agent.presets import PRESETS
    from toolroll.agent.swarm import run_swarm
    from toolroll.host.files.trust import WorkspaceError

    if not args.task:
        raise UsageError(
            'No task is given. Example: toolroll swarm "make the parser robust". See: toolroll swarm --help'
        )
    if not args.workspace or not os.path.isdir(args.workspace):
        raise UsageError(f"Cannot open the workspace {args.workspace!r}: it is not a folder. Name one with -C DIR.")
    presets = [PRESETS[name] for name in _read_workers(args.workers)]
    steps, tokens = read_number(args, "steps") or 50, read_number(args, "tokens")
    lock = threading.Lock()

    def watch(worker: str, record: Record) -> None:
        with lock:
            for line in format_record(record):
                write(coloured(worker, "cyan", sys.stderr), " ", line, to=sys.stderr)

    def kit_for(preset: Preset, folder: str, state: str) -> Kit:
        from toolroll.kit import Kit

        # A copy needs no approval; what a rule of the user asks about is denied without --yes.
        approve = allow if args.yes else None
        settings = build_settings(args, "standard")
        return Kit(folder, preset.dialect, approve=approve, settings=settings, tools=preset.tools, state_dir=state)

    model = load_model(args.model)
    try:
        report = run_swarm(args.task, args.workspace, presets, model, kit_for, steps=steps, tokens=tokens, watch=watch)
    except WorkspaceError as error:
        raise UsageError(str(error)) from None
    show(report.text(_write_patches(report, args)))
    return 0 if report.finished else 1


def _read_workers(given: str | None) -> Sequence[str]:
    from toolroll.agent.presets import WORKERS

    names = [name.strip() for name in (given or ",".join(WORKERS)).split(",") if name.strip()]
    for name in names:
        one_of("worker", name, WORKERS)
    if not names:
        raise UsageError(f"No worker is given. There are: {', '.join(WORKERS)}.")
    return list(dict.fromkeys(names))


def _write_patches(report: SwarmReport, args: Namespace) -> dict[str, str]:
    """Write the patches to files; the path of each by worker."""
    from toolroll.host.files.root import Root
    from toolroll.host.runtime.state import State

    folder = args.patches
    if folder is None:
        with Root(args.workspace) as root:
            folder = os.path.join(State.of(root.path).path, "swarm", os.urandom(4).hex())
    paths: dict[str, str] = {}
    for worker in report.reports:
        if worker.patch:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            paths[worker.worker] = os.path.join(folder, f"{worker.worker}.patch")
            with open(paths[worker.worker], "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
                file.write(worker.patch)
    return paths


_WORKERS = Option(("--workers",), "Workers, separated by commas (review,test,optimize,debug).", "NAMES")
_PATCHES = Option(("--patches",), "Folder for the patches (the workspace's state folder).", "DIR")
COMMAND = Command(
    "swarm",
    "Run several workers on one task, each in its own copy.",
    run,
    (TASK, _WORKERS, MODEL, STEPS, TOKENS, _PATCHES, YES, SANDBOX, WORKSPACE),
    more="""\
Each worker gets a copy of the workspace without ignored files; all work at the same time. The workspace itself does
not change: the changes of a worker are a patch in its part of the report. --steps and --tokens apply to each worker.
The copies are removed at the end, also after an interrupt.""",
)
