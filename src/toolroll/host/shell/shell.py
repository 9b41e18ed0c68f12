"""Run commands for tools: judged by the policy, confined, bounded, with no process left at the end."""

from __future__ import annotations

import copy
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from toolroll.host.approval.guard import ApprovalRequest, Consent, Guard
from toolroll.host.files.root import Root
from toolroll.host.files.sessions import SavedShell
from toolroll.host.files.spill import Spill
from toolroll.host.runtime.call import silent
from toolroll.host.runtime.state import create_nameless_file
from toolroll.host.shell.command_checks import check_text, command_rules, mentions_git, only_reads
from toolroll.host.shell.command_launcher import (
    CommandLauncher,
    SealedText,
    StartedCommand,
    Word,
    Writes,
    display_word,
    prepare_words,
)
from toolroll.host.shell.command_result import CommandRun, Completed, exit_code
from toolroll.host.shell.git_advice import FindRepository, name_losses, quieten
from toolroll.host.shell.interpreter import environment_variables, find_python, find_python_with, names_program
from toolroll.host.shell.output import report_lines
from toolroll.host.shell.shell_memory import (
    ShellChoice,
    ShellMemory,
    Trust,
    Variables,
    ask_for_report,
    compare_variables,
    describe_withheld,
    has_secret,
    may_change,
    select_variables,
    show_variables,
)
from toolroll.policy import environment
from toolroll.policy.effects import Effect
from toolroll.policy.limits import Limits
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.approval.secret_access import SecretAccess
    from toolroll.host.capture.capture import Capture
    from toolroll.host.runtime.call import Call
    from toolroll.host.runtime.launcher import ChildProcess, Launcher
    from toolroll.host.sandbox.git.guard import GitGuard
    from toolroll.host.shell.jobs import Job, Jobs
    from toolroll.policy.commands import CommandRules, Judgement

