"""Task files of the fleet: one JSON object a line. And the run of one task in a lease."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import closing
from typing import TYPE_CHECKING, Any

import msgspec

from toolroll.result import ToolError

if TYPE_CHECKING:
    from toolroll.fleet.lease import Lease
    from toolroll.host.shell.command_result import Completed

_MAX_SAID = 2_000  # of what a command printed, and of an error
_MAX_TEXT = 500  # of what a call answered
_MAX_PATCH = 200_000
_COMMAND_SECONDS = 600.0


class FleetTask(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """One task: commands that set up its lease, then calls or an agent, then a command that checks."""

    id: str = ""
    setup: list[str] = []
    calls: list[tuple[str, dict[str, Any]]] = []
    """Names of tools, with their arguments."""
    agent: str = ""
    """What an agent is asked to do."""
    check: str = ""
    """A command; the task has passed if its status is 0."""
    base: str = ""
    """A folder, in place of that of the run."""
    commit: str = ""
    recipe: list[str] = []


class CallRow(msgspec.Struct, omit_defaults=True):
    """One call of a task."""

    tool: str
    ok: bool
    ms: float
    text: str = ""


class FleetResult(msgspec.Struct, omit_defaults=True):
    """A line of the results. `status` is passed, failed, or error where the task could not be run to its end."""

    id: str
    status: str
    why: str = ""
    seconds: float = 0.0
    attempt: int = 1
    calls: list[CallRow] = []
    output: str = ""
    """The end of what the check printed, or the agent's answer."""
    patch: str = ""
    """What the task changed in its lease."""
    note: str = ""
    """Why the patch cannot be applied as it is: it was cut, or has bytes that are not UTF-8."""
    worker: str = ""


RunAgent = Callable[["Lease", str], tuple[bool, str]]
"""Lets an agent work on a task in a lease; whether it finished, and what it said."""


def read_tasks(lines: Iterable[str]) -> tuple[list[FleetTask], list[str]]:
    """The tasks of a file, and a sentence for each line that is none."""
    tasks, problems, seen = list[FleetTask](), list[str](), set[str]()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            task = msgspec.json.decode(line, type=FleetTask)
        except (msgspec.DecodeError, UnicodeError) as error:
            hint = ". A call is [name, arguments]" if "$.calls" in str(error) else ""
            problems.append(f"line {number}: {error}{hint}")
            continue
        task.id = task.id or str(number)
        why = _find_problem(task, seen)
        if why:
            problems.append(f"line {number}: {why}")
        else:
            seen.add(task.id)
            tasks.append(task)
    return tasks, problems


def _find_problem(task: FleetTask, seen: set[str]) -> str:
    if task.id in seen:
        return f"another task has the id {task.id!r}"
    if task.calls and task.agent:
        return "it has both calls and an agent. Give one of them"
    return "" if task.setup or task.calls or task.agent or task.check else "it has nothing to do"


def read_results(lines: Iterable[str]) -> dict[str, FleetResult]:
    """The last result of each task; a line that was cut off by a kill is left out."""
    found = {}
    for line in lines:
        try:
            one = msgspec.json.decode(line, type=FleetResult)
        except (msgspec.DecodeError, UnicodeError):
            continue
        found[one.id] = one
    return found


def run_task(task: FleetTask, lease: Callable[[], Lease], run_agent: RunAgent | None = None) -> FleetResult:
    """Run one task in a lease of its own, which is removed at the end.

    Whatever it raises is an error in the result, and all text of the result can be encoded as UTF-8.
    """
    began = time.monotonic()
    result = FleetResult(task.id, "passed")
    try:
        with closing(lease()) as kit:
            _work(task, kit, result, run_agent)
            result.patch, result.note = _bound_patch(kit.diff())
    except BaseException as error:  # a task runs in a thread, whose error would be lost
        result.status, result.why = "error", _describe_error(error)[:_MAX_SAID]
    result.seconds = round(time.monotonic() - began, 3)
    _escape_surrogates(result)
    return result


def _describe_error(error: BaseException) -> str:
    is_clear = isinstance(error, ToolError | OSError | ValueError)
    return str(error) if is_clear else f"{type(error).__name__}: {error}"


def _bound_patch(diff: str) -> tuple[str, str]:
    """The patch, cut at a line end if it is too long; and a note if `git apply` cannot take it."""
    text, notes = _escape(diff), []
    if text != diff:
        notes.append("The patch has bytes that are not UTF-8. They are shown escaped (\\udcff is the byte ff).")
    if (whole := len(text)) > _MAX_PATCH:
        text = text[: text.rfind("\n", 0, _MAX_PATCH) + 1]
        notes.append(f"The patch was cut after {len(text):,} of {whole:,} characters.")
    return text, " ".join([*notes, "git apply cannot take it as it is."]) if notes else ""


def _escape_surrogates(result: FleetResult) -> None:
    """Make all text of a result encodable: bytes that are not UTF-8 come as lone surrogates."""
    result.why, result.output, result.patch = map(_escape, (result.why, result.output, result.patch))
    for call in result.calls:
        call.text = _escape(call.text)


def _escape(text: str) -> str:
    return text.encode(errors="backslashreplace").decode()


def _work(task: FleetTask, kit: Lease, result: FleetResult, run_agent: RunAgent | None) -> None:
    for command in task.setup:
        if (done := kit.exec(command, timeout=_COMMAND_SECONDS)).code != 0:
            result.status, result.why, result.output = "failed", f"setup {command!r}: status {done.code}", _end(done)
            return
    for name, arguments in task.calls:
        start = time.monotonic()
        answer = kit.call(name, arguments)
        ms = round((time.monotonic() - start) * 1000, 2)
        result.calls.append(CallRow(name, answer.ok, ms, answer.text[:_MAX_TEXT]))
        if not answer.ok and not task.check:
            result.status, result.why = "failed", f"{name}: {answer.text[:_MAX_TEXT]}"
    if task.agent:
        if run_agent is None:
            raise ValueError("No model is set up for the agent of this task.")
        finished, result.output = run_agent(kit, task.agent)
        if not finished and not task.check:
            result.status, result.why = "failed", "the agent did not finish"
    if task.check:
        done = kit.exec(task.check, timeout=_COMMAND_SECONDS)
        result.output = _end(done)
        if done.code != 0:
            result.status, result.why = "failed", f"check: status {done.code}"


def _end(done: Completed) -> str:
    return (done.stdout + done.stderr)[-_MAX_SAID:].decode(errors="replace")
