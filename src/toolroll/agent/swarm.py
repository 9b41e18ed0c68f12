"""Several workers on one task in parallel, each in a copy of the workspace; one report with all patches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolroll.agent.loop import Agent, RunOutcome
from toolroll.chains import LinkedToken
from toolroll.host.files.copies import Copies
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.text.patch.write import build_patch, list_omitted

if TYPE_CHECKING:
    from toolroll.agent.model_client import ModelClient
    from toolroll.agent.presets import Preset
    from toolroll.agent.transcript import Record
    from toolroll.kit import Kit

KitFor = Callable[["Preset", str, str], "Kit"]
"""Makes the kit of a worker from its preset, its folder and a folder for its state."""
WorkerWatch = Callable[[str, "Record"], None]  # receives the name of a worker and a record of its run


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """The result of one worker."""

    worker: str
    outcome: RunOutcome
    patch: str = ""
    """Its changes, as a patch for the workspace."""
    paths: tuple[str, ...] = ()
    omitted: tuple[str, ...] = ()
    """Changed files that no patch can hold."""


@dataclass(frozen=True, slots=True)
class SwarmReport:
    """The reports of all workers."""

    task: str
    reports: tuple[WorkerReport, ...]
    notes: tuple[str, ...] = ()

    @property
    def finished(self) -> bool:
        return bool(self.reports) and all(one.outcome.finished for one in self.reports)

    def overlaps(self) -> dict[str, list[str]]:
        """Files that more than one worker changed, with the names of the workers."""
        found: dict[str, list[str]] = {}
        for report in self.reports:
            for path in report.paths:
                found.setdefault(path, []).append(report.worker)
        return {path: workers for path, workers in found.items() if len(workers) > 1}

    def text(self, patches: Mapping[str, str] | None = None) -> str:
        """The report in Markdown; `patches` maps a worker to the file of its patch."""
        parts = [f"# {self.task}", *(f"Note: {note}" for note in self.notes)]
        for report in self.reports:
            parts += _build_section(report, (patches or {}).get(report.worker, ""))
        if overlaps := self.overlaps():
            rows = [f"- `{path}`: {', '.join(workers)}" for path, workers in overlaps.items()]
            parts.append("## Changed by more than one worker\n\nThese patches may conflict:\n\n" + "\n".join(rows))
        return "\n\n".join(parts) + "\n"


def run_swarm(
    task: str,
    workspace: str,
    workers: Sequence[Preset],
    model: ModelClient,
    kit_for: KitFor,
    *,
    steps: int = 50,
    tokens: int | None = None,
    watch: WorkerWatch | None = None,
    token: CancelToken | None = None,
) -> SwarmReport:
    """Run the workers; `tokens` bounds each of them. An interrupt cancels all of them."""
    group = LinkedToken(token)

    def work(preset: Preset, copies: Copies) -> WorkerReport:
        folder = copies.make(preset.name)
        watchers = [] if watch is None else [lambda record: watch(preset.name, record)]
        with kit_for(preset, folder, copies.state(preset.name)) as kit:
            agent = Agent(kit, model, preset, steps=steps, tokens=tokens, watch=watchers)
            outcome = agent.run(task, LinkedToken(group))
        changes = copies.changes(preset.name)
        paths = tuple(one.path for one in changes)
        return WorkerReport(preset.name, outcome, build_patch(changes), paths, tuple(list_omitted(changes)))

    with Copies(workspace) as copies, ThreadPoolExecutor(max(1, len(workers)), "toolroll worker") as pool:
        try:
            futures = [pool.submit(work, preset, copies) for preset in workers]
            reports = tuple(_wait_for(one) for one in futures)
        except BaseException:
            group.cancel()  # the pool then waits for its threads, and these for their child processes
            raise
        return SwarmReport(task, reports, tuple(copies.notes))


def _wait_for(future: Future[WorkerReport]) -> WorkerReport:
    """Wait for a report such that a signal can interrupt."""
    while not future.done():
        wait([future], timeout=1.0)
    return future.result()


def _build_section(report: WorkerReport, patch_path: str) -> list[str]:
    outcome = report.outcome
    state = "finished" if outcome.finished else f"stopped: {outcome.reason}"
    parts = [f"## {report.worker} ({state}, {outcome.steps} steps, {outcome.usage.total} tokens)", outcome.text.strip()]
    if report.patch:
        apply = f" To apply it: `git apply {patch_path}`" if patch_path else ""
        changed = ", ".join(f"`{path}`" for path in report.paths)
        parts.append(f"Changed: {changed}.{apply}\n\n```diff\n{report.patch}```")
    if report.omitted:
        parts.append(f"Also changed, but not in the patch: {', '.join(f'`{path}`' for path in report.omitted)}.")
    return parts