_ARGUMENT_BYTES = 100_000  # the kernel takes at most 128 KiB in one argument
_NO_VARIABLES: Variables = MappingProxyType({})
_NOT_REPORTED = (
    "The next command finds the folder and variables as they were before this one, "
    "which was ended, or replaced its shell or the trap of its exit."
)
QUICK_SECONDS = 1.0  # a job that fails at once is reported at once


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
        secrets: SecretAccess,
    ) -> None:
        """`launcher` knows where the shells are; `capture` records what commands change."""
        self.environment, self.programs = environment, launcher  # which finds installed programs
        self._root, self._spill, self._guard, self.policy = root, spill, guard, guard.policy
        self._limits, self._table = limits, guard.policy.commands or table
        self._launcher = own = CommandLauncher(root, spill, guard, limits, environment, git, launcher, secrets)
        self.dial = own.dial  # reaches what commands serve
        self.share_temp = own.share_temp  # one /tmp for all commands
        self.find_out, self.start_from, self.join_group = own.find_out, own.start_from, own.join_group  # for forks
        self._capture, self._lock = capture, threading.Lock()
        # Shared by the copies that `on` makes: none or one, and what each shell remembers.
        self._jobs: list[Jobs] = []
        self.memory = ShellMemory()
        self._call: Call | None = None
        self._repository: FindRepository | None = None

    def on(self, call: Call, repository: FindRepository | None = None) -> Shell:
        other = copy.copy(self)
        other._call, other._repository = call, repository
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
    ) -> CommandRun:
        """Run a text of shell, if the policy lets it; after `detach_after` seconds it goes on as a job."""
        self._authorise_text(text, cwd, program)
        how: dict[str, Any] = {"merge": merge, "detach_after": detach_after, "captured": not only_reads(text)}
        with self._argv(text, program) as argv:
            return self.program(argv, cwd=cwd, seconds=seconds, **how)

    def must_fork(self, text: str, args: Sequence[str] | None = None) -> bool:
        """Whether what a command changes must be looked at before it lands; with `args` it is a program."""
        import shlex

        return self.policy.commit != "auto" and not only_reads(text if args is None else shlex.join((text, *args)))

    def run_on(
        self, text: str, *, cwd: str, seconds: float, choice: ShellChoice, background: bool = False, **how: Any
    ) -> CommandRun:
        """`run` in a shell that remembers: it begins where the last command of that shell ended, a new one in `cwd`.

        In the `background` it is a job from the beginning, and changes nothing of the shell.
        """
        program, notes = how.pop("program", "bash"), []
        state = choice.memory.get(choice.owner, choice.name)
        if choice.remember == "reset":
            choice.memory.put(choice.owner, choice.name, None)
            state, text = None, text or ":"
        here = cwd if choice.elsewhere or state is None else state.cwd
        if here != cwd and not self._is_folder(here):
            notes, here = [f"Ran in {cwd!r}: {here!r} is gone."], cwd
        variables = state.variables if state is not None and choice.remember != "folder" else _NO_VARIABLES
        used, trust = self._authorise_text(text, here, program, variables)
        notes.append(describe_withheld(variables, used, trust))
        own, tty = self._project_variables(here) if trust != "reads" else {}, bool(how.get("terminal"))
        how |= {"exported": {**own, **(environment.TERMINAL if tty else {}), **used}}
        how |= {"captured": trust != "reads" or not only_reads(text)}
        reports = program == "bash" and choice.remember != "nothing" and not background and not tty
        report = ask_for_report(text, self._launcher.variables()) if reports else None
        with report or nullcontext(), self._argv(text, program) as argv:
            how |= {"cwd": here, **({"extra": {"BASH_ENV": report}} if report else {})}
            ran = self._run_job(argv, text, **how) if background else self._run_program(argv, seconds=seconds, **how)
            found = report.read() if report else None
        if reports and report is None and ran.outcome == "exited":
            found = ran.launched.cwd, environment.combine(ran.launched.first, own, used)
        if found is not None:
            withheld = {name: value for name, value in variables.items() if name not in used}
            notes += self._remember(choice, os.path.normpath(here), found, ({**ran.launched.first, **own}, withheld))
        elif reports and ran.job is None and may_change(text):
            notes.append(_NOT_REPORTED)
        python = self.python(here) if ran.status and trust != "reads" and "PATH" not in used else ""
        return replace(ran, note="\n".join(filter(None, notes)), python=python)

    def _project_variables(self, folder: str) -> dict[str, str]:
        """What puts the environment of a project in the workspace first on PATH."""
        return environment_variables(self._root.path, folder, self._launcher.variables())

    def _is_folder(self, path: str) -> bool:
        try:
            os.close(self._launcher.folder(path))
        except (ToolError, OSError):
            return False
        return True

    def _run_job(self, argv: Sequence[Word], text: str, **how: Any) -> CommandRun:
        """Start a job; it reads what is written to it."""
        self.jobs.check()
        how.pop("detach_after", None)
        return self._settle(self._start(argv, seconds=None, **{**how, "reads": True}), text, patience=QUICK_SECONDS)

    def _remember(
        self,
        choice: ShellChoice,
        here: str,
        found: tuple[str, dict[str, str]],
        before: tuple[Mapping[str, str], Variables],
    ) -> Iterator[str]:
        """Keep what a shell has ended with, and say what is new about that.

        `before`: the first environment, and the variables that the command did not get.
        """
        ended, exported = found
        state = choice.memory.get(choice.owner, choice.name) or SavedShell("." if choice.elsewhere else here)
        folder, variables = state.cwd, state.variables
        if not choice.elsewhere:
            try:
                folder = self._inside(ended)
            except (ToolError, OSError):
                folder = "."
                yield f"The next command begins in the workspace again: {ended!r} is outside, or gone."
            else:
                yield f"The next command begins in {folder!r}." if folder != here else ""
        if choice.remember != "folder":
            variables, left_out = compare_variables(before[0], exported, before[1])
            yield f"Not remembered, because too long or no text: {', '.join(left_out)}." if left_out else ""
        choice.memory.put(choice.owner, choice.name, SavedShell(folder, variables))

    def look(self, text: str, *, cwd: str = ".", seconds: float) -> CommandRun:
        """Run a text of shell that only reads, by the terminal's table, and cannot write."""
        self.authorise_look(text, cwd)
        with self._argv(text) as argv:
            return self.program(argv, cwd=cwd, seconds=seconds, writes="nothing")

    def authorise_look(self, text: str, cwd: str) -> None:
        """Return if `look` may run the text; raise ToolError if not."""
        from toolroll.policy.commands import TERMINAL, judge
        from toolroll.policy.decision import Rule

        check_text(text)
        no_cd = Rule("deny", command=("cd",), reason="'cd' is not allowed here. Give paths from the workspace.")
        judgement = judge(text, TERMINAL if self._guard.policy.allow_cd else replace(TERMINAL, user=(no_cd,)))
        if judgement.decision != "allow":
            raise ToolError(ErrorCode.SECURITY, judgement.reason)
        self._authorise_text(text, cwd)

    def words(self, argv: Sequence[Word], *, cwd: str = ".", seconds: float, reads: str = "", **how: Any) -> CommandRun:
        """Run a program given as words, without a shell, if the policy lets it; it follows what it `reads`."""
        self._authorise_words(argv, cwd, reads)
        return self.program(argv, cwd=cwd, seconds=seconds, **how)

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
                captured = not (isinstance(command, str) and only_reads(command))
                how: dict[str, Any] = {"merge": False, "stdin": given, "kept_bytes": kept_bytes, "captured": captured}
                launched = self._start(argv, cwd=cwd, seconds=seconds, extra=extra, **how)
        finally:
            os.close(given)
        ran, call = self._settle(launched, self._title(argv), patience=None), self._for()
        outputs = [one for one in (launched.running.output, launched.running.errors) if one is not None]
        stdout, stderr = (one.read(0, kept_bytes) for one in outputs)
        how_much = any(one.total > kept_bytes for one in outputs), call.notes
        return Completed(stdout, stderr, exit_code(ran.status), call.changes, ran.outcome, *how_much)

    def _authorise_words(self, argv: Sequence[Word], cwd: str, reads: str = "") -> None:
        import shlex

        from toolroll.policy.commands import judge_argv

        words = [self._launcher.without_temp(display_word(one)) for one in argv]
        if any("\0" in word for word in words):
            raise ToolError(ErrorCode.VALIDATION, "A word of the command holds a NUL byte. Remove it.")
        given = (*(one.text for one in argv if isinstance(one, SealedText) and one.shown), *filter(None, (reads,)))
        self._authorise(self._warn(judge_argv(words, self._rules()), cwd), (shlex.join(words), *given), cwd)

    def feed(self, job: Job, text: str) -> None:
        """Write to what a job reads, if the policy lets it: a shell would run it."""
        from toolroll.policy.commands import judge_input

        if not text:
            return
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
        captured: bool = True,
        programs: tuple[str, ...] = (),
    ) -> CommandRun:
        """Run a program that a tool has put together itself: confined and bounded, not judged.

        It may execute only `programs`, if any are named. What it changes is recorded, unless it is known to read only
        and not `captured`.
        """
        how: dict[str, Any] = {"merge": merge, "writes": writes, "extra": extra, "captured": captured}
        how |= {"programs": programs}
        return self._run_program(argv, cwd=cwd, seconds=seconds, detach_after=detach_after, **how)

    def _run_program(
        self, argv: Sequence[Word], *, seconds: float, detach_after: float | None = None, **how: Any
    ) -> CommandRun:
        moves = detach_after is not None and seconds > detach_after
        launched = self._start(argv, seconds=None if moves else seconds, **how)
        return self._settle(launched, self._title(argv), patience=detach_after if moves else None)

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
        """Make a folder of the workspace the one that a session is in."""
        state = self.memory.get(session) or SavedShell()
        self.memory.put(session, "", SavedShell(self._inside(folder), state.variables))

    def entered(self, session: str) -> str:
        return (self.memory.get(session) or SavedShell()).cwd

    def _inside(self, folder: str) -> str:
        """A folder of the workspace by its own name; ToolError or OSError if it is none."""
        fd = self._launcher.folder(os.path.normpath(folder))  # as a shell does, also out of a folder that is gone
        try:
            return "/".join(self._root.real(fd)) or "."
        finally:
            os.close(fd)

    def has(self, program: str) -> bool:
        import shutil

        return shutil.which(program, path=self.environment.get("PATH")) is not None

    def python(self, folder: str = ".") -> str:
        """The Python that code in a folder of this workspace runs with."""
        return find_python(self._root.path, folder, self._launcher.variables())

    def python_with(self, package: str, folder: str) -> str | None:
        """Another Python for that folder, which has the package; None if there is none."""
        return find_python_with(package, self._root.path, folder, self._launcher.variables())

    def script(self, text: str, suffix: str) -> str:
        """The path of a new file outside the workspace that holds this text; commands can change it."""
        return self._launcher.script(text, suffix)

    def serve(self, argv: Sequence[str], cwd: int, env: Mapping[str, str]) -> ChildProcess:
        """Start a program that answers on its pipes until it is closed: confined, without network and read-only."""
        return self._launcher.serve(argv, cwd, {**env, "PATH": self.programs.path})

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
        reads: bool = False,
        **how: Any,
    ) -> StartedCommand:
        call = self._for()
        call.token.check()
        if mentions_git(argv):
            captured, extra = quieten(str(argv[-1]), self._root.path, how, extra or {}, self.policy, self._repository)
        words, variables, fds = prepare_words(argv, extra or {})
        tell = report_lines(call.progress, seconds)
        if captured and not call.is_compared and how.get("writes") != "nothing" and how.get("confined", True):
            how["watch"] = self._capture.watch(call, self._title(argv))
            how.setdefault("exported", self._project_variables(how["cwd"]))
        with self._launcher.held():
            how |= {"extra": variables, "input": reads, "on_output": tell, "pass_fds": fds, "clock": call.token.clock}
            return self._launcher.start(words, seconds=seconds, **how)

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
        if launched.written is not None:
            self._capture.settle(launched.written, self._for(), is_job=ended is None)
        if ended is not None and str(ended.outcome) == "cancelled":
            raise ToolError(ErrorCode.CANCELLED, "The command was cancelled and all its processes were ended.")
        self.memory.keep_last(title, launched.running)
        return CommandRun(launched, self._spill, job)

    def _authorise_text(
        self, text: str, cwd: str, program: str = "bash", variables: Variables = _NO_VARIABLES
    ) -> tuple[Variables, Trust]:
        """Return the session's variables that the text may run with, and why it may run; raise ToolError if not."""
        from toolroll.policy.commands import judge

        check_text(text)
        found = self._warn(judge(text, self._rules()), cwd)
        # The grammar is that of bash: what another shell makes of the same text is not known. Nor is what a program
        # does that a command could have put into the workspace's own environment.
        by_rule = any(part.by_rule for part in found.parts)
        if found.decision == "allow" and (
            program != "bash" or (not by_rule and names_program(text, self._root.path, cwd))
        ):
            found = replace(found, decision="ask")
        trust: Trust = "open"
        if found.decision == "allow" and not by_rule:
            trust = "reads"
        elif found.decision == "allow" or self._guard.must_ask(found):
            trust = "approved"
        used = select_variables(variables, trust)
        self._authorise(found, (text,), cwd, program, used)
        return used, trust

    def _authorise(
        self,
        judgement: Judgement,
        runs: tuple[str, ...],
        cwd: str | None,
        program: str = "",
        variables: Variables = _NO_VARIABLES,
    ) -> None:
        """`cwd`: the folder that a lasting answer is for; None when every time is asked about."""
        call, alias = self._for(), self._root.alias
        if alias and self.tier != "bubblewrap" and any(alias in text for text in runs):
            why = f"it names the workspace by its absolute path {alias!r}, where this sandbox cannot show a copy"
            raise NamesBaseError(ErrorCode.UNSUPPORTED, why)
        folder = None if cwd is None or has_secret(variables) else os.path.normpath(cwd)
        if judgement.decision == "ask" and (self._guard.must_ask(judgement) or call.progress is not silent):
            judgement = self._capture.name_losses(judgement, cwd or ".", call)
        shown = show_variables(variables)
        self._guard.authorise_command(call.name, call.arguments, judgement, runs, folder, program, shown)

    def _warn(self, judgement: Judgement, cwd: str) -> Judgement:
        """Add the work that git would lose, where somebody can be asked about it."""
        if self._repository is None or not self._guard.can_ask or self._rules().git_losses == "none":
            return judgement
        return name_losses(judgement, os.path.join(self._root.path, cwd), self._repository)

    def _rules(self) -> CommandRules:
        policy = self._guard.policy
        return command_rules(self._table, tuple(policy.rules), policy.allow_destructive, bool(policy.network))
