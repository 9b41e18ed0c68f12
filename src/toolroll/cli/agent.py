"""`toolroll agent "task"`: a model that works on the workspace with the tools."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from toolroll.cli.command import Command, Option, UsageError
from toolroll.cli.options import MODE, SANDBOX, WIDE, WORKSPACE, cannot_open
from toolroll.cli.screen import coloured, show, visible

if TYPE_CHECKING:
    from argparse import Namespace

    from toolroll.agent.approval import Question
    from toolroll.agent.model_client import Mind
    from toolroll.agent.presets import Preset
    from toolroll.agent.records import Record
    from toolroll.host.approval.guard import Approver
    from toolroll.kit import Kit

_LONGEST = 300  # characters of a call or a result on the screen


def run(args: Namespace) -> int:
    """Work on a task; 0 only when it was finished."""
    from toolroll.agent import PRESETS, Agent
    from toolroll.agent.transcript import Recorded

    records = recorded(args.replay) if args.replay else None
    if args.print:
        return _print(records)
    first: Any = records[0] if records else None
    task = args.task or (first.task if first else "")
    if not task:
        raise UsageError('Which task? Say it: toolroll agent "mend the failing test". See: toolroll agent --help')
    preset = _same(first) if first else PRESETS[args.preset]
    model: Mind = Recorded(records) if records else model_of(args.model)
    with transcript(args.transcript) as write, _open_kit(args, preset) as kit:
        watch = [_show, *([write] if write else [])]
        agent = Agent(
            kit,
            model,
            preset,
            steps=number(args, "steps") or 50,
            tokens=number(args, "tokens"),
            watch=watch,
            hear=_hear,
        )
        outcome = agent.run(task)
    if outcome.finished:
        show(outcome.text)
        return 0
    print(coloured(visible(str(outcome), sys.stderr), "red", sys.stderr), file=sys.stderr)
    return 1


def model_of(name: str | None) -> Any:
    """The model that is asked for or set up; a UsageError that says what is missing."""
    from toolroll.host.http.client import Client
    from toolroll.host.models.chat.config import NAME, configured
    from toolroll.result import ToolError

    try:
        found = configured(os.environ, Client(), name)
    except ToolError as error:
        raise UsageError(error.message) from None
    if found is None:
        raise UsageError(
            f"No model is set up. Set {NAME} (such as openai:gpt-5 or anthropic:claude-sonnet-4-5) and "
            "OPENAI_API_KEY or ANTHROPIC_API_KEY in the environment, or use --model."
        )
    return found


def number(args: Namespace, name: str) -> int | None:
    """The value of an option that is a number; None when it was not given."""
    given = getattr(args, name)
    if given is None:
        return None
    if not given.isdecimal() or not 0 < int(given[:12]) < 10**10:
        raise UsageError(f"--{name} is {given!r}. Give a number from 1.")
    return int(given)


@contextmanager
def transcript(path: str | None) -> Iterator[Callable[[Record], None] | None]:
    """A watcher that writes to this file, which only its user may read."""
    if path is None:
        yield None
        return
    from toolroll.agent.transcript import Transcript
    from toolroll.policy.redaction import Redaction

    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8", buffering=1) as file:
        yield Transcript(file.write, Redaction(os.environ))


def recorded(path: str) -> list[Record]:
    """The records of a transcript."""
    from toolroll.agent.transcript import read

    try:
        with open(path, encoding="utf-8") as file:
            return read(file)
    except ValueError as error:
        raise UsageError(f"{path!r}: {error}") from None


def policy_of(args: Namespace, name: str) -> Any:
    """A policy by its name, confined as the options say."""
    from toolroll.kit import preset

    return replace(preset(name), sandbox=args.sandbox, wide=getattr(args, WIDE.name, False))


def _same(first: Any) -> Preset:
    """The preset of a transcript. Its calls are read already, so it is replayed as function calls."""
    from toolroll.agent import PRESETS

    if first.preset not in PRESETS:
        raise UsageError(f"The transcript is of a preset {first.preset!r}. There are: {', '.join(PRESETS)}.")
    return replace(PRESETS[first.preset], style="functions")


def _open_kit(args: Namespace, preset: Preset) -> Kit:
    from toolroll.agent.approval import asking, nobody
    from toolroll.kit import Kit

    if not args.workspace:
        raise UsageError("The workspace is empty. Name a folder with -C DIR.")
    dialect = args.dialect or preset.dialect
    tools = preset.tools if dialect == preset.dialect else None
    approve: Approver = nobody
    if args.yes:
        approve = _agree
    elif sys.stdin.isatty() and sys.stderr.isatty():
        approve = asking(lambda: kit, _ask)
    policy = policy_of(args, "standard" if args.yes else "ask")
    try:
        kit = Kit(args.workspace, dialect, args.mode, policy=policy, approve=approve, tools=tools)
    except ValueError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise cannot_open(args.workspace, error) from None
    return kit


def _agree(_request: object) -> bool:
    return True


def _ask(question: Question) -> str:
    from toolroll.host.approval.request import CannotAskError

    stream = sys.stderr
    title, _, rest = question.text.partition("\n")
    print(f"\n{coloured(visible(title, stream), 'yellow', stream)}\n{visible(rest, stream)}", file=stream)
    for line in visible(question.diff, stream).split("\n") if question.diff else ():
        print(coloured(line, {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], ""), stream), file=stream)
    print(question.prompt, end="", file=stream, flush=True)
    if not (line := sys.stdin.readline()):
        raise CannotAskError("the terminal was closed")
    return line


def _hear(text: str) -> None:
    print(visible(text, sys.stderr), end="", file=sys.stderr, flush=True)


def _show(record: Record) -> None:
    """What happens, on stderr; the model's own text was shown as it came."""
    from toolroll.agent.records import Ended, Said, Started

    line = told(record)
    if isinstance(record, Said) and record.text and not record.text.endswith("\n"):
        print(file=sys.stderr)
    if line and not isinstance(record, Started | Ended):
        print(line, file=sys.stderr)


