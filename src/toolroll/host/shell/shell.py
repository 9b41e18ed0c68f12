"""Run commands for tools: judged by the policy, confined, bounded, with no process left at the end."""

from __future__ import annotations

import copy
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from toolroll.host.approval.guard import ApprovalRequest, Consent, Guard
from toolroll.host.files.root import Root
from toolroll.host.files.spill import Spill
from toolroll.host.runtime.state import create_nameless_file
from toolroll.host.shell.command_launcher import (
    CommandLauncher,
    FolderReport,
    SealedText,
    StartedCommand,
    Word,
    Writes,
    display_word,
    prepare_words,
)
from toolroll.host.shell.command_result import CommandRun, Completed, exit_code
from toolroll.policy.effects import Effect
from toolroll.policy.limits import Limits
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.capture.capture import Capture
    from toolroll.host.runtime.call import Call
    from toolroll.host.runtime.launcher import ChildProcess, Launcher
    from toolroll.host.runtime.progress import Progress
    from toolroll.host.sandbox.git.guard import GitGuard
    from toolroll.host.shell.jobs import Job, Jobs
    from toolroll.policy.commands import CommandRules, Judgement
    from toolroll.policy.decision import Rule

_ARGUMENT_BYTES = 100_000  # the kernel takes at most 128 KiB in one argument
_QUICK = 1.0  # seconds: a job that fails at once is reported at once


class NamesBaseError(ToolError):
    """A command in a fork names the base by its absolute path, and the sandbox cannot show the fork there."""


