"""Run a command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from toolroll.host.context import Context
from toolroll.host.shell.command_result import MODEL_CHARS, CommandResult, On, build_result
from toolroll.host.shell.shell_memory import Remember, ShellChoice, ShellMemory
from toolroll.policy import programs
from toolroll.result import ErrorCode, ToolError
from toolroll.schema import Field
from toolroll.text.truncate import Keep
from toolroll.tool import Effect, tool

_INSTALL_SECONDS = 300
_TERMINAL_SECONDS = 1.0  # until a command in a terminal is a job
_MARKS = ";|&<>`$\n"  # of a shell


@tool(Effect.SHELL, holds=True)
def bash(
    ctx: Context,
    command: Annotated[str, "For `bash -c`."],
    timeout: Annotated[float, Field(ge=0.1, le=600), "Seconds until it ends; after 60 it is a `job`."] = 120,
    cwd: Annotated[str, "Folder for this command alone."] = "",
    background: Annotated[bool, "Start it as a `job`."] = False,
    hold: Annotated[bool, "Run it in a copy, to `commit` or `discard`."] = False,
    session: Annotated[str, "Name of a separate shell."] = "",
    tty: Annotated[bool, "Run it in a terminal, as a `job`."] = False,
    *,
    args: Annotated[list[str] | None, "Arguments; with them, `command` is a program and no shell is used."] = None,
    shell: Annotated[Literal["bash", "zsh"], "Shell type."] = "bash",
    description: Annotated[str, "What the command is for, in a few words."] = "",  # noqa: ARG001 for the approver
    detach: Annotated[bool, "Let a command that takes long go on as a job."] = True,
    wait: Annotated[float | None, Field(ge=0), "Seconds after which it goes on as a job."] = None,
    apart: Annotated[bool, "Keep stderr apart from stdout."] = False,
    most: Annotated[int, "Characters of output to show."] = MODEL_CHARS,
    keep: Annotated[Keep, "Which part of a long output is shown."] = "middle",
    on_failure: Annotated[On, "Whether an exit code other than 0 is an error."] = "say",
    on_timeout: Annotated[On, "Whether running out of time is an error."] = "raise",
    remember: Annotated[Remember, "What lasts of earlier commands; or forget it."] = "all",
    install: Annotated[bool, "Offer the user to install a program that is missing, then try again."] = False,
) -> CommandResult:
    """Run a shell command, confined to the workspace, without input except by `tty`.

    `cd` and `export` last. What it leaves running is ended, unless it is a job.
    """
    forked, memory = hold or ctx.shell.must_fork(command, args), ctx.shell.memory
    own = ShellChoice(memory if remember != "nothing" else ShellMemory(), ctx.session, session, bool(cwd), remember)

    def start(ctx: Context) -> CommandResult:
        soon = _TERMINAL_SECONDS if tty and wait is None else wait
        where, after = ctx.files.where(cwd)[1] if cwd else ctx.cwd, _patience(ctx, detach and (not forked or tty), soon)
        how: dict[str, Any] = {"program": shell, "merge": not apart, "detach_after": after, "terminal": tty}
        if args is not None:
            ran = ctx.shell.words([*_words(command), *args], cwd=where, seconds=timeout)
        else:
            ran = ctx.shell.run_on(command, cwd=where, seconds=timeout, choice=own, background=background, **how)
        return build_result(ran, most, keep)

    run = _choose_run(ctx, start, forked=forked, hold=hold, background=background or tty)
    done = run(ctx)
    done = run(ctx) if install and done.missing and _install(ctx, done.missing) else done
    return done.checked(on_failure=on_failure, on_timeout=on_timeout)


def _choose_run(
    ctx: Context, start: Callable[[Context], CommandResult], *, forked: bool, hold: bool, background: bool
) -> Callable[[Context], CommandResult]:
    """How a command is run: as it is, held in a fork, or in one from which it lands if the policy lets it."""
    if hold and background:
        raise ToolError(ErrorCode.VALIDATION, "A job cannot be held. Leave out `hold`, or `background` and `tty`.")
    if not forked:
        return start
    if background:
        ctx.forks.ask_to_run(ctx.call, "what a job changes cannot be looked at before it lands")
        return start
    return lambda ctx: ctx.forks.hold(ctx, start) if hold else ctx.forks.run(ctx, start)


def _patience(ctx: Context, detach: bool, wait: float | None) -> float | None:
    """The seconds after which a command goes on as a job; None for one that does not."""
    most = ctx.limits.foreground_seconds
    return (most if wait is None else min(wait, most)) if detach and ctx.limits.jobs else None


def _words(command: str) -> list[str]:
    """The program, and the arguments that were written behind it; raises ToolError for what only a shell would do."""
    import shlex

    if found := next((mark for mark in _MARKS if mark in command), None):
        raise ToolError(
            ErrorCode.SECURITY,
            f"{command!r} is not allowed: no shell is used, and {found!r} is for one. "
            "Give one program as `command` and the rest as `args`.",
        )
    try:
        return shlex.split(command) or [command]
    except ValueError as error:
        raise ToolError(ErrorCode.VALIDATION, f"{command!r} cannot be split into words: {error}.") from error


def _install(ctx: Context, program: str) -> bool:
    """Install a program if there is a way, the user agrees, and it works."""
    argv = programs.installer(program, lambda name: ctx.launcher.find(name) is not None)
    ran = argv and ctx.shell.install(argv, f"needs {program!r}, which is not installed", seconds=_INSTALL_SECONDS)
    return bool(ran and ran.status == 0)
