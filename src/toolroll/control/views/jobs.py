"""The background jobs of a kit: their state, their output or screen, and keys for them."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from toolroll.control.views import check_digest, digest
from toolroll.host.approval.guard import run_changed
from toolroll.host.shell.jobs import Job
from toolroll.host.shell.shell import Shell
from toolroll.kit import Kit
from toolroll.text.terminal import clean

_MAX_TITLE_CHARS, _MAX_COMMAND_CHARS = 100, 10_000
_MAX_OUTPUT_BYTES = 64 << 10
Offset = Annotated[int, Meta(ge=0)]


def list_jobs(kit: Kit) -> dict[str, Any]:
    """The jobs, newest first, those that have ended included."""
    shell = used_shell(kit)
    return {"jobs": [_row(one) for one in reversed(shell.jobs.all())] if shell is not None else []}


def job_states(kit: Kit) -> tuple[tuple[int, str], ...]:
    """The number and the state of each job."""
    shell = used_shell(kit)
    return tuple((one.id, one.state) for one in shell.jobs.all()) if shell is not None else ()


def used_shell(kit: Kit) -> Shell | None:
    """The shell of a kit, if it was used: a look does not open it."""
    shell = kit.context().commands
    return shell if getattr(shell, "is_open", True) else None


def _row(job: Job) -> dict[str, Any]:
    return {
        "id": job.id,
        "title": (job.title.strip().splitlines() or [""])[0][:_MAX_TITLE_CHARS],
        "command": job.title[:_MAX_COMMAND_CHARS],
        "status": job.state,
        "seconds": round(job.seconds, 1),
        "terminal": job.screen is not None,
        "digest": _digest(job),
    }


def _digest(job: Job) -> str:
    return digest(job.id, job.title, job.started)


def _find(kit: Kit, id: int, shown: str) -> Job:
    job = kit.context().commands.jobs.get(id)
    check_digest(shown, _digest(job), f"Job {id}")
    return job


def read_output(kit: Kit, id: int, after: Offset | None = None) -> dict[str, Any]:
    """What a job printed after an offset, without one the end of it; of a terminal always the whole screen.

    What the model has seen of it stays as it was.
    """
    job = kit.context().commands.jobs.get(id)
    over, output = job.running.over, job.running.output  # in this order: of one that has ended, all is there
    total = output.total
    if job.screen is not None:
        return {"text": job.screen.look().text, "next": total, "ended": over, "skipped": 0}
    wanted = max(0, total - _MAX_OUTPUT_BYTES) if after is None else min(after, total)
    start = output.present(wanted)
    chunk = output.read(start, _MAX_OUTPUT_BYTES)
    end = start + len(chunk)
    skipped = start if after is None else start - wanted
    return {"text": clean(chunk), "next": end, "ended": over and end >= total, "skipped": skipped}


def press_keys(kit: Kit, id: int, digest: str, text: str = "", keys: tuple[str, ...] = ()) -> dict[str, Any]:
    """Type a text and press keys, by the names that the tool `job` knows, if no rule denies it."""
    ctx = kit.context(message="console")
    job = _find(kit, id, digest)
    ctx.call.name, ctx.call.arguments = "job", {"action": "input", "id": id, "input": text, "keys": list(keys)}
    run_changed(ctx.call.arguments, ctx.shell.feed, job, job.type(text, keys))  # who types it agrees to it
    return {"ok": True, "text": ""}


def stop_job(kit: Kit, id: int, digest: str) -> dict[str, Any]:
    """End a job with all its processes."""
    job = _find(kit, id, digest)
    job.running.kill()
    return {"ok": True, "text": f"Job {id}: {job.state}."}
