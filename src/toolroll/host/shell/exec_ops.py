"""Commands that run elsewhere: the shell tool on operations that a program gives (`ExecOps`)."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, cast

from toolroll.host.files.file_ops import OpsRoot
from toolroll.host.runtime.dir_entries import closing_fd
from toolroll.host.shell.command_launcher import SealedText, StartedCommand, Word, Writes
from toolroll.host.shell.command_result import CommandRun, Completed, ShownOutput
from toolroll.host.shell.shell import Shell
from toolroll.host.shell.shell_memory import ShellChoice
from toolroll.result import ErrorCode, ToolError
from toolroll.text.terminal import clean
from toolroll.text.truncate import Keep, bound

if TYPE_CHECKING:
    from toolroll.host.runtime.call import Call
    from toolroll.host.shell.supervisor import RunningCommand


@dataclass(frozen=True, slots=True)
class Executed:
    """What became of a command."""

    status: int
    output: bytes
    """With what it wrote to stderr, unless that is in `errors`."""
    errors: bytes = b""


class ExecOps(Protocol):
    """Runs commands in a container, on another machine, in a test."""

    def run(self, command: str, *, cwd: str, seconds: float, cancelled: Callable[[], bool]) -> Executed:
        """Run a text of shell in a folder, given relative to the workspace.

        After `seconds` it is ended and a TimeoutError raised; when `cancelled` turns true it is ended too.
        """


def refuse(*_: object, **__: object) -> NoReturn:
    """Refuse what only runs on this machine."""
    raise ToolError(ErrorCode.UNSUPPORTED, "This needs commands on this machine, and those of this kit run elsewhere.")


@dataclass(frozen=True, slots=True)
class ExecRun(CommandRun):
    """A command that ran elsewhere."""

    done: Executed | None = None
    took: float = 0.0

    @property
    def outcome(self) -> str:
        return "timed_out" if self.done is None else "exited"

    @property
    def status(self) -> int | None:
        return None if self.done is None else self.done.status

    @property
    def seconds(self) -> float:
        return self.took

    def show(self, most: int, keep: Keep = "middle") -> ShownOutput:
        return self._shown(b"" if self.done is None else self.done.output, most, keep)

    def show_errors(self, most: int, keep: Keep = "middle") -> ShownOutput:
        return self._shown(b"" if self.done is None else self.done.errors, most, keep)

    def _shown(self, data: bytes, most: int, keep: Keep) -> ShownOutput:
        text = clean(data)
        shown = bound(text, most, keep)
        return ShownOutput(shown.text, self.spill.keep(text) if shown.cut else None)


class ExecShell(Shell):
    """Judges commands as ever, and has operations run them. Without operations there are no commands."""

    def use(self, ops: ExecOps | None, files: OpsRoot | None) -> ExecShell:
        """Run commands by these operations; `files` are those of the kit, where they are elsewhere."""
        self._ops, self._files = ops, files
        return self

    def on(self, call: Call, _repository: object = None) -> Shell:
        """A repository elsewhere is not looked at."""
        return super().on(call)

    def run_on(
        self, text: str, *, cwd: str, seconds: float, choice: ShellChoice, background: bool = False, **how: Any
    ) -> CommandRun:
        """`run`: what a shell elsewhere ends with is not known."""
        if background or how.pop("terminal", False):
            refuse()
        return self.run(text or ":" if choice.remember == "reset" else text, cwd=cwd, seconds=seconds, **how)

    def program(
        self,
        argv: Sequence[Word],
        *,
        cwd: str = ".",
        seconds: float,
        merge: bool = True,
        detach_after: float | None = None,  # noqa: ARG002 - there are no jobs elsewhere
        writes: Writes = "workspace",
        extra: Mapping[str, Word] | None = None,
        captured: bool = True,
        programs: tuple[str, ...] = (),
    ) -> CommandRun:
        ops = self._ops
        words = [
            one.text if isinstance(one, SealedText) and at == len(argv) - 1 else one for at, one in enumerate(argv)
        ]
        if ops is None:
            why = "This kit runs no commands, because its files are elsewhere. Ask the user for a kit with both."
            raise ToolError(ErrorCode.UNSUPPORTED, why)
        if writes != "workspace" or extra or programs or any(isinstance(one, SealedText) for one in words[:-1]):
            refuse()
        texts = [str(one) for one in words]
        is_text = texts[1:2] == ["-c"] or isinstance(argv[-1], SealedText)
        command, token = texts[-1] if is_text else shlex.join(texts), self._for().token
        token.check()
        began, where = time.time(), self._folder(cwd)
        with self._capturing(command) if captured else nullcontext():
            try:
                done = ops.run(command, cwd=where, seconds=seconds, cancelled=lambda: token.cancelled)
            except TimeoutError:
                done = None
        token.check()
        if done is not None and merge and done.errors:
            done = Executed(done.status, done.output + done.errors)
        launched = StartedCommand(cast("RunningCommand", None), began, "replaced", True, where, [], [])
        return ExecRun(launched, self._spill, done=done, took=time.time() - began)

    @contextmanager
    def _capturing(self, command: str) -> Iterator[None]:
        """Around a command: what it changes is recorded where the workspace is a folder of this machine."""
        if self._files is None:
            with self._capture.captured(self._for(), command):
                yield
        else:
            yield
            self._for().notes.append("What it changed is not captured: the files are elsewhere.")

    def run_bytes(
        self,
        command: str | Sequence[str],
        *,
        cwd: str,
        seconds: float,
        stdin: bytes,
        extra: Mapping[str, str],
        kept_bytes: int,
    ) -> Completed:
        if stdin or extra:
            refuse()
        run: Callable[..., CommandRun] = self.run if isinstance(command, str) else self.words
        ran = cast("ExecRun", run(command, cwd=cwd, seconds=seconds, merge=False))
        streams = (ran.done.output, ran.done.errors) if ran.done is not None else (b"", b"")
        stdout, stderr = (one[:kept_bytes] for one in streams)
        return Completed(
            stdout, stderr, ran.status, self._for().changes, ran.outcome, any(len(one) > kept_bytes for one in streams)
        )

    def _folder(self, cwd: str) -> str:
        """The folder of a command, relative to the workspace; SecurityError for one outside of it."""
        if self._files is not None:
            return self._files.names_of(cwd)

        with closing_fd(self._launcher.folder(cwd)) as fd:
            return "/".join(self._root.real(fd)) or "."

    def _start(self, argv: Sequence[Word], **how: Any) -> StartedCommand:
        refuse(argv, how)
