"""`toolroll mcp`: the tools for any MCP client."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from toolroll.cli.command import Command, Option, UsageError
from toolroll.cli.options import DIALECT, MODE, SANDBOX, WIDE

if TYPE_CHECKING:
    from argparse import Namespace

    from toolroll.host.approval.guard import Approver
    from toolroll.kit import Kit
    from toolroll.mcp.kit_backend import KitOffer

_CHOICES = ("all", "core", "lazy")


def run(args: Namespace) -> int:
    """Serve until the client goes, or tell a client how to start the server."""
    if args.install:
        return _install(args)
    _check(args)
    return _over_http(args) if args.http else _over_pipes(args)


def _over_pipes(args: Namespace) -> int:
    from toolroll.mcp import stdio

    if sys.stdin.isatty():
        print("toolroll mcp: an MCP client talks here, in JSON; Ctrl-D ends it. See --help.", file=sys.stderr)
    rooted = args.roots or not args.workspace
    offer = _offer(args, rooted=rooted)
    return stdio.serve(offer, placing=_placing(offer) if rooted else None, listed=_warming(offer))


def _over_http(args: Namespace) -> int:
    from toolroll.host.files.trust import WorkspaceError, examine
    from toolroll.mcp.http import serve
    from toolroll.result import ToolError

    port = _port(args.port)
    try:  # no client can say later over HTTP where it works
        examine(args.workspace or ".", wide=args.wide)
    except WorkspaceError as error:
        raise UsageError(str(error)) from None
    try:
        return serve(_offer(args), port=port, token=os.environ.get("TOOLROLL_MCP_TOKEN") or None)
    except ToolError as error:
        raise UsageError(error.message) from None


def _offer(args: Namespace, *, rooted: bool = False) -> KitOffer:
    from toolroll.cli.tool_list_cache import KeptList
    from toolroll.mcp.kit_backend import KitOffer

    tools = _tools(args)
    open_kit = _opener(args, tools)
    if isinstance(tools, list):  # names that may be wrong, which is better told now than to the client
        _try_names(open_kit)
        return KitOffer(open_kit, rooted=rooted)
    kept = KeptList(_state_home(), args.dialect, args.mode, tools or "")
    return KitOffer(open_kit, kept=kept, rooted=rooted)


def _opener(args: Namespace, tools: Any) -> Callable[[str | None, Approver], Kit]:
    def open_kit(folder: str | None, approve: Approver) -> Kit:
        from dataclasses import replace

        from toolroll.kit import Kit, preset

        policy = replace(preset("ask" if args.ask else "standard"), sandbox=args.sandbox, wide=args.wide)
        workspace = folder or args.workspace or "."
        return Kit(workspace, args.dialect, args.mode, policy=policy, approve=approve, tools=tools)

    return open_kit


def _try_names(open_kit: Callable[[str | None, Approver], Kit]) -> None:
    from toolroll.host.files.trust import WorkspaceError

    try:
        open_kit(None, lambda _request: False).close()
    except WorkspaceError:
        pass  # the names are right; each call tells the client what is wrong with the folder
    except ValueError as error:
        raise UsageError(str(error)) from None


def _tools(args: Namespace) -> Any:
    """What the kit takes for `tools`."""
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


def _port(given: str) -> int:
    if not given.isdecimal() or int(given) > 65535:
        raise UsageError(f"There is no port {given!r}. Name one from 0 (any) to 65535.")
    return int(given)


def _placing(offer: KitOffer) -> Callable[[list[str] | None], None]:
    from toolroll.mcp.roots import folder_of

    def place(uris: list[str] | None) -> None:
        offer.place(folder_of(uris or ()))

    return place


def _warming(offer: KitOffer) -> Callable[[], None]:
    from toolroll.result import ToolError

    def warm() -> None:
        try:
            offer.warm()
        except ToolError as error:  # the first call will meet it again, and tell the client
            # Not by sys.stderr: a thread that holds its lock when the program ends would abort that.
            with suppress(OSError):
                os.write(2, f"toolroll mcp: error: {error.message}\n".encode())

    return warm


def _state_home() -> str:
    import platformdirs

    return platformdirs.user_state_dir("toolroll")


def _install(args: Namespace) -> int:
    from toolroll.cli.install import CLIENTS, Entry, own_command

    client = CLIENTS[args.install]
    command, *more = own_command()
    project = os.path.abspath(args.workspace or ".")
    words = [*more, "mcp", *_said_again(args, None if client.places and not args.workspace else project)]
    entry = Entry(client, args.name, command, tuple(words), project)
    try:
        if not args.write:
            text = entry.text()
            print(f"For {client.title}, in {entry.path}:", file=sys.stderr)
            print(text, end="")
            return 0
        backup = entry.write()
    except ValueError as error:
        raise UsageError(str(error)) from None
    print(f"Wrote {args.name!r} into {entry.path}." + (f" As it was: {backup}" if backup else ""))
    return 0


def _said_again(args: Namespace, workspace: str | None) -> list[str]:
    """The options that the client is to start the server with."""
    words = ["-C", workspace] if workspace else []
    for option in (DIALECT, MODE, SANDBOX, _TOOLS):
        value = getattr(args, option.name)
        if value != option.default:
            words += [option.flags[0], value]
    return words + [option.flags[0] for option in (WIDE, _LAZY, _ROOTS, _ASK) if getattr(args, option.name)]


def _clients() -> Sequence[str]:
    from toolroll.cli.install import CLIENTS

    return list(CLIENTS)


_WORKSPACE = Option(("--workspace", "-C"), "Folder to work in (the client's first root, else the current one).", "DIR")
_ROOTS = Option(("--roots",), "Work in the client's first root, also if -C names a folder to begin with.")
_TOOLS = Option(("--tools",), "Tools to show: all, core, lazy, or names with commas between them (core).", "WHICH")
_LAZY = Option(("--lazy",), "Show only a tool that finds tools and one that calls them.")
_ASK = Option(("--ask",), "Ask the user through the client before changes, commands and the network.")
_HTTP = Option(("--http",), "Serve over HTTP on this machine, with a token.")
_PORT = Option(("--port",), "Port for --http (any that is free).", "NUMBER", "0")
_INSTALL = Option(("--install",), "Print what makes a client start this server.", "CLIENT", choices=_clients)
_PRINT = Option(("--print",), "With --install: only print it (the default).")
_WRITE = Option(("--write",), "With --install: write it into the client's own file, beside what is there.")
_NAME = Option(("--name",), "With --install: what the client calls the server (toolroll).", "NAME", "toolroll")
_MORE = """\
examples:
  toolroll mcp --install cursor            what to put into the client's settings
  toolroll mcp --install vscode --write    put it there
  toolroll mcp -C ~/project --mode thinking --tools read,grep,find

The token for --http comes from TOOLROLL_MCP_TOKEN; without one, a new one is made and shown."""
COMMAND = Command(
    "mcp",
    "Serve the tools to an MCP client, over standard input and output or over HTTP.",
    run,
    (
        _WORKSPACE,
        WIDE,
        _ROOTS,
        DIALECT,
        MODE,
        SANDBOX,
        _TOOLS,
        _LAZY,
        _ASK,
        _HTTP,
        _PORT,
        _INSTALL,
        _PRINT,
        _WRITE,
        _NAME,
    ),
    more=_MORE,
)
