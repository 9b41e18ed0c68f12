"""Look after commands that run in the background."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Annotated, Literal

from toolroll.host.context import Context
from toolroll.host.shell.command_result import exit_code
from toolroll.host.shell.jobs import Job
from toolroll.host.shell.terminal import TerminalScreen, parse_size, settle
from toolroll.result import ErrorCode, ToolError
from toolroll.schema import Field
from toolroll.text.edit.replace import Finder
from toolroll.text.terminal import clean
from toolroll.tool import Effect, tool

_MAX_CHARS = 30_000


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job in a list."""

    id: int
    command: str
    state: str
    seconds: float


@dataclass(frozen=True, slots=True)
class JobList:
    """Every job there is."""

    jobs: list[JobRow]

    def __str__(self) -> str:
        rows = (f"{one.id}  {one.state}  {one.seconds:.0f} s  {one.command}" for one in self.jobs)
        return "\n".join(rows) or "There are no jobs."


@dataclass(frozen=True, slots=True)
class Polled:
    """What a job has printed from an offset on, and how it stands."""

    id: int
    command: str
    state: str
    output: str
    next: int
    """The offset, in bytes, where what it prints next will be."""
    total: int
    exit_code: int | None = None
    seconds: float = 0.0
    """How long the call waited."""
    note: str = ""
    screen: str = ""
    """Of a screen: its size, and where the cursor is."""

    def __str__(self) -> str:
        if self.screen:
            return f"{self.output}\n[Job {self.id}: {self.state}. Screen: {self.screen}.]".lstrip("\n")
        left = f"; {self.total - self.next} bytes more are there" if self.total > self.next else ""
        return f"{self.output.rstrip()}\n[Job {self.id}: {self.state}. Next offset: {self.next}{left}.]".lstrip()


@tool(Effect.SHELL, holds=True)
def job(
    ctx: Context,
    action: Annotated[Literal["output", "input", "screen", "kill", "list"], "What to do."] = "list",
    id: Annotated[int | None, "Number of the job."] = None,
    input: Annotated[str, "Text for its input or terminal."] = "",
    offset: Annotated[int, Field(ge=0), "Byte of output to start at."] = 0,
    wait: Annotated[float, Field(ge=0, le=300), "Seconds to wait for its end or a quiet screen."] = 0,
    keys: Annotated[list[str] | None, "Keys after `input`: enter, up, ctrl-c."] = None,
    size: Annotated[str, "New size: 80x24."] = "",
    *,
    new: Annotated[bool, "Show only what was not shown yet, whatever `offset` says."] = False,
    block: Annotated[bool, "Whether `wait` counts."] = True,
    filter: Annotated[str | None, "Regular expression: show only lines that it matches."] = None,
    most: Annotated[int, Field(ge=1), "Bytes of output to show."] = _MAX_CHARS,
) -> JobList | Polled:
    """Poll `output` of background commands, write `input`, see the `screen`, `kill` or `list` them."""
    jobs = ctx.shell.jobs
    if action == "list":
        return JobList([JobRow(one.id, one.title, one.state, one.seconds) for one in jobs.all()])
    if id is None:
        raise ToolError(ErrorCode.VALIDATION, f"Which job? Give the `id` to {action}.")
    one, began = jobs.get(id), monotonic()
    if one.screen is None and (action == "screen" or keys or size):
        raise ToolError(ErrorCode.VALIDATION, f"Job {id} has no terminal. Start it with `tty`.")
    if action == "kill":
        one.running.kill()
    elif action in ("input", "screen"):
        ctx.shell.feed(one, one.type(input, keys or ()))
    if size:
        one.resize(*parse_size(size))
    if one.screen is not None and action != "output" and not new:
        if wait or size or input or keys:
            settle(one.running, wait, ctx.token)
        return replace(_look(one, one.screen), seconds=round(monotonic() - began, 3))
    if wait and block:
        one.running.wait(wait, ctx.token, kill=False)
        ctx.token.check()
    polled = _poll(one, one.seen if new or (action == "kill" and not offset) else offset, most)
    one.seen = polled.next
    output = _matching_lines(ctx, polled.output, filter) if filter else polled.output
    return replace(polled, output=output, seconds=round(monotonic() - began, 3))


def _look(job: Job, screen: TerminalScreen) -> Polled:
    state, shown, total = job.state, screen.look(), job.running.output.total
    code = exit_code(job.running.ended.status) if job.running.ended else None
    notes = "\n".join(job.notes())
    return Polled(job.id, job.title, state, shown.text, total, total, code, note=notes, screen=shown.size)


def _poll(job: Job, offset: int, most: int) -> Polled:
    state, output = job.state, job.running.output  # in this order: of one that has ended, all is there
    total = output.total
    if offset > total:
        raise ToolError(
            ErrorCode.VALIDATION, f"`offset` {offset} is beyond the output, which has {total} bytes so far."
        )
    dropped, notes = output.dropped(), job.notes()  # of an endless output not everything is kept
    if offset in dropped and offset != job.seen:
        raise ToolError(
            ErrorCode.VALIDATION,
            f"The output has nothing at `offset` {offset}: bytes {dropped.start} to {dropped.stop - 1} were dropped, "
            f"for it is too long. There are 0 to {dropped.start - 1}, and {dropped.stop} to {total - 1}.",
        )
    at = dropped.stop if offset in dropped else offset
    chunk = output.read(at, most)
    following = at + len(chunk)
    if dropped and following == dropped.start:
        following = dropped.stop
    if dropped and (at != offset or following == dropped.stop):
        notes = [*notes, f"Bytes {dropped.start} to {dropped.stop - 1} of the output were dropped: it is too long."]
    code = exit_code(job.running.ended.status) if job.running.ended else None
    return Polled(job.id, job.title, state, clean(chunk), following, total, code, note="\n".join(notes))


def _matching_lines(ctx: Context, text: str, pattern: str) -> str:
    search = ctx.search.of(*ctx.files.where("."))[0]
    finder = Finder(pattern, regex=True, case=True, words=False, compiled=partial(search.expression, token=ctx.token))
    wanted = {line for _, (line, _) in finder.places(text)}
    return "".join(line for number, line in enumerate(text.splitlines(keepends=True), 1) if number in wanted)
