"""`toolroll console`: see, approve and take back in the browser what agents do on this machine."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from toolroll.cli.command import Command, Option, UsageError
from toolroll.cli.options import parse_port
from toolroll.cli.screen import write

if TYPE_CHECKING:
    from argparse import Namespace

    from toolroll.host.runtime.console_record import ConsoleRecord

_MORE = """\
One console serves all running `toolroll mcp`, `toolroll agent` and daemons of yours. It listens on 127.0.0.1 alone and
needs a token, which the opened page has. On a machine without a browser, forward the port and open the link:
  ssh -L 8400:127.0.0.1:8400 HOST toolroll console --no-open --port 8400"""


def run(args: Namespace) -> int:
    """Serve the console until Ctrl-C, or open the one that runs."""
    from toolroll.host.runtime.console_record import find_console

    port = parse_port(args.port)
    found = find_console()
    if args.stop:
        return _stop(found)
    if found is not None:
        return _use(found, port, opens=not args.no_open)
    return _serve(args, port)


def _serve(args: Namespace, port: int) -> int:
    from toolroll.console.server import run_console
    from toolroll.host.runtime.console_record import find_console
    from toolroll.result import ToolError

    def ready(record: ConsoleRecord) -> None:
        _show(record, opens=not args.no_open)
        write("Ctrl-C ends it.", flush=True)

    try:
        if run_console(port, ready, while_used=args.while_used):
            return 0
    except ToolError as error:
        raise UsageError(error.message) from None
    if (found := find_console()) is None:  # another one has started meanwhile
        raise UsageError("Another console is starting or ending. Try again.")
    return _use(found, port, opens=not args.no_open)


def _use(found: ConsoleRecord, port: int, *, opens: bool) -> int:
    if port not in (0, found.port):
        raise UsageError(f"The console runs on port {found.port} already. End it first: toolroll console --stop")
    write(f"The console runs already (process {found.pid}).")
    _show(found, opens=opens)
    return 0


def _stop(found: ConsoleRecord | None) -> int:
    from toolroll.host.runtime.console_record import stop_console

    if found is None:
        write("No console runs.")
        return 0
    if not stop_console(found):
        write(f"The console (process {found.pid}) does not end.", to=sys.stderr)
        return 1
    write("The console has ended.")
    return 0


def _show(record: ConsoleRecord, *, opens: bool) -> None:
    """Open the page in the browser, or say how to."""
    from toolroll.host.runtime.console_record import redirect_page

    page = redirect_page()
    if opens and _open(page):
        write(f"Console: {record.url} opens in your browser. Without a page: toolroll console --no-open")
    elif sys.stdout.isatty():
        write(f"Console: {record.link}")
    else:  # a file or a log must not hold the token
        write(f"Console: {record.url} To open it with its token, open the file {page}")
    sys.stdout.flush()


def _open(page: str) -> bool:
    """Whether a graphical browser was started."""
    if sys.platform != "darwin" and not any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))):
        return False  # the browser would be one of the terminal
    import webbrowser

    return webbrowser.open(f"file://{page}")


COMMAND = Command(
    "console",
    "Open a page in the browser to see, approve and take back what agents do.",
    run,
    (
        Option(("--no-open",), "Print the link and open no browser."),
        Option(("--port",), "Port of the page (default: any free port).", "NUMBER", "0"),
        Option(("--while-used",), "End when no server runs and no page is open."),
        Option(("--stop",), "End the console that runs."),
    ),
    more=_MORE,
)
