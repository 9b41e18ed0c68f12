"""`toolroll mcp`: serve the tools to an MCP client."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from toolroll.cli.command import Command, Option, UsageError
from toolroll.cli.options import (
    CODE_MODE,
    DIALECT,
    MODE,
    NETWORK,
    ROOT,
    SANDBOX,
    WIDE,
    make_kit,
    parse_port,
    read_settings,
)
from toolroll.cli.screen import write
from toolroll.host.error_line import write_error_line

if TYPE_CHECKING:
    from argparse import Namespace

    from toolroll.control.server import ControlServer
    from toolroll.host.approval.guard import Approver
    from toolroll.host.settings import Settings
    from toolroll.kit import Kit
    from toolroll.mcp.kit_backend import KitBackend, ToolListStore

_CHOICES = ("all", "core", "lazy")
_DEFAULT_OPTIONS: tuple[Any, ...] = ("code", None, "standard", False, [], "")


def run(args: Namespace) -> int:
    """Serve until the client leaves, or print or write the client's configuration."""
    if args.at:
        return _serve_elsewhere(args)
    if args.folders and not _take_folders(args):
        _warn("Error: None of the specified directories are accessible.")
        return 1
    _check(args)
    if args.install or args.uninstall:
        return _install(args)
    if args.console:
        _start_console()
    return _serve_http(args) if args.http else _serve_stdio(args)


def _serve_elsewhere(args: Namespace) -> int:
    """Let toolroll on another machine serve its tools through our standard input and output."""
    from toolroll.fleet.engines.pipes import bridge
    from toolroll.result import ToolError

    unfit = [one for one in (_FOLDERS, ROOT, _CONSOLE, _HTTP, _INSTALL, _UNINSTALL) if getattr(args, one.name)]
    if unfit or not args.workspace:
        raise UsageError("--at needs -C with a folder of that machine, and goes with options about tools only.")
    try:
        return bridge(args.at, ["mcp", *_server_options(args), "-C", args.workspace])
    except (ValueError, ToolError) as error:
        raise UsageError(f"{args.at}: {error}") from None


def _start_console() -> None:
    """Start the console beside this server, unless it runs: it opens its page, and ends when nothing uses it."""
    from toolroll.host.runtime.console_record import find_console
    from toolroll.host.runtime.launcher import DEVNULL, start_process
    from toolroll.result import ToolError

    try:  # the server works without it
        if (found := find_console()) is not None:
            _warn(f"The console is at {found.url} (toolroll console opens it).")
        else:
            argv = (sys.executable, "-m", "toolroll", "console", "--while-used")
            start_process(argv, "/", os.environ, (DEVNULL, DEVNULL, DEVNULL))
    except (OSError, ToolError) as error:
        _warn(f"The console cannot be started: {error}")


def _serve_stdio(args: Namespace) -> int:
    from toolroll.mcp import stdio

    if sys.stdin.isatty():
        write("toolroll mcp: waiting for an MCP client on stdin (JSON); Ctrl-D ends it. See --help.", to=sys.stderr)
    wait_for_root = args.roots or not args.workspace
    backend = _make_backend(args, wait_for_root=wait_for_root)
    if args.folders:
        _say_started(args)
    on_roots = _root_setter(backend) if wait_for_root else None
    on_client = partial(_say_how_to_approve, args.workspace) if args.ask else None
    how: Any = {"on_roots": on_roots, "on_client": on_client, "on_listed": _opener_ahead(backend)}
    return stdio.serve(backend, **how)


def _serve_http(args: Namespace) -> int:
    from toolroll.host.files.trust import WorkspaceError, examine
    from toolroll.mcp.http import serve
    from toolroll.result import ToolError

    port = parse_port(args.port)
    try:  # over HTTP a client cannot name its workspace later
        examine(args.workspace or ".", wide=args.wide)
    except WorkspaceError as error:
        raise UsageError(str(error)) from None
    if args.ask:
        _warn(f"A client that cannot ask its user waits for another terminal: {_approve_command(args.workspace)}")
    try:
        return serve(_make_backend(args), port=port, token=os.environ.get("TOOLROLL_MCP_TOKEN") or None)
    except ToolError as error:
        raise UsageError(error.message) from None


