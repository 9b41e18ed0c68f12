"""`toolroll agent "task"`: let a model work on the workspace with the tools."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from toolroll.cli.agents.agent_screen import AgentScreen
from toolroll.cli.command import Command, Option, UsageError
from toolroll.cli.options import (
    MODE,
    NETWORK,
    SANDBOX,
    WIDE,
    WORKSPACE,
    cannot_open,
    dialect_names,
    make_kit,
    read_settings,
)
from toolroll.cli.screen import coloured, show, write

if TYPE_CHECKING:
    from argparse import Namespace

    from toolroll.agent.loop import RunOutcome
    from toolroll.agent.model_client import ModelClient
    from toolroll.agent.presets import Preset
    from toolroll.agent.transcript import Record
    from toolroll.host.approval.guard import Approver
    from toolroll.host.approval.waiting import WaitingApprovals
    from toolroll.host.models.chat.model import ChatModel
    from toolroll.host.runtime.cancellation import CancelToken
    from toolroll.host.settings import Settings
    from toolroll.kit import Kit

_LAST_RUN = "agent.jsonl"  # in the state folder of the workspace
_MAX_NAMES = 8
_SIGINT_STATUS = 130
_GO_ON = "Go on where you were interrupted."


def run(args: Namespace) -> int:
    """Run the agent on a task; 0 only if the model finished it."""
    from toolroll.agent import PRESETS
    from toolroll.agent.transcript import ReplayModel
    from toolroll.host.approval.waiting import WaitingApprovals
    from toolroll.host.runtime.cancellation import CancelToken

    records = _read_transcript(args.replay) if args.replay else None
    if args.print:
        return _print_transcript(records)
    first: Any = records[0] if records else None
    task = args.task or (first.task if first else _GO_ON if args.resume else "")
    if not task:
        raise UsageError('No task is given. Example: toolroll agent "fix the failing test". See: toolroll agent --help')
    preset = _replay_preset(first) if first else PRESETS[args.preset]
    model: ModelClient = ReplayModel(records) if records else load_model(args.model)
    settings = build_settings(args, "standard" if args.yes else "ask")
    terminal = _Terminal(AgentScreen(settings.prices.get(model.name)), WaitingApprovals(), CancelToken())
    with _open_kit(args, preset, settings, terminal) as kit:
        earlier = _read_last_run(kit, args) if args.resume else []
        outcome = _work(args, kit, model, preset, terminal, (task, earlier))
    if outcome.finished:
        show(outcome.text)
        return 0
    write(coloured(str(outcome), "red", sys.stderr), to=sys.stderr)
    if not args.replay and outcome.reason != "refused":
        write("To go on: toolroll agent --resume", to=sys.stderr)
    return _SIGINT_STATUS if outcome.reason == "cancelled" else 1


class _Terminal(NamedTuple):
    """What a person sees of a run, and the ways to have a say in it."""

    screen: AgentScreen
    approvals: WaitingApprovals
    token: CancelToken


def _work(
    args: Namespace, kit: Kit, model: ModelClient, preset: Preset, terminal: _Terminal, task: tuple[str, list[Record]]
) -> RunOutcome:
    """Run it with everything that watches: the screen, the transcript, the control socket. Ends with a summary."""
    from toolroll.agent import Agent
    from toolroll.agent.transcript import rebuild_history
    from toolroll.control.server import ControlServer
    from toolroll.formats import wire_text

    screen, approvals, token = terminal
    before = kit.journal.log.size()
    os.makedirs(kit.state_dir, 0o700, exist_ok=True)
    last_run = "" if args.replay else os.path.join(kit.state_dir, _LAST_RUN)
    with (
        ExitStack() as stack,
        ControlServer(kit, "agent", client=model.name, show=wire_text, approvals=approvals),
        screen,
        _cancelled_by_interrupt(token),
    ):
        files = [stack.enter_context(_open_transcript(one, args.resume)) for one in (args.transcript, last_run) if one]
        agent = Agent(
            kit,
            model,
            preset,
            steps=read_number(args, "steps") or 50,
            tokens=read_number(args, "tokens"),
            watch=[screen.show, *files],
            on_text=screen.write,
        )
        outcome = agent.run(task[0], token, rebuild_history(task[1]))
    changed = list(dict.fromkeys(path for entry in kit.journal.log.entries_from(before) for path in entry.paths()))
    write(coloured(summarise(screen, changed), "dim", sys.stderr), to=sys.stderr)
    return outcome


def summarise(screen: AgentScreen, changed: Sequence[str]) -> str:
    """One line about a run: what it took, and which files it changed."""
    names = ", ".join(changed[:_MAX_NAMES]) + (f" and {len(changed) - _MAX_NAMES} more" if changed[_MAX_NAMES:] else "")
    return f"{screen.totals()}. " + (
        f"Changed: {names} (toolroll undo takes it back)." if changed else "Changed nothing."
    )


@contextmanager
def _cancelled_by_interrupt(token: CancelToken) -> Iterator[None]:
    """The first Ctrl-C cancels the token, so that the turn ends in order; the second one interrupts."""

    def cancel(_signal: int, _frame: object) -> None:
        if token.cancelled:
            raise KeyboardInterrupt
        token.cancel()

    before = signal.signal(signal.SIGINT, cancel)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _read_last_run(kit: Kit, args: Namespace) -> list[Record]:
    try:
        return _read_transcript(args.transcript or os.path.join(kit.state_dir, _LAST_RUN))
    except FileNotFoundError:
        raise UsageError("There is no run of an agent here to go on with. Give it a task.") from None


def load_model(name: str | None) -> ChatModel:
    """The model of this name, or of the environment; UsageError if something is missing."""
    from toolroll.host.http.client import Client
    from toolroll.host.models.chat import config
    from toolroll.result import ToolError

    try:
        model = config.load_model(os.environ, Client(), name)
    except ToolError as error:
        raise UsageError(error.message) from None
    if model is None:
        raise UsageError(
            f"No model is set up. Set {config.MODEL_VARIABLE} (such as openai:gpt-5 or anthropic:claude-sonnet-4-5) "
            "and OPENAI_API_KEY or ANTHROPIC_API_KEY in the environment, or use --model."
        )
    return model


def read_number(args: Namespace, name: str) -> int | None:
    """The value of an option that is a number; None if it was not given."""
    given = getattr(args, name)
    if given is None:
        return None
    if not given.isdecimal() or not 0 < int(given[:12]) < 10**10:
        raise UsageError(f"--{name} is {given!r}. Give a number from 1.")
    return int(given)


@contextmanager
def _open_transcript(path: str, append: bool) -> Iterator[Callable[[Record], None]]:
    """A watcher that writes to this file, with access for its owner alone."""
    from toolroll.agent.transcript import Transcript
    from toolroll.policy.secrets import Redaction

    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | (os.O_APPEND if append else os.O_TRUNC)
    with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8", buffering=1) as file:
        yield Transcript(file.write, Redaction(os.environ))


def _read_transcript(path: str) -> list[Record]:
    from toolroll.agent.transcript import read_records

    try:
        with open(path, encoding="utf-8") as file:
            return read_records(file)
    except ValueError as error:
        raise UsageError(f"{path!r}: {error}") from None


def build_settings(args: Namespace, policy: str) -> Settings:
    """The settings of the options; this policy where the user has configured none."""
    import msgspec

    found = read_settings(args, args.workspace)
    return found.settings if "policy" in found.origins else msgspec.structs.replace(found.settings, policy=policy)


def _replay_preset(first: Any) -> Preset:
    """The preset of a transcript. Its calls are already parsed, so the replay uses function calls."""
    from toolroll.agent import PRESETS

    if first.preset not in PRESETS:
        raise UsageError(f"The transcript is of a preset {first.preset!r}. There are: {', '.join(PRESETS)}.")
    return replace(PRESETS[first.preset], style="functions")


def _open_kit(args: Namespace, preset: Preset, settings: Settings, terminal: _Terminal) -> Kit:
    from toolroll.control.prompt import make_approver

    if not args.workspace:
        raise UsageError("The workspace is empty. Name a folder with -C DIR.")
    dialect = args.dialect or preset.dialect
    tools = preset.tools if dialect == preset.dialect else None
    ask = terminal.screen.ask if sys.stdin.isatty() and sys.stderr.isatty() else None
    approve: Approver = allow if args.yes else make_approver(lambda: kit, ask, terminal.approvals, terminal.token)
    try:
        kit = make_kit(args.workspace, dialect, settings=settings, approve=approve, tools=tools)
    except ValueError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise cannot_open(args.workspace, error) from None
    return kit


def allow(_request: object) -> bool:
    """Answer every question with yes."""
    return True


def _print_transcript(records: Sequence[Record] | None) -> int:
    from toolroll.agent.transcript import describe_record

    if records is None:
        raise UsageError("No transcript is given. Name it with --replay FILE.")
    for record in records:
        show(describe_record(record))
    return 0


def _presets() -> Sequence[str]:
    from toolroll.agent.presets import PRESETS

    return list(PRESETS)


TASK = Option(("task",), "The task, in plain words.", "TASK")
MODEL = Option(("--model",), "Model, as in TOOLROLL_MODEL (openai:NAME, anthropic:NAME or NAME).", "NAME")
STEPS = Option(("--steps",), "Maximum number of turns (50).", "NUMBER")
TOKENS = Option(("--tokens",), "Maximum number of tokens in total (no limit).", "NUMBER")
YES = Option(("--yes", "-y"), "Do not ask: allow everything that the sandbox confines.")
_PRESET = Option(("--preset", "-p"), "Kind of agent (native).", "NAME", "native", choices=_presets)
_DIALECT = Option(("--dialect", "-d"), "Dialect of the tools (the preset's own).", "NAME", choices=dialect_names)
_TRANSCRIPT = Option(("--transcript",), "Write every step to this file, as JSON Lines without secrets.", "FILE")
_REPLAY = Option(("--replay",), "Replay the model's turns from a transcript; tools run again.", "FILE")
_RESUME = Option(("--resume",), "Go on with the last run here; TASK is what the model reads next.")
_PRINT = Option(("--print",), "With --replay: print the transcript; run nothing.")
COMMAND = Command(
    "agent",
    "Let a model work on a task with the tools.",
    run,
    (
        TASK,
        _PRESET,
        MODEL,
        STEPS,
        TOKENS,
        _RESUME,
        _TRANSCRIPT,
        _REPLAY,
        _PRINT,
        YES,
        _DIALECT,
        MODE,
        SANDBOX,
        NETWORK,
        WORKSPACE,
        WIDE,
    ),
    more="""\
The result goes to standard output, the progress to standard error. The exit status is 0 only if the model finished
the task. On a terminal, changes, commands and network access need your approval. Without a terminal they are denied,
unless --yes is given. Ctrl-C ends the run with a summary, and --resume goes on with it. The providers' SDKs come with
the extra `agent`: pip install 'toolroll[agent]'.

environment:
  TOOLROLL_MODEL                         openai:NAME, anthropic:NAME or NAME
  OPENAI_API_KEY, ANTHROPIC_API_KEY      the key
  OPENAI_BASE_URL, ANTHROPIC_BASE_URL    another server; a local one needs no key
  TOOLROLL_MODEL_OUTPUT                  maximum number of tokens of one answer""",
)