def told(record: Record) -> str:
    """A record on a few short lines, without the model's words; in colours on a terminal."""
    from toolroll.agent.records import Answered, Said
    from toolroll.agent.transcript import shown

    lines = [f"-> {one.name} {one.arguments}" for one in record.calls] if isinstance(record, Said) else [shown(record)]
    failed = isinstance(record, Answered) and record.status == "error"
    short = [" ".join(line.split()) for line in lines]
    cut = [line if len(line) <= _LONGEST else f"{line[:_LONGEST]} [...]" for line in short]
    return "\n".join(coloured(visible(line, sys.stderr), "red" if failed else "dim", sys.stderr) for line in cut)


def _print(records: Sequence[Record] | None) -> int:
    from toolroll.agent.transcript import shown

    if records is None:
        raise UsageError("Which transcript? Name it with --replay FILE.")
    for record in records:
        show(shown(record))
    return 0


def _presets() -> Sequence[str]:
    from toolroll.agent.presets import PRESETS

    return list(PRESETS)


def _dialects() -> Sequence[str]:
    from toolroll import dialects

    return dialects.names()


TASK = Option(("task",), "What to do, in words.", "TASK")
MODEL = Option(("--model",), "Model, as in TOOLROLL_MODEL (openai:NAME, anthropic:NAME or NAME).", "NAME")
STEPS = Option(("--steps",), "Most turns of the model (50).", "NUMBER")
TOKENS = Option(("--tokens",), "Most tokens in all (no limit).", "NUMBER")
YES = Option(("--yes", "-y"), "Ask nothing: allow what the sandbox confines.")
_PRESET = Option(("--preset", "-p"), "Kind of agent (native).", "NAME", "native", choices=_presets)
_DIALECT = Option(("--dialect", "-d"), "Tool language (the preset's own).", "NAME", choices=_dialects)
_TRANSCRIPT = Option(("--transcript",), "Write all that happens to this file, as JSON Lines without secrets.", "FILE")
_REPLAY = Option(("--replay",), "Let the model say again what this transcript holds; the tools run anew.", "FILE")
_PRINT = Option(("--print",), "With --replay: print the transcript and run nothing.")
COMMAND = Command(
    "agent",
    "Let a model work on a task with the tools.",
    run,
    (TASK, _PRESET, MODEL, STEPS, TOKENS, _TRANSCRIPT, _REPLAY, _PRINT, YES, _DIALECT, MODE, SANDBOX, WORKSPACE, WIDE),
    more="""\
The result goes to standard output, what happens meanwhile to standard error. The exit status is 0 only when the
task was finished. Changes, commands and the network are asked about on a terminal; where nobody can be asked they
are denied, unless --yes is given.

environment:
  TOOLROLL_MODEL                         openai:NAME, anthropic:NAME or NAME
  OPENAI_API_KEY, ANTHROPIC_API_KEY      the key
  OPENAI_BASE_URL, ANTHROPIC_BASE_URL    another server, which may be a local one without a key
  TOOLROLL_MODEL_OUTPUT                  most tokens of one answer""",
)
