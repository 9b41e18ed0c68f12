"""`toolroll call TOOL key=value ...`: call one tool."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from toolroll.cli import arguments
from toolroll.cli.call_approver import CallApprover, answer_on_terminal, own_caller
from toolroll.cli.command import Candidate, Command, Option, UsageError
from toolroll.cli.options import (
    DIALECT,
    JSON,
    MODE,
    NETWORK,
    OF_DAEMON,
    ROOT,
    SANDBOX,
    SESSION,
    WIDE,
    WORKSPACE,
    open_kit,
    repeat_options,
)
from toolroll.cli.screen import coloured, complain, show, show_json, write
from toolroll.result import ToolError

if TYPE_CHECKING:
    from argparse import Namespace

    from toolroll.cli.options import Caller
    from toolroll.dialect import Entry
    from toolroll.kit import Kit
    from toolroll.result import Result, Suggestion


def run(args: Namespace) -> int:
    """Make one call and print its result; returns the exit status of the command, or 0 or 1."""
    caller: Caller = args.caller or own_caller()
    approver = CallApprover(caller)
    with open_kit(args, listing=args.help or args.tool is None, approve=approver) as kit:
        if args.tool is None:
            raise UsageError(f"Which tool? There are: {', '.join(kit.names())}.")
        entry = kit.entry(args.tool)
        if args.help and entry:
            write(describe(entry, repeat_options(args)))
            return 0
        given = arguments.parse_arguments(args.arguments, entry.schema if entry else {}, caller.read_input)
        result = _call(kit, args, given, approver)
        if _needs_daemon(result) and (status := _call_by_daemon(args, given, kit)) is not None:
            return status
        if args.json:
            show_json(as_json(result), to=caller.out)
        else:
            _show(result, args, kit, caller)
    return _status(result, follow=not args.no_exit_code)


def _call(kit: Kit, args: Namespace, given: dict[str, Any], approver: CallApprover) -> Result:
    with approver.answering(kit):
        result = kit.call(args.tool, given, tools="all", token=approver.caller.token)
    if args.caller is None:
        return result
    if approver.caller.token.cancelled:  # as an interrupt of this process would be
        raise KeyboardInterrupt
    result.meta.pop("live_call", None)  # its number in the daemon
    return result


def _needs_daemon(result: Result) -> bool:
    """Whether nothing was done, because a job would end with this process."""
    from toolroll.host.shell.jobs import NO_JOBS

    return result.error is not None and result.error.details == NO_JOBS


def _call_by_daemon(args: Namespace, given: dict[str, Any], kit: Kit) -> int | None:
    """Start the daemon and let it make the call; None if it is switched off or cannot be started."""
    from toolroll import __version__
    from toolroll.daemon.start import DaemonError, start_daemon
    from toolroll.host.daemon.client import call_daemon

    if kit.settings.daemon == "off" or "TOOLROLL_RECORD" in os.environ:
        return None
    switches = [flag for flag, is_given in (("--json", args.json), ("--no-exit-code", args.no_exit_code)) if is_given]
    try:
        start_daemon(repeat_options(args, OF_DAEMON))
    except (DaemonError, ToolError, OSError) as error:
        complain(f"No daemon could be started for the job: {error}", "note")
        return None
    words = ["call", *repeat_options(args), *switches, args.tool, msgspec.json.encode(given).decode()]
    return call_daemon(words, __version__, answer_on_terminal)


def _status(result: Result, *, follow: bool) -> int:
    """0 for success; with `follow`, as the command, the tests or the linter ended."""
    details = result.meta if result.error is None else result.error.details
    code = details.get("exit_code") if follow and isinstance(details, dict) else None
    return code or int(not result.ok)


def as_json(result: Result) -> dict[str, Any]:
    """The result as JSON values: the object of its dialect, or all parts of it."""
    if isinstance(result.wire, dict):
        written: dict[str, Any] = msgspec.to_builtins(result.wire)
        return written
    names = ("status", "text", "data", "error", "meta", "control")
    return {name: msgspec.to_builtins(getattr(result, name)) for name in names}


def describe(entry: Entry, options: Sequence[str] = ()) -> str:
    """The help of one tool: its description and its parameters; `options` are those that it is called with."""
    required = entry.schema.get("required", ())
    names = entry.schema["properties"]
    optional = ["[key=value ...]"] if len(names) > len(required) else []
    usage = " ".join(["toolroll call", *options, entry.name, *(f"{name}=..." for name in required), *optional])
    width = max(map(len, names), default=0)
    lines = [f"usage: {usage}", "", entry.description, ""]
    for name, schema in names.items():
        about = f"{kind(schema)}{', required' if name in required else ''}. {schema.get('description', '')}"
        default = f" (default {msgspec.json.encode(schema['default']).decode()})" if "default" in schema else ""
        lines.append(f"  {name:<{width}}  {about.rstrip()}{default}")
    return "\n".join(lines).rstrip()


def kind(schema: dict[str, Any]) -> str:
    """The type of a parameter: its choices, or its JSON type."""
    if "enum" in schema:
        return " or ".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return f"array of {kind(schema.get('items', {}))}"
    return str(schema.get("type", "any"))


def propose(args: Namespace, typed: str) -> Iterator[Candidate]:
    """Completions: the tools; after a tool its parameters; after a parameter its values."""
    with open_kit(args, listing=True) as kit:
        entries = {entry.name: entry for entry in kit.entries()}
    if args.tool is None:
        yield from ((entry.name, entry.description.splitlines()[0]) for entry in entries.values())
        return
    used = {word.partition("=")[0] for word in args.arguments}
    names = entries[args.tool].schema["properties"] if args.tool in entries else {}
    for name, schema in names.items():
        if typed.startswith(f"{name}="):
            choices = ("true", "false") if schema.get("type") == "boolean" else schema.get("enum", ())
            yield from ((f"{name}={choice}", "") for choice in choices)
        elif name not in used:
            yield f"{name}=", schema.get("description", "")


def _show(result: Result, args: Namespace, kit: Kit, caller: Caller) -> None:
    for note in result.meta.get("coerced", ()):
        complain(note, "note", to=caller.err)
    if result.error is None:
        show(result.text, diff=bool(isinstance(result.data, dict) and result.data.get("diff")), to=caller.out)
        return
    complain(result.text, str(result.error.code), to=caller.err)
    for suggestion in result.error.suggest:
        write(coloured(f"  try: {_command(suggestion, args, kit)}", "dim", caller.err), to=caller.err)


def _command(suggestion: Suggestion, args: Namespace, kit: Kit) -> str:
    """A suggested call as the command that makes it, in the same workspace and dialect."""
    entry = kit.entry(suggestion.name)
    schema = entry.schema if entry else {}
    before = shlex.join(["toolroll", "call", *repeat_options(args), suggestion.name])
    return f"{before} {arguments.format_arguments(suggestion.arguments, schema)}".rstrip()


_TOOL = Option(("tool",), "Name of the tool; with --help, show its parameters.", "TOOL")
_ARGUMENTS = Option(
    ("arguments",),
    "key=value for each argument, or one JSON object, or - to read the object from standard input.",
    "key=value",
    many=True,
)
_EXIT_CODE = Option(("--exit-code",), "Exit with the status of the command; 1 for failed tests and findings (default).")
_NO_EXIT_CODE = Option(("--no-exit-code",), "Exit with 0 if the tool did its work, however that ended.")
COMMAND = Command(
    "call",
    "Call a tool and print its result.",
    run,
    (
        _TOOL,
        _ARGUMENTS,
        DIALECT,
        MODE,
        SANDBOX,
        NETWORK,
        SESSION,
        JSON,
        WORKSPACE,
        ROOT,
        WIDE,
        _EXIT_CODE,
        _NO_EXIT_CODE,
    ),
    more="""\
values:
  The tool's schema decides how a value is parsed: text stays text; numbers, true and false, lists and
  objects are JSON. key=@FILE reads the value from a file, key=@- from standard input; write @@ for a
  value that begins with @. Repeat a key to give a list. A key that begins with a dash, such as -i, can only
  be given in a JSON object.

sessions:
  Calls from one terminal in one workspace are one session, as are calls with the same --session NAME: what
  was read and in which encoding, todos, approvals and the folder of `terminal` are kept until 24 hours pass
  without a call. Without a terminal and without a name, each call is a session of its own, or in dialects that
  ask to read a file before a change, of the session `cli`. See: toolroll sessions

approval:
  What the policy asks about is asked on the terminal, and can be answered in the console or with
  `toolroll approve` too. Without a terminal it is refused, unless a page of the console is open.

exit status:
  0 success, 1 error of the tool, 2 wrong command line, 130 interrupted. A command that fails gives its own
  status, failed tests and findings of a linter give 1; not with --no-exit-code.""",
    helps_with="tool",
    propose=propose,
)
