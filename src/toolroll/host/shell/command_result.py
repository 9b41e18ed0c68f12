"""The result of a command as tools show it: how it ended, and its output as clean text within a budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from toolroll.host.files.spill import Spill
from toolroll.host.shell.interpreter import name_python
from toolroll.host.shell.output import FILE_BYTES
from toolroll.policy import programs
from toolroll.result import ErrorCode, Image, Suggestion, ToolError
from toolroll.text.terminal import clean, is_binary
from toolroll.text.truncate import Keep, bound

if TYPE_CHECKING:
    from toolroll.host.shell.command_launcher import StartedCommand
    from toolroll.host.shell.jobs import Job
    from toolroll.host.shell.output import CapturedOutput
    from toolroll.text.files.changes import Change

On = Literal["say", "raise"]
MODEL_CHARS = 12_000
"""Of the output of a command, so many are shown to a model."""
_MAX_NOTE_CHARS = 200  # that names the handle of what was cut

_ENDINGS = {
    "timed_out": "Command timed out after {seconds:.1f} s and was ended with all its processes.",
    "memory": "Killed: its processes used too much memory together.",
    "processes": "Killed: it had too many processes.",
    "killed": "Killed.",
}


@dataclass(frozen=True, slots=True)
class ShownOutput:
    """The text that is shown, and the handle of the whole when that is more."""

    text: str
    handle: str | None = None
    total: int = 0
    """Bytes of the whole output so far."""

    @property
    def note(self) -> str:
        if not self.handle:
            return ""
        some = f"Of {self.total} bytes the first and last are kept"
        kept = "The whole output is kept" if self.total <= FILE_BYTES else some
        return f"[Cut. {kept}: `read` or `grep` {self.handle!r}.]"


@dataclass(frozen=True, slots=True)
class CommandRun:
    """What became of a command."""

    launched: StartedCommand
    spill: Spill
    job: Job | None = None
    note: str = ""
    python: str = ""
    """The Python that it runs, or would run, where that is known."""

    @property
    def outcome(self) -> str:
        """ "exited", "timed_out", "killed", "memory" or "processes"; "running" when it is a job now."""
        ended = self.launched.running.ended
        return "running" if ended is None else str(ended.outcome)

    @property
    def status(self) -> int | None:
        """The exit code; negative for a signal."""
        ended = self.launched.running.ended
        return None if ended is None else ended.status

    @property
    def seconds(self) -> float:
        ended = self.launched.running.ended
        return ended.seconds if ended is not None else self.job.seconds if self.job else 0.0

    def show(self, most: int, keep: Keep = "middle") -> ShownOutput:
        if self.job is not None and self.job.screen is not None:
            return ShownOutput(self.job.screen.look().text, None, self.launched.running.output.total)
        return show_output(self.launched.running.output, self.spill, most, keep)

    def show_errors(self, most: int, keep: Keep = "middle") -> ShownOutput:
        """What it printed to stderr, when that was asked for apart."""
        errors = self.launched.running.errors
        return ShownOutput("") if errors is None else show_output(errors, self.spill, most, keep)


@dataclass(frozen=True, slots=True)
class Completed:
    """A command that `Kit.exec` ran to its end."""

    stdout: bytes
    stderr: bytes
    code: int | None
    """The exit code; 128 and the number of the signal that ended it; None if it could not be had."""
    changes: list[Change]
    """What it changed in the workspace."""
    outcome: str = "exited"
    """Or "timed_out", "killed", "memory" or "processes"."""
    truncated: bool = False
    """Whether a stream was longer than the limit: then the first part is here."""
    notes: list[str] = field(default_factory=list)
    """What is to be said about the changes, as when they cannot be undone."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What a command printed and how it ended."""

    output: str
    """Everything in order; without stderr when that is kept apart."""
    errors: str
    exit_code: int | None
    outcome: str
    job: int | None
    cwd: str
    seconds: float
    start: int
    """Milliseconds since 1970, like `end`."""
    end: int
    missing: str | None
    """A program that was not found."""
    spill: str | None
    """The handle of the whole output, where it is longer than a model is shown."""
    note: str
    more: Suggestion | None
    meta: dict[str, Any]
    shorter: Callable[[int], CommandResult] | None = None
    """The same with so many characters of output less."""
    images: tuple[Image, ...] = ()
    """Pictures that it shows beside its output."""

    @property
    def stdout(self) -> str:
        return self.output.strip()

    @property
    def stderr(self) -> str:
        return self.errors.strip()

    @property
    def timed_out(self) -> bool:
        return self.outcome == "timed_out"

    @property
    def failed(self) -> bool:
        """Whether it came to an end other than a success of its own."""
        return self.outcome not in ("exited", "running") or bool(self.exit_code)

    @property
    def ending(self) -> str:
        """How it ended, in words; nothing after a success."""
        if self.outcome == "running":
            return f"Still running as job {self.job}."
        if self.outcome != "exited":
            return _ENDINGS[self.outcome].format(seconds=self.seconds)
        return _exit(self.exit_code or 0)

    def __str__(self) -> str:
        printed = (part.rstrip("\n") for part in (self.output, self.errors) if part.strip())
        return "\n".join((*printed, *filter(None, [self.ending]))) or "(no output)"

    def checked(self, *, on_failure: On = "say", on_timeout: On = "raise") -> CommandResult:
        """This, unless its end counts as an error: then ToolError, with what was printed."""
        if self.timed_out and on_timeout == "raise":
            raise self._error(ErrorCode.TIMEOUT)
        killed = self.outcome not in ("exited", "running", "timed_out")
        if killed or (self.exit_code and not self.timed_out and on_failure == "raise"):
            raise self._error(ErrorCode.EXECUTION)
        return self

    def _error(self, code: ErrorCode) -> ToolError:
        message = f"{self}\n{self.note}".rstrip()
        details = {"exit_code": self.exit_code, "outcome": self.outcome, "output": self.output, **self.meta}
        error, shorter = ToolError(code, message, details=details), self.shorter
        if shorter is not None:
            error.shorter = lambda over: shorter(over)._error(code)
        return error


