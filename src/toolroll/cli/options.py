"""Options shared by several commands, and the kit that they describe."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO, get_args

from toolroll.cli.command import Option, UsageError
from toolroll.cli.screen import complain
from toolroll.policy.rules import MODES, Confinement
from toolroll.result import ToolError

if TYPE_CHECKING:
    from argparse import Namespace

    from toolroll.catalogue import Choice
    from toolroll.control.prompt import ApprovalPrompt
    from toolroll.daemon.warm_kits import WarmKits
    from toolroll.host.approval.request import Approver
    from toolroll.host.approval.waiting import WaitingApprovals
    from toolroll.host.runtime.cancellation import CancelToken
    from toolroll.host.settings import Configuration, Layer
    from toolroll.kit import Kit


class Caller(NamedTuple):
    """Who a call is made for: the user of this process, or where this is the daemon, a client of that."""

    out: TextIO
    err: TextIO
    environ: Mapping[str, str]
    read_input: Callable[[], bytes]
    """Reads the standard input."""
    ask: Callable[[ApprovalPrompt, CancelToken], str] | None
    """Asks on the terminal, where there is one."""
    token: CancelToken
    process: str = "self"
    kits: WarmKits | None = None
    approvals: WaitingApprovals | None = None


def dialect_names() -> Sequence[str]:
    """Our own dialects, and those of plugins."""
    from toolroll import dialects
    from toolroll.host.settings import SettingsError, load_settings
    from toolroll.plugins import combine, load_plugins

    own = dialects.names()
    try:
        return [*own, *combine(load_plugins(".", load_settings().plugins), (), own, "").dialects]
    except SettingsError as error:
        raise UsageError(str(error)) from None


DIALECT = Option(
    ("--dialect", "-d"), "Tool language (default: as configured, else native).", "NAME", choices=dialect_names
)
MODE = Option(
    ("--mode", "-m"),
    "What tools may do: code or thinking (default: as configured, else code).",
    "NAME",
    choices=lambda: list(MODES),
)
SANDBOX = Option(
    ("--sandbox",),
    "Confinement of commands: required, bubblewrap, landlock or none (default: as configured, else required).",
    "NAME",
    choices=lambda: list(get_args(Confinement)),
)
NETWORK = Option(
    ("--network",),
    "Hosts that commands may reach: off, packages, names such as example.org,*.example.org, or on (default: off).",
    "HOSTS",
)
CODE_MODE = Option(("--code-mode",), "Let the programs of `python` call the other tools.")
WORKSPACE = Option(("--workspace", "-C"), "Workspace folder (default: the current folder).", "DIR", ".")
ROOT = Option(
    ("--root",), "Further folder, seen in the workspace under its own name; may be repeated.", "DIR", many=True
)
WIDE = Option(("--wide",), "Allow a workspace that is or contains a home folder; secrets in it stay out of reach.")
SESSION = Option(
    ("--session",), "Session to continue: what was read, todos, folder (default: that of this terminal).", "NAME"
)
JSON = Option(("--json",), "Print JSON for programs.")
OF_DAEMON = MODE, SANDBOX, NETWORK, WORKSPACE
"""Those that choose a daemon, besides `--root` and `--wide`."""
REPEATED = DIALECT, *OF_DAEMON, SESSION


def read_settings(args: Namespace, workspace: str, *over: Layer) -> Configuration:
    """The user's configuration for a workspace with these options over it; UsageError when it is wrong."""
    from toolroll.host.settings import Layer, SettingsError, configure

    known = DIALECT, MODE, SANDBOX, NETWORK, WIDE, CODE_MODE
    given = {one.flags[0]: (one.name, getattr(args, one.name, None)) for one in known}
    options = [Layer(flag, {name: value}) for flag, (name, value) in given.items() if value]
    if roots := [os.path.abspath(one) for one in getattr(args, ROOT.name, ())]:
        options.append(Layer(ROOT.flags[0], {"roots": roots}))
    try:
        return configure(workspace, (*options, *over))
    except SettingsError as error:
        raise UsageError(str(error)) from None


def make_kit(workspace: str, dialect: str | None = None, **options: Any) -> Kit:
    """A kit; one that records its calls where the environment names a file for them."""
    from toolroll.kit import Kit

    path = os.environ.get("TOOLROLL_RECORD")
    if not path:
        return Kit(workspace, dialect, **options)
    from toolroll.recording.recorded_kit import RecordedKit

    kit = RecordedKit(workspace, dialect, **options)
    try:
        kit.begin(path)
    except BaseException:
        kit.close()
        raise
    return kit