class Shell:
    """Runs commands in one workspace."""

    def __init__(
        self,
        root: Root,
        spill: Spill,
        guard: Guard,
        *,
        limits: Limits,
        table: str,
        environment: Mapping[str, str],
        launcher: Launcher,
        git: GitGuard,
        capture: Capture,
    ) -> None:
        """`launcher` knows where the shells are; `capture` records what commands change."""
        self.environment = environment
        self.programs = launcher  # finds installed programs
        self._root, self._spill, self._guard, self.policy = root, spill, guard, guard.policy
        self._limits = limits
        self._table = guard.policy.commands or table
        self._launcher = CommandLauncher(root, spill, guard.policy, limits, environment, git, launcher)
        self._capture = capture
        self._lock = threading.Lock()
        # Shared by the copies that `on` makes: none or one, and where each session is.
        self._jobs: list[Jobs] = []
        self._entered: dict[str, str] = {}
        self._call: Call | None = None

    def on(self, call: Call) -> Shell:
        other = copy.copy(self)
        other._call = call
        return other

    @property
    def jobs(self) -> Jobs:
        """What runs, or ran, in the background."""
        from toolroll.host.shell.jobs import Jobs

        with self._lock:
            if not self._jobs:
                self._jobs.append(Jobs(self._limits.jobs))
            return self._jobs[0]

    @property
    def tier(self) -> str:
        """How commands are confined here; raises ToolError when they cannot be and must."""
        return str(self._launcher.sandbox().tier)

    def run(
        self,
        text: str,
        *,
        cwd: str = ".",
        seconds: float,
        program: str = "bash",
        merge: bool = True,
        detach_after: float | None = None,
        reads: bool = False,
        report: FolderReport | None = None,
    ) -> CommandRun:
        """Run a text of shell, if the policy lets it; after `detach_after` seconds it goes on as a job.

        With `reads` it then reads what is written to the job. `report` gets the folder that bash ends in.
        """
        self._authorise_text(text, cwd, program)
        how: dict[str, Any] = {"merge": merge, "detach_after": detach_after, "reads": reads}
        how |= {} if report is None else {"extra": {"BASH_ENV": report}}
        with self._argv(text, program) as argv:
            return self.program(argv, cwd=cwd, seconds=seconds, captured=not _only_reads(text), **how)

    def must_fork(self, text: str, args: Sequence[str] | None = None) -> bool:
        """Whether what a command changes must be looked at before it lands; with `args` it is a program."""
        import shlex

        return self.policy.commit != "auto" and not _only_reads(text if args is None else shlex.join((text, *args)))

    def run_on(self, text: str, *, cwd: str, seconds: float, restart: bool = False, **how: Any) -> CommandRun:
        """`run` in the folder that the session is in, or else in `cwd`, and stay in the one that bash ends in.

        `restart` goes back to `cwd` first, and then needs no command.
        """
        session = self._for().session
        if restart:
            self._entered.pop(session, None)
            text = text or ":"
        here = self._entered.get(session, cwd)
        try:
            os.close(self._launcher.folder(here))
        except (ToolError, OSError):  # it is gone
            here = cwd
        with FolderReport() as report:
            ran = self.run(text, cwd=here, seconds=seconds, report=report, **how)
            ended = report.read() or here
        try:
            self.enter(session, ended)
        except (ToolError, OSError):
            self._entered.pop(session, None)
            return replace(ran, note=f"The next command begins in the workspace again: {ended!r} is outside, or gone.")
        there = self.entered(session)
        return ran if there == os.path.normpath(here) else replace(ran, note=f"The next command begins in {there!r}.")

    def look(self, text: str, *, cwd: str = ".", seconds: float) -> CommandRun:
        """Run a text of shell that only reads, by the terminal's table, and cannot write."""
        self.authorise_look(text, cwd)
        with self._argv(text) as argv:
            return self.program(argv, cwd=cwd, seconds=seconds, writes="nothing")

    def authorise_look(self, text: str, cwd: str) -> None:
        """Return if `look` may run the text; raise ToolError if not."""
        from toolroll.policy.commands import TERMINAL, judge
        from toolroll.policy.decision import Rule

        _check(text)
        no_cd = Rule("deny", command=("cd",), reason="'cd' is not allowed here. Give paths from the workspace.")
        judgement = judge(text, TERMINAL if self._guard.policy.allow_cd else replace(TERMINAL, user=(no_cd,)))
        if judgement.decision != "allow":
            raise ToolError(ErrorCode.SECURITY, judgement.reason)
        self._authorise_text(text, cwd)

    def words(
        self,
        argv: Sequence[Word],
        *,
        cwd: str = ".",
        seconds: float,
        merge: bool = True,
        writes: Writes = "workspace",
        extra: Mapping[str, Word] | None = None,
    ) -> CommandRun:
        """Run a program given as words, without a shell, if the policy lets it."""
        self._authorise_words(argv, cwd)
        return self.program(argv, cwd=cwd, seconds=seconds, merge=merge, writes=writes, extra=extra)

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
        """Run a text of shell, or words without one, to its end if the policy lets it; its streams are kept apart."""
        if isinstance(command, str):
            self._authorise_text(command, cwd)
        else:
            self._authorise_words(command, cwd)
        given = create_nameless_file(stdin, sealed=True)
        try:
            with self._argv(command) if isinstance(command, str) else nullcontext(command) as argv:
                captured = not (isinstance(command, str) and _only_reads(command))
                how: dict[str, Any] = {"merge": False, "stdin": given, "kept_bytes": kept_bytes, "captured": captured}
                launched = self._start(argv, cwd=cwd, seconds=seconds, extra=extra, **how)
        finally:
            os.close(given)
        ran, call = self._settle(launched, display_word(argv[-1]), patience=None), self._for()
        outputs = [one for one in (launched.running.output, launched.running.errors) if one is not None]
        stdout, stderr = (one.read(0, kept_bytes) for one in outputs)
        how_much = any(one.total > kept_bytes for one in outputs), call.notes
        return Completed(stdout, stderr, exit_code(ran.status), call.changes, ran.outcome, *how_much)

    def _authorise_words(self, argv: Sequence[Word], cwd: str) -> None:
        import shlex

        from toolroll.policy.commands import judge_argv

        words = [self._launcher.without_temp(display_word(one)) for one in argv]
        if any("\0" in word for word in words):
            raise ToolError(ErrorCode.VALIDATION, "A word of the command holds a NUL byte. Remove it.")
        given = (one.text for one in argv if isinstance(one, SealedText) and one.shown)
        self._authorise(judge_argv(words, self._rules()), (shlex.join(words), *given), cwd)

    def background(self, text: str, *, cwd: str = ".") -> CommandRun:
        """Start a text of shell as a job; it reads what is written to the job."""
        self._authorise_text(text, cwd)
        self.jobs.check()
        with self._argv(text) as argv:
            launched = self._start(argv, cwd=cwd, seconds=None, reads=True)
        return self._settle(launched, text, patience=_QUICK)

    def feed(self, job: Job, text: str) -> None:
        """Write to what a job reads, if the policy lets it: a shell would run it."""
        from toolroll.policy.commands import judge_input

        self._authorise(judge_input(text, f"job {job.id}", self._rules()), (job.title, text), None)
        job.running.write(text.encode())

    def program(
        self,
        argv: Sequence[Word],
        *,
        cwd: str = ".",
        seconds: float,
        merge: bool = True,
        detach_after: float | None = None,
        writes: Writes = "workspace",
        extra: Mapping[str, Word] | None = None,
        reads: bool = False,
        captured: bool = True,
    ) -> CommandRun:
        """Run a program that a tool has put together itself: confined and bounded, not judged.

        What it changes is recorded, unless it is known to read only and not `captured`.
        """
        moves = detach_after is not None and seconds > detach_after
        after = None if moves else seconds
        how: dict[str, Any] = {"merge": merge, "writes": writes, "extra": extra, "reads": reads, "captured": captured}
        launched = self._start(argv, cwd=cwd, seconds=after, **how)
        return self._settle(launched, display_word(argv[-1]), patience=detach_after if moves else None)

    def install(self, argv: Sequence[str], why: str, *, seconds: float) -> CommandRun | None:
        """Run an installation, unconfined and outside the workspace, if the approver agrees to it; None if not."""
        import shlex

        argv = [self.programs.program(argv[0]), *argv[1:]]
        command = shlex.join(argv)
        request = ApprovalRequest(self._for().name, Effect.RUN, {"command": command}, why, (command,))
        if self._guard.ask(request) is not Consent.GIVEN:
            return None
        launched = self._start(argv, cwd=".", seconds=seconds, confined=False)
        return self._settle(launched, command, patience=None)

    def enter(self, session: str, folder: str) -> None:
        """Make a folder of the workspace the one that a session's `look`s start in."""
        fd = self._launcher.folder(os.path.normpath(folder))  # as a shell does, also out of a folder that is gone
        try:
            self._entered[session] = "/".join(self._root.real(fd)) or "."
        finally:
            os.close(fd)

    def resume(self, session: str, folder: str) -> None:
        """Start a session in the folder that it was in before; that may be gone by now."""
        self._entered[session] = folder

    def entered(self, session: str) -> str:
        return self._entered.get(session, ".")

    def has(self, program: str) -> bool:
        import shutil

        return shutil.which(program, path=self.environment.get("PATH")) is not None

    def python(self) -> str:
        """The Python that code of this workspace runs with: its own environment's, or ours."""
        for name in (".venv", "venv"):
            path = os.path.join(self._root.path, name, "bin", "python")
            if os.access(path, os.X_OK):
                return path
        return sys.executable

    def script(self, text: str, suffix: str) -> str:
        """The path of a new file outside the workspace that holds this text; commands can change it."""
        return self._launcher.script(text, suffix)

    def serve(self, argv: Sequence[str], cwd: int, env: Mapping[str, str]) -> ChildProcess:
        """Start a program that answers on its pipes until it is closed: confined, and unable to write here."""
        return self._launcher.serve(argv, cwd, env)

    def close(self) -> None:
        with self._lock:
            jobs = list(self._jobs)
        for one in jobs:
            one.close()
        self._launcher.close()

    def _for(self) -> Call:
        assert self._call is not None, "a command runs on behalf of a call"
        return self._call

    @contextmanager
    def _argv(self, text: str, program: str = "bash") -> Iterator[list[Word]]:
        shell = self.programs.find(program) or program  # not one that a command has put on its PATH
        if len(text) < _ARGUMENT_BYTES // 4 or len(text.encode()) < _ARGUMENT_BYTES:
            yield [shell, "-c", text]
            return
        with SealedText(text, "<command>") as script:
            yield [shell, script]

    def _start(
        self,
        argv: Sequence[Word],
        *,
        seconds: float | None,
        extra: Mapping[str, Word] | None = None,
        captured: bool = True,
        **how: Any,
    ) -> StartedCommand:
        call = self._for()
        call.token.check()
        words, variables, fds = prepare_words(argv, extra or {})
        tell = _report_lines(call.progress, seconds)
        if captured and not call.is_compared and how.get("writes") != "nothing" and how.get("confined", True):
            how["watch"] = self._capture.watch(call, self._title(argv))
        with self._launcher.held():
            return self._launcher.start(words, seconds=seconds, extra=variables, on_output=tell, pass_fds=fds, **how)

    def _title(self, argv: Sequence[Word]) -> str:
        """A command as the journal names it: the text that a shell runs, or all words."""
        import shlex

        words = [self._launcher.without_temp(display_word(one)) for one in argv]
        return words[-1] if len(words) == 1 or words[-2] == "-c" else shlex.join(words)

    def _settle(self, launched: StartedCommand, title: str, *, patience: float | None) -> CommandRun:
        """The command after a wait, for its end or for so many seconds; if it still runs then, it is a job."""
        try:
            ended = launched.running.wait(patience, self._for().token)
            job = None if ended is not None else self.jobs.add(launched.running, title=title, notes=launched.job_notes)
        except BaseException:  # an interrupt, or no room for one more job
            launched.running.kill()
            raise
        if ended is not None and launched.written is not None:
            launched.written.report(self._for())
        if ended is not None and str(ended.outcome) == "cancelled":
            raise ToolError(ErrorCode.CANCELLED, "The command was cancelled and all its processes were ended.")
        return CommandRun(launched, self._spill, job)

    def _authorise_text(self, text: str, cwd: str, program: str = "bash") -> None:
        from toolroll.policy.commands import judge

        _check(text)
        found = judge(text, self._rules())
        # The grammar is that of bash: what another shell makes of the same text is not known.
        if program != "bash" and found.decision == "allow":
            found = replace(found, decision="ask")
        self._authorise(found, (text,), cwd, program)

    def _authorise(self, judgement: Judgement, runs: tuple[str, ...], cwd: str | None, program: str = "") -> None:
        """`cwd`: the folder that a lasting answer is for; None when every time is asked about."""
        call, alias = self._for(), self._root.alias
        if alias and self.tier != "bubblewrap" and any(alias in text for text in runs):
            why = f"it names the workspace by its absolute path {alias!r}, where this sandbox cannot show a copy"
            raise NamesBaseError(ErrorCode.UNSUPPORTED, why)
        folder = None if cwd is None else os.path.normpath(cwd)
        self._guard.authorise_command(call.name, call.arguments, judgement, runs, folder, program)

    def _rules(self) -> CommandRules:
        policy = self._guard.policy
        return _command_rules(self._table, tuple(policy.rules), policy.allow_destructive)