def build_result(ran: CommandRun, most: int, keep: Keep = "middle") -> CommandResult:
    """A command's output within `most` characters, with what helps to go on."""
    shown, errors = ran.show(most, keep), ran.show_errors(most, keep)
    if ran.job:
        ran.job.seen = shown.total
    said = f"{shown.text}\n{errors.text}"
    failed = ran.outcome == "exited" and bool(ran.status)
    missing = programs.find_missing(said) if failed else None
    why = _explain(said, ran.launched) if failed or ran.outcome == "timed_out" else ""
    how = programs.how_to_install(missing) if missing else None
    which = name_python(said, ran.python) if failed and ran.python else ""
    notes = (shown.note, errors.note, how or "", why, which, *ran.launched.notes(), ran.note)
    code = exit_code(ran.status)
    more = {"spill": shown.handle, "auto_run": ran.launched.auto_run, "exit_code": code, "python": ran.python}
    began = int(ran.launched.at * 1000)

    def shorten(over: int) -> CommandResult:
        longest = max(len(shown.text), len(errors.text))
        return build_result(ran, max(0, longest - over - _MAX_NOTE_CHARS), keep)

    return CommandResult(
        output=ran.launched.relabel(shown.text),
        errors=ran.launched.relabel(errors.text),
        exit_code=code,
        outcome=ran.outcome,
        job=ran.job.id if ran.job else None,
        cwd=ran.launched.relabel(ran.launched.cwd),
        seconds=round(ran.seconds, 3),
        start=began,
        end=began + int(ran.seconds * 1000),
        missing=missing,
        spill=shown.handle or errors.handle or _keep_long(ran, shown.text),
        note="\n".join(filter(None, dict.fromkeys(notes))),
        more=_suggest(ran.job) if ran.job else None,
        meta={"sandbox": ran.launched.tier} | {name: value for name, value in more.items() if value},
        shorter=shorten,
    )


def _keep_long(ran: CommandRun, text: str) -> str | None:
    """The handle of an output that a program gets whole, and that a model would see a part of."""
    return ran.launched.running.output.handle(make=True) if len(text) > MODEL_CHARS else None


def _suggest(job: Job) -> Suggestion:
    return Suggestion("job", {"action": "screen" if job.screen else "output", "id": job.id})


def _explain(said: str, launched: StartedCommand) -> str:
    """What stood in the way of a command that failed, where its output shows it."""
    from toolroll.host.shell.explain import explain
    from toolroll.text.shell.hints import hint

    return hint(said) or explain(said, launched)


def check_end(ran: CommandRun, most: int, keep: Keep = "middle") -> None:
    """Raise ToolError if it did not come to an end of its own; nothing is kept of one that did."""
    if ran.outcome != "exited":
        build_result(ran, most, keep).checked()


def exit_code(status: int | None) -> int | None:
    """The exit code as a shell reports it: 128 plus the number of the signal that ended it."""
    return status if status is None or status >= 0 else 128 - status


def _exit(code: int) -> str:
    import signal

    if code == 0:
        return ""
    named = {128 + int(one): one.name for one in signal.Signals}
    return f"Exit code: {code}" + (f" ({named[code]})" if code in named else "")


def show_output(output: CapturedOutput, spill: Spill, most: int, keep: Keep) -> ShownOutput:
    """What was printed so far, within `most` characters; `keep` says which part stays."""
    head, omitted, tail = output.ends(4 * most)  # a character is at most four bytes
    total = len(head) + omitted + len(tail)
    if is_binary(head or tail):
        return ShownOutput(f"({output.total} bytes of binary output, not shown)", output.handle(), total)
    if omitted == 0:
        text = clean(head + tail)
        if len(text) <= most:
            return ShownOutput(text, None, total)
        return ShownOutput(bound(text, most, keep).text, output.handle() or spill.keep(text), total)
    # Memory may hold all of it still, and a file is the only way to what is left out.
    return ShownOutput(_ends(clean(head), clean(tail), omitted, most, keep), output.handle(make=True), total)


def _ends(head: str, tail: str, omitted: int, most: int, keep: Keep) -> str:
    """Both ends of something too long, or one of them, around a line that says what is missing."""
    notice = f"[Output truncated...] More than {omitted} bytes left out."
    room = max(0, most - len(notice) - 2)
    ends = {"head": (room, 0), "tail": (0, room), "middle": (room - room // 2, room // 2)}[keep]
    first, last = head[: ends[0]], tail[len(tail) - ends[1] :] if ends[1] else ""
    return "\n".join(part for part in (first, notice, last) if part)