def open_kit(
    args: Namespace, tools: Choice | None = None, *, listing: bool = False, approve: Approver | None = None
) -> closing[Kit]:
    """Open the kit of these options until the `with` ends; UsageError when its workspace cannot be opened.

    `listing`: the kit is only asked for its tools, so any folder is accepted. `approve` answers its questions.
    """
    if not args.workspace:  # an unset variable in a script must not mean the current folder
        raise UsageError("The workspace is empty. Name a folder with -C DIR.")
    # Half of the start-up time; help and completion do not need it.
    from toolroll.host.settings import Layer
    from toolroll.kit import Kit

    caller: Caller | None = getattr(args, "caller", None)
    over = [Layer("", {"wide": True})] if listing else []
    if caller is None or caller.kits is None:
        over.append(Layer("", {"limits": {"jobs": 0}}))  # jobs would end with us
    make = Kit if listing else make_kit
    configuration = read_settings(args, args.workspace, *over)
    for hint in (*configuration.hints, *_suggestion_hint(args.workspace, sys.stderr if caller is None else caller.err)):
        complain(hint, "note", to=None if caller is None else caller.err)
    session = None if listing else choose_session(args) or _shared_session(args, configuration.settings.dialect)
    try:
        if caller is not None and caller.kits is not None:
            kit: Kit = caller.kits.open(args.workspace, configuration.settings, session, approve, caller.environ)
        else:
            own: dict[str, Any] = {"tools": tools, "settings": configuration.settings, "approve": approve}
            kit = make(args.workspace, session=session, **own)
    except ValueError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise cannot_open(args.workspace, error) from None
    kit.reads_ahead = False  # it is for one call
    if session and (lost := kit.resume()):
        complain(lost, "note", to=None if caller is None else caller.err)
    return closing(kit)  # `with kit` would import every tool


def _suggestion_hint(workspace: str, stream: TextIO) -> Iterator[str]:
    """Where to look when a person is there to answer what the workspace suggests."""
    from toolroll.host.settings import SUGGESTED, SettingsError, read_suggestion

    if stream.isatty() and os.path.lexists(os.path.join(workspace, SUGGESTED)):
        with suppress(SettingsError, ToolError, OSError):
            if (found := read_suggestion(workspace)) is not None and not found.answered:
                yield "This workspace suggests settings. See: toolroll config"


def choose_session(args: Namespace) -> str | None:
    """The session that a command continues: the one it names, or that of its terminal; None without either."""
    if not hasattr(args, SESSION.name):
        return None
    if args.session == "":
        raise UsageError("The session has no name. Give one with --session NAME.")
    caller: Caller | None = getattr(args, "caller", None)
    return args.session or _terminal_name("self" if caller is None else caller.process)


def _shared_session(args: Namespace, dialect: str) -> str | None:
    """One session for all calls without a name and a terminal, in dialects that ask to read a file before a change."""
    from toolroll import dialects

    needs_read = dialect in dialects.names() and dialects.load(dialect).profile.guard == "seen"
    return "cli" if needs_read and hasattr(args, SESSION.name) else None


def _terminal_name(process: str) -> str | None:
    """A name for the controlling terminal, which a later one with its number does not get; None without one."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            device = int(file.read().rpartition(b")")[2].split()[4])
    except FileNotFoundError:  # only Linux knows it when all streams are redirected
        device = next((os.fstat(fd).st_rdev for fd in (0, 1, 2) if os.isatty(fd)), 0)
    if not device:
        return None
    name = f"terminal-{os.major(device)}-{os.minor(device)}"
    with suppress(OSError):
        name += f"-{os.stat(f'/dev/pts/{os.minor(device)}').st_ctime_ns // 1_000_000:x}"
    return name


def find_workspace(args: Namespace) -> str:
    """The path of the workspace, as a kit on it has it."""
    from toolroll.host.files.root import Root

    try:
        with Root(args.workspace) as root:
            return root.path
    except OSError as error:
        raise cannot_open(args.workspace, error) from None


def cannot_open(workspace: str, error: OSError) -> UsageError:
    """The error for a workspace that does not exist or cannot be entered."""
    why = os.strerror(error.errno or 0)
    return UsageError(f"Cannot open the workspace {workspace!r}: {why}. Name a folder with -C DIR.")


def repeat_options(args: Namespace, options: Sequence[Option] = REPEATED) -> list[str]:
    """The options above that differ from their defaults, for a suggested command; `--root` and `--wide` too."""
    words = []
    for option in options:
        value = getattr(args, option.name, None)
        if value is not None and value != option.default:
            words += [option.flags[0], value]
    for folder in getattr(args, ROOT.name, ()):
        words += [ROOT.flags[0], folder]
    return [*words, WIDE.flags[0]] if args.wide else words


def parse_port(given: str) -> int:
    """The number of a port; UsageError if it is none."""
    if not given.isdecimal() or not given.isascii() or int(given) > 65535:
        raise UsageError(f"There is no port {given!r}. Name one from 0 (any) to 65535.")
    return int(given)
