"""Several workers on one task, each in a copy of the workspace, side by side; their reports and patches in one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolroll.agent.loop import Agent, Outcome
from toolroll.agent.patches import left_out, patch
from toolroll.chains import LinkedToken
from toolroll.host.files.copies import Copies
from toolroll.host.runtime.cancellation import Token

if TYPE_CHECKING:
    from toolroll.agent.model_client import Mind
    from toolroll.agent.presets import Preset
    from toolroll.agent.records import Record
    from toolroll.kit import Kit

KitFor = Callable[["Preset", str, str], "Kit"]
"""The kit of a worker, given its preset, its folder and a folder for its state."""
Watch = Callable[[str, "Record"], None]
"""Is told which worker, and what happened."""


@dataclass(frozen=True, slots=True)
class Report:
    """What one worker came to."""

    worker: str
    outcome: Outcome
    patch: str = ""
    """What it changed, as a patch for the workspace."""
    paths: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    """Files that it changed and that no patch can tell."""


@dataclass(frozen=True, slots=True)
class Merged:
    """All reports of a swarm."""

    task: str
    reports: tuple[Report, ...]
    notes: tuple[str, ...] = ()

    @property
    def finished(self) -> bool:
        return bool(self.reports) and all(one.outcome.finished for one in self.reports)

    def overlaps(self) -> dict[str, list[str]]:
        """Files that more than one worker changed, and who."""
        found: dict[str, list[str]] = {}
        for report in self.reports:
            for path in report.paths:
                found.setdefault(path, []).append(report.worker)
        return {path: workers for path, workers in found.items() if len(workers) > 1}

    def text(self, patches: Mapping[str, str] | None = None) -> str:
        """One report in Markdown; `patches` says where the patch of a worker is kept."""
        parts = [f"# {self.task}", *(f"Note: {note}" for note in self.notes)]
        for report in self.reports:
            parts += _section(report, (patches or {}).get(report.worker, ""))
        if overlaps := self.overlaps():
            rows = [f"- `{path}`: {', '.join(workers)}" for path, workers in overlaps.items()]
            parts.append("## Changed by more than one\n\nThese patches may not fit together:\n\n" + "\n".join(rows))
        return "\n\n".join(parts) + "\n"


def swarm(
    task: str,
    workspace: str,
    workers: Sequence[Preset],
    model: Mind,
    kit_for: KitFor,
    *,
    steps: int = 50,
    tokens: int | None = None,
    watch: Watch | None = None,
    token: Token | None = None,
) -> Merged:
    """Let the workers work; `tokens` is for each of them. When this is interrupted, all of them are ended."""
    group = LinkedToken(token)

    def work(preset: Preset, copies: Copies) -> Report:
        folder = copies.make(preset.name)
        told = [] if watch is None else [lambda record: watch(preset.name, record)]
        with kit_for(preset, folder, copies.state(preset.name)) as kit:
            outcome = Agent(kit, model, preset, steps=steps, tokens=tokens, watch=told).run(task, LinkedToken(group))
        changes = copies.changes(preset.name)
        paths = tuple(one.path for one in changes)
        return Report(preset.name, outcome, patch(changes), paths, tuple(left_out(changes)))

    with Copies(workspace) as copies, ThreadPoolExecutor(max(1, len(workers)), "toolroll worker") as pool:
        try:
            futures = [pool.submit(work, preset, copies) for preset in workers]
            reports = tuple(_waited(one) for one in futures)
        except BaseException:
            group.cancel()  # the pool waits for its threads, and those for the processes that they started
            raise
        return Merged(task, reports, tuple(copies.notes))


def _waited(future: Future[Report]) -> Report:
    """The report, waited for in a way that a signal interrupts."""
    while not future.done():
        wait([future], timeout=1.0)
    return future.result()


def _section(report: Report, kept: str) -> list[str]:
    outcome = report.outcome
    state = "finished" if outcome.finished else f"stopped: {outcome.reason}"
    parts = [f"## {report.worker} ({state}, {outcome.steps} steps, {outcome.usage.total} tokens)", outcome.text.strip()]
    if report.patch:
        apply = f" To take it over: `git apply {kept}`" if kept else ""
        changed = ", ".join(f"`{path}`" for path in report.paths)
        parts.append(f"Changed: {changed}.{apply}\n\n```diff\n{report.patch}```")
    if report.left_out:
        parts.append(f"Also changed, but not in the patch: {', '.join(f'`{path}`' for path in report.left_out)}.")
    return parts
