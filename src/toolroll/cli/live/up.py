"""`toolroll up`: run the daemon of a workspace, which makes calls faster and keeps jobs running."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from toolroll.cli.command import Command, Option, UsageError
from toolroll.cli.options import (
    MODE,
    NETWORK,
    OF_DAEMON,
    ROOT,
    SANDBOX,
    WIDE,
    WORKSPACE,
    Caller,
    read_settings,
    repeat_options,
)
from toolroll.cli.screen import write

if TYPE_CHECKING:
    from argparse import Namespace

    from toolroll.daemon.remote_call import RemoteCall
    from toolroll.daemon.server import DaemonServer

_SWITCHED_OFF = 'The configuration says daemon = "off". See: toolroll config'


def run(args: Namespace) -> int:
    """Start the daemon, or show or stop those of the workspace."""
    from toolroll import __version__
    from toolroll.daemon.start import DaemonError, start_daemon
    from toolroll.host.daemon.client import connect, resolve, socket_name

    if not os.path.isdir(args.workspace):
        raise UsageError(f"Cannot open the workspace {args.workspace!r}: it is no folder. Name one with -C DIR.")
    if args.stop or args.status:
        return _ask_all(args)
    if read_settings(args, args.workspace).settings.daemon == "off":
        raise UsageError(_SWITCHED_OFF)
    try:
        if args.foreground:
            return _serve(args)
        if (running := connect(socket_name(_key(args), __version__))) is not None:  # else it says what was lost
            running.close()
        start_daemon(repeat_options(args, OF_DAEMON))
    except DaemonError as error:
        raise UsageError(str(error)) from None
    write(f"The daemon of {resolve(args.workspace)!r} runs.")
    return 0


def _ask_all(args: Namespace) -> int:
    """Show or stop the daemons of the workspace; `--status` fails where none takes calls."""
    from toolroll import __version__
    from toolroll.daemon.start import describe_daemons, stop_daemon
    from toolroll.host.daemon.client import report_lost_jobs, socket_name

    found = list(describe_daemons(args.workspace))
    for name, status in found:
        if args.stop:
            stop_daemon(name)
        write(f"Stopped: {status}" if args.stop else status)
    if not found:
        report_lost_jobs(socket_name(_key(args), __version__))
        write("No daemon runs here.")
    return 0 if args.stop or any("stale" not in status for _, status in found) else 1


def _serve(args: Namespace) -> int:
    """Serve in this process until the daemon is idle or stopped."""
    from toolroll.daemon.start import READY, check_caller
    from toolroll.host.daemon.log import write_log
    from toolroll.host.runtime.user_sockets import SocketInUseError

    check_caller()
    try:
        server = make_server(args, log=write_log)
    except SocketInUseError:
        write(f"{READY}: another daemon runs already", flush=True)
        return 0
    signal.signal(signal.SIGTERM, lambda *_: server.stop("ended by SIGTERM"))
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    write(f"{READY}: process {os.getpid()}", flush=True)
    write_log(f"serves {os.path.abspath(args.workspace)!r}")
    os.chdir("/")
    server.run()
    return 0


def make_server(args: Namespace, **how: Any) -> DaemonServer:
    """The daemon of these options, which listens already; SocketInUseError if another one does."""
    from toolroll import __version__
    from toolroll.cli import carry_out
    from toolroll.control.server import ControlServer
    from toolroll.daemon.server import DaemonServer
    from toolroll.daemon.warm_kits import WarmKits
    from toolroll.host.daemon.client import resolve, socket_name

    control = ControlServer(None, "daemon", client="toolroll call")
    kits = WarmKits(control.follow, lambda kit: kit.watch_calls(control.calls.begin))
    workspace, since = resolve(args.workspace), time.strftime("%Y-%m-%d %H:%M")

    def make_call(call: RemoteCall) -> int:
        ask = call.ask if call.has_terminal else None
        own = call.out, call.err, call.environ, call.read_input, ask, call.token, str(call.pid)
        return carry_out(call.argv, Caller(*own, kits, control.approvals))

    def why_not() -> str:
        with suppress(UsageError):  # the call reports it
            return _SWITCHED_OFF if read_settings(args, workspace).settings.daemon == "off" else ""
        return ""

    def describe() -> str:
        about = f"process {os.getpid()}, version {__version__}, since {since}"
        return f"{workspace}\0{about}, jobs: {len(kits.list_jobs())}"

    return DaemonServer(socket_name(_key(args), __version__), control, kits, make_call, why_not, describe, **how)


def _key(args: Namespace) -> dict[str, list[str]]:
    """The options as the client finds them in a command line."""
    given = {one.name: [getattr(args, one.name)] for one in (MODE, SANDBOX, NETWORK) if getattr(args, one.name)}
    wide = {"wide": ["yes"]} if args.wide else {}
    return {**given, **wide, "workspace": [args.workspace], "root": args.root}


_STOP = Option(("--stop",), "Stop the daemons of the workspace and their jobs.")
_STATUS = Option(("--status",), "Show the daemons of the workspace; the exit status is 1 if none takes calls.")
_FOREGROUND = Option(("--foreground",), "Serve in this process, in place of one in the background.")
COMMAND = Command(
    "up",
    "Run the daemon of a workspace: calls take less time, and jobs outlive them.",
    run,
    (_STOP, _STATUS, _FOREGROUND, MODE, SANDBOX, NETWORK, WORKSPACE, ROOT, WIDE),
    more="""\
`toolroll call` with the same options uses the daemon while it runs. A call that starts a job starts it too. It ends
after 15 minutes without a call or a job. With TOOLROLL_DAEMON=off, or daemon = "off" in
toolroll.toml, no command uses or starts one. What daemons did is in daemon.log in the state folder.""",
)