def _make_backend(args: Namespace, *, wait_for_root: bool = False) -> KitBackend:
    from toolroll.mcp.kit_backend import KitBackend

    tools = _tools(args)
    open_kit = _opener(args, tools)
    on_waiting = (lambda command: _warn(f"Waiting for approval. To allow it: {command}")) if args.ask else None
    options: Any = {
        "wait_for_root": wait_for_root,
        "on_waiting": on_waiting,
        "structured": args.structured,
        "one_client": not args.http,
        "open_control": _open_control,
    }
    settings = read_settings(args, args.workspace or ".").settings
    chosen = tools or settings.tools
    tool_list = _find_tool_list(settings, chosen, args.workspace or ".")
    if isinstance(tools, list) and tool_list.load() is None:  # check the names now, not at the first call
        _check_names(open_kit)
    return KitBackend(open_kit, tool_list=tool_list, by_client=not chosen, **options)


def _open_control() -> ControlServer:
    from toolroll.control.server import ControlServer

    return ControlServer(None, "mcp", warn=_warn)


def _find_tool_list(settings: Settings, chosen: Any, workspace: str) -> ToolListStore:
    """The list in the package where nothing changes it, else that of the last run with the same options."""
    from toolroll.cli.tool_list_cache import ShippedToolLists, ToolListCache
    from toolroll.host.runtime import user_folders

    options = _list_options(settings, chosen, workspace)
    if options == _DEFAULT_OPTIONS:
        return ShippedToolLists(settings.dialect, _has_defaults)
    return ToolListCache(user_folders.state_dir(), settings.dialect, *map(str, options))


def _has_defaults(kit: Kit) -> bool:
    return _list_options(kit.settings, kit.settings.tools, kit.workspace) == _DEFAULT_OPTIONS


def _list_options(settings: Settings, chosen: Any, workspace: str) -> tuple[Any, ...]:
    """What a list of tools depends on besides the dialect."""
    from toolroll.host.plugin_sources import find_plugins

    own = settings.mode, chosen, settings.policy, settings.code_mode
    return *own, find_plugins(workspace, settings.plugins), _servers_stamp(settings.mcp)


def _servers_stamp(mcp: str | dict[str, Any] | None) -> str:
    """A text that changes with the configured MCP servers; empty if there are none."""
    from toolroll.host.runtime import user_folders

    if isinstance(mcp, dict):
        return str(mcp)
    path = mcp or os.path.join(user_folders.config_dir(), "mcp.json")
    try:
        status = os.stat(path)
    except OSError:
        return mcp or ""
    return f"{path} {status.st_size} {status.st_mtime_ns}"


def _opener(args: Namespace, tools: Any) -> Callable[[str | None, Approver], Kit]:
    def open_kit(folder: str | None, approve: Approver) -> Kit:
        from toolroll.host.settings import Layer

        workspace = folder or args.workspace or "."
        asks = [Layer("--ask", {"policy": "ask"})] if args.ask else []
        try:
            settings = read_settings(args, workspace, *asks).settings
        except UsageError as error:  # the file was right at the start
            raise ValueError(str(error)) from None
        return make_kit(workspace, approve=approve, tools=tools, settings=settings)

    return open_kit


def _check_names(open_kit: Callable[[str | None, Approver], Kit]) -> None:
    from toolroll.host.files.trust import WorkspaceError

    try:
        open_kit(None, lambda _request: False).close()
    except WorkspaceError:
        pass  # the names are right; each call reports the problem of the folder
    except ValueError as error:
        raise UsageError(str(error)) from None


