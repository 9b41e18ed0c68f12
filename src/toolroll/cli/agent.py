"""`toolroll agent "task"`: let a model work on the workspace with the tools."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

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
from toolroll.cli.screen import coloured, show, visible

if TYPE_CHECKING:
    from argparse import Namespace

    from toolroll.agent.approval import ApprovalPrompt
    from toolroll.agent.model_client import ModelClient
    from toolroll.agent.presets import Preset
    from toolroll.agent.transcript import Record
    from toolroll.host.approval.guard import Approver
    from toolroll.host.approval.waiting import WaitingApprovals
    from toolroll.host.models.chat.model import ChatModel
    from toolroll.host.runtime.cancellation import CancelToken
    from toolroll.host.settings import Settings
    from toolroll.kit import Kit

_MAX_LINE_CHARS = 300  # of a call or a result on the screen


def run(args: Namespace) -> int:
    """Run the agent on a task; 0 only if the model finished it."""
    from toolroll.agent import PRESETS, Agent
    from toolroll.agent.transcript import ReplayModel
    from toolroll.control.server import ControlServer
    from toolroll.formats import wire_text
    from toolroll.host.approval.waiting import WaitingApprovals

    records = _read_transcript(args.replay) if args.replay else None
    if args.print:
        return _print_transcript(records)
    first: Any = records[0] if records else None
    task = args.task or (first.task if first else "")
    if not task:
        raise UsageError('No task is given. Example: toolroll agent "fix the failing test". See: toolroll agent --help')
    preset = _replay_preset(first) if first else PRESETS[args.preset]
    model: ModelClient = ReplayModel(records) if records else load_model(args.model)
    approvals = WaitingApprovals()
    with (
        _open_transcript(args.transcript) as write,
        _open_kit(args, preset, approvals) as kit,
        ControlServer(kit, "agent", client=model.name, show=wire_text, approvals=approvals),
    ):
        watch = [_show_record, *([write] if write else [])]
        agent = Agent(
            kit,
            model,
            preset,
            steps=read_number(args, "steps") or 50,
            tokens=read_number(args, "tokens"),
            watch=watch,
            on_text=_show_text,
        )
        outcome = agent.run(task)
    if outcome.finished:
        show(outcome.text)
        return 0
    print(coloured(visible(str(outcome), sys.stderr), "red", sys.stderr), file=sys.stderr)
    return 1


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
def _open_transcript(path: str | None) -> Iterator[Callable[[Record], None] | None]:
    """A watcher that writes to this file, with access for its owner alone."""
    if path is None:
        yield None
        return
    from toolroll.agent.transcript import Transcript
    from toolroll.policy.secrets import Redaction

    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8", buffering=1) as file:
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


def _open_kit(args: Namespace, preset: Preset, approvals: WaitingApprovals) -> Kit:
    from toolroll.agent.approval import make_approver

    if not args.workspace:
        raise UsageError("The workspace is empty. Name a folder with -C DIR.")
    dialect = args.dialect or preset.dialect
    tools = preset.tools if dialect == preset.dialect else None
    ask = _ask if sys.stdin.isatty() and sys.stderr.isatty() else None
    approve: Approver = _allow if args.yes else make_approver(lambda: kit, ask, approvals)
    settings = build_settings(args, "standard" if args.yes else "ask")
    try:
        kit = make_kit(args.workspace, dialect, settings=settings, approve=approve, tools=tools)
    except ValueError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise cannot_open(args.workspace, error) from None
    return kit


def _allow(_request: object) -> bool:
    return True


def _ask(prompt: ApprovalPrompt, withdrawn: CancelToken) -> str:
    import select

    from toolroll.host.approval.request import CannotAskError
    from toolroll.host.runtime.cancellation import POLL_SECONDS

    stream = sys.stderr
    title, _, rest = prompt.text.partition("\n")
    print(f"\n{coloured(visible(title, stream), 'yellow', stream)}\n{visible(rest, stream)}", file=stream)
    for line in visible(prompt.diff, stream).split("\n") if prompt.diff else ():
        print(coloured(line, {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], ""), stream), file=stream)
    print(prompt.choices, end="", file=stream, flush=True)
    while sys.stdin.isatty() and not select.select([sys.stdin], [], [], POLL_SECONDS)[0]:
        if withdrawn.cancelled:
            print("\nIt was answered elsewhere.", file=stream)
            raise CannotAskError("it was answered elsewhere")
    if not (line := sys.stdin.readline()):
        raise CannotAskError("the terminal was closed")
    return line


def _show_text(text: str) -> None:
    print(visible(text, sys.stderr), end="", file=sys.stderr, flush=True)


def _show_record(record: Record) -> None:
    """Write a record to stderr, without the model's text, which was shown as it arrived."""
    from toolroll.agent.transcript import AssistantRecord, EndRecord, StartRecord

    line = format_record(record)
    if isinstance(record, AssistantRecord) and record.text and not record.text.endswith("\n"):
        print(file=sys.stderr)
    if line and not isinstance(record, StartRecord | EndRecord):
        print(line, file=sys.stderr)


def format_record(record: Record) -> str:
    """A record as a few short lines, without the model's text; in colours on a terminal."""
    from toolroll.agent.transcript import AssistantRecord, ToolRecord, describe_record

    lines = (
        [f"-> {one.name} {one.arguments}" for one in record.calls]
        if isinstance(record, AssistantRecord)
        else [describe_record(record)]
    )
    failed = isinstance(record, ToolRecord) and record.status == "error"
    short = [" ".join(line.split()) for line in lines]
    cut = [line if len(line) <= _MAX_LINE_CHARS else f"{line[:_MAX_LINE_CHARS]} [...]" for line in short]
    return "\n".join(coloured(visible(line, sys.stderr), "red" if failed else "dim", sys.stderr) for line in cut)


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
unless --yes is given. The providers' SDKs come with the extra `agent`: pip install 'toolroll[agent]'.

environment:
  TOOLROLL_MODEL                         openai:NAME, anthropic:NAME or NAME
  OPENAI_API_KEY, ANTHROPIC_API_KEY      the key
  OPENAI_BASE_URL, ANTHROPIC_BASE_URL    another server; a local one needs no key
  TOOLROLL_MODEL_OUTPUT                  maximum number of tokens of one answer""",
)