@lru_cache(maxsize=8)  # the rules index their tables
def _command_rules(table: str, rules: tuple[Rule, ...], allow_destructive: bool) -> CommandRules:
    from toolroll.policy.commands import PRESETS

    found = PRESETS[table]
    losses = "none" if allow_destructive else found.git_losses
    return replace(found, user=tuple(rule for rule in rules if rule.command), git_losses=losses)


def _only_reads(text: str) -> bool:
    """Whether the terminal's table knows that a text of shell changes no file."""
    from toolroll.policy.commands import TERMINAL, judge

    return judge(text, TERMINAL).decision == "allow"


def _check(text: str) -> None:
    if not text.strip():
        raise ToolError(ErrorCode.VALIDATION, "The `command` is empty. Give one to run.")
    if "\0" in text:
        raise ToolError(ErrorCode.VALIDATION, "The `command` holds a NUL byte, which no shell takes. Remove it.")
    text.encode()  # a lone surrogate raises its own error


def _report_lines(progress: Progress, seconds: float | None) -> Callable[[bytes], None]:
    """Report the newest line to the caller while the command runs."""
    from time import monotonic

    from toolroll.text.terminal import clean

    began = monotonic()

    def tell(chunk: bytes) -> None:
        lines = clean(chunk[-4096:]).strip().splitlines()
        progress(monotonic() - began, seconds, lines[-1] if lines else "")

    return tell