def _tools(args: Namespace) -> Any:
    """The value of the kit's `tools`."""
    if args.lazy and args.tools:
        raise UsageError("Give --lazy or --tools, not both.")
    if args.lazy:
        return "lazy"
    if not args.tools or args.tools in _CHOICES:
        return args.tools or None
    return [name.strip() for name in args.tools.split(",") if name.strip()]


def _check(args: Namespace) -> None:
    if args.workspace == "":
        raise UsageError("The workspace is empty. Name a folder with -C DIR.")
    if args.workspace and not os.path.isdir(args.workspace):
        raise UsageError(f"Cannot open the workspace {args.workspace!r}: it is no folder. Name one with -C DIR.")


def _take_folders(args: Namespace) -> bool:
    """Make the folders of the command line the workspace and its further roots; False if none can be opened."""
    from toolroll.host.runtime.launcher import outermost

    usable = []
    for folder in map(os.path.expanduser, args.folders):
        try:
            os.close(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
            usable.append(os.path.abspath(folder))
        except NotADirectoryError:
            _warn(f"Warning: {folder} is not a directory, skipping.")
        except OSError as error:
            _warn(f"Warning: Cannot access directory {folder}, skipping: {error.strerror}.")
    own = [] if args.workspace is None else [os.path.abspath(args.workspace)]
    apart = outermost({*own, *usable})  # a folder inside another one is in the workspace already
    folders = [one for one in dict.fromkeys((*own, *usable)) if one in apart]
    if usable:
        args.workspace, args.root = folders[0], [*folders[1:], *args.root]
    return bool(usable)


def _say_started(args: Namespace) -> None:
    """What the server that this dialect stands in for says at its start."""
    from toolroll import dialects
    from toolroll.plugins import load_plugins

    settings = read_settings(args, args.workspace).settings
    if started := dialects.load(settings.dialect, load_plugins(args.workspace, settings.plugins)).profile.started:
        _warn(started)


def _warn(text: str) -> None:
    write_error_line("toolroll mcp", text)


def _root_setter(backend: KitBackend) -> Callable[[list[str] | None], None]:
    from toolroll.mcp.roots import find_folder

    return lambda uris: backend.set_root(find_folder(uris or ()))


def _opener_ahead(backend: KitBackend) -> Callable[[], None]:
    from toolroll.result import ToolError

    def open_ahead() -> None:
        try:
            backend.open_ahead()
        except ToolError as error:  # the first call gets the same error and reports it to the client
            _warn(f"error: {error.message}")

    return open_ahead


def _say_how_to_approve(workspace: str | None, client: Mapping[str, Any]) -> None:
    """Tell at the start whether the client can ask its user, and what to do if not."""
    capabilities = client.get("capabilities")
    can: Mapping[str, Any] = capabilities if isinstance(capabilities, dict) else {}
    if isinstance(can.get("elicitation"), dict):
        _warn("This client asks its user before changes and commands.")
    elif workspace is None and isinstance(can.get("roots"), dict):  # it has not named its folder yet
        _warn("This client cannot ask its user. Answer in another terminal, in its folder: toolroll approve --watch")
    else:
        _warn(f"This client cannot ask its user. Answer in another terminal: {_approve_command(workspace)}")


def _approve_command(workspace: str | None) -> str:
    import shlex

    return f"toolroll approve -C {shlex.quote(os.path.abspath(workspace or '.'))} --watch"


def _install(args: Namespace) -> int:
    from toolroll.cli.clients.install import ServerEntry, run

    if args.http and args.port == "0":
        raise UsageError("A client needs an address that stays. Give a port with --port NUMBER.")
    port = parse_port(args.port) if args.http else None
    server = ServerEntry(args.name, tuple(_server_options(args)), args.workspace, port, args.project)
    action = "uninstall" if args.uninstall else "install" if args.write else "print"
    try:
        return run(server, args.uninstall or args.install, action)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _server_options(args: Namespace) -> list[str]:
    """The options with which the client starts the server, besides the workspace."""
    words: list[str] = []
    for option in (DIALECT, MODE, SANDBOX, NETWORK, _TOOLS):
        value = getattr(args, option.name)
        if value != option.default:
            words += [option.flags[0], value]
    words += [word for folder in args.root for word in (ROOT.flags[0], os.path.abspath(folder))]
    return words + [
        option.flags[0]
        for option in (WIDE, CODE_MODE, _LAZY, _ROOTS, _ASK, _STRUCTURED, _CONSOLE)
        if getattr(args, option.name)
    ]


def _clients() -> Sequence[str]:
    from toolroll.cli.clients.known_clients import CLIENTS

    return [*CLIENTS, "all"]


_WORKSPACE = Option(
    ("--workspace", "-C"), "Workspace folder (default: the client's first root, else the current folder).", "DIR"
)
_FOLDERS = Option(
    ("folders",), "Folders to work in: the first is the workspace (as -C), each other one as --root.", "DIR", many=True
)
_ROOTS = Option(("--roots",), "Use the client's first root as the workspace, even with -C.")
_TOOLS = Option(
    ("--tools",), "Tools to show: all, core, lazy, or a comma-separated list of names (default: core).", "WHICH"
)
_LAZY = Option(("--lazy",), "Show only two tools: one that finds tools and one that calls them.")
_ASK = Option(("--ask",), "Ask the user, through the client, before changes, commands and network access.")
_STRUCTURED = Option(
    ("--structured",), "Send structured content too; many clients show their model only that, and not the text."
)
_CONSOLE = Option(("--console",), "Open the console too: a page that shows what the tools do, and asks.")
_AT = Option(
    ("--at",), "Run on another machine: ssh:HOST, docker:NAME or kubectl:[NS/]POD; -C is a folder there.", "NODE"
)
_HTTP = Option(("--http",), "Serve over HTTP on this machine, with a token.")
_PORT = Option(("--port",), "Port for --http (default: any free port).", "NUMBER", "0")
_INSTALL = Option(
    ("--install",),
    "Print the configuration with which a client starts this server; all: for every client of this machine.",
    "CLIENT",
    choices=_clients,
)
_UNINSTALL = Option(
    ("--uninstall",), "Remove the server from a client's configuration, or from all.", "CLIENT", choices=_clients
)
_PROJECT = Option(("--project",), "With both: the file in the project, which others share.")
_PRINT = Option(("--print",), "With --install: only print it (the default).")
_WRITE = Option(("--write",), "With --install: add it to the client's configuration file.")
_NAME = Option(("--name",), "With --install: name of the server in the client (default: toolroll).", "NAME", "toolroll")
_MORE = """\
examples:
  toolroll mcp --install cursor            print the client's configuration
  toolroll mcp --install vscode --write    write it
  toolroll mcp --install all --write       write it for every client of this machine
  toolroll mcp --uninstall vscode          remove it
  toolroll mcp -d mcp-filesystem DIR...    in place of the reference filesystem server
  toolroll mcp -C ~/project --mode thinking --tools read,grep,find

The token for --http comes from TOOLROLL_MCP_TOKEN; without it, a new token is generated and printed."""
COMMAND = Command(
    "mcp",
    "Serve the tools to an MCP client, over standard input and output or over HTTP.",
    run,
    (
        _FOLDERS,
        _WORKSPACE,
        ROOT,
        WIDE,
        _ROOTS,
        DIALECT,
        MODE,
        SANDBOX,
        NETWORK,
        _TOOLS,
        _LAZY,
        CODE_MODE,
        _ASK,
        _STRUCTURED,
        _CONSOLE,
        _AT,
        _HTTP,
        _PORT,
        _INSTALL,
        _UNINSTALL,
        _PRINT,
        _WRITE,
        _PROJECT,
        _NAME,
    ),
    more=_MORE,
)
