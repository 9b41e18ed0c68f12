"""`toolroll watch`: one line for each call that agents make here, as it ends."""

from __future__ import annotations

import json
import shutil
import sys
import threading
import time
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from toolroll.cli import screen
from toolroll.cli.command import Command, Option
from toolroll.cli.options import JSON, WORKSPACE, find_workspace

if TYPE_CHECKING:
    from argparse import Namespace

_LOOK_S = 1.0  # for new processes
_SETTLE_S = 0.05  # until the text of a call is the one that its client was sent
_MAX_ARGUMENT_CHARS = 300
_COLOURS = {"success": "green", "partial": "yellow"}

Item = dict[str, Any]


def run(args: Namespace) -> int:
    """Show calls until Ctrl-C."""
    workspace = None if args.all else find_workspace(args)
    screen.write(f"Waiting for calls in {workspace or 'every workspace'}. Ctrl-C ends this.", to=sys.stderr, flush=True)
    trace = Trace(workspace, as_json=args.json)
    try:
        while True:
            trace.follow_new()
            trace.show_until(time.monotonic() + _LOOK_S)
    except KeyboardInterrupt:
        return 0


class Trace:
    """The calls of all processes, in the order in which they end."""

    def __init__(self, workspace: str | None, *, as_json: bool) -> None:
        self._workspace = workspace
        self._as_json = as_json
        self._followed: set[str] = set()
        self._ended: SimpleQueue[tuple[Item, Item]] = SimpleQueue()
        self._settling: dict[tuple[str, int], tuple[float, Item, Item]] = {}
        self._since: int | None = None  # calls before the start are not shown

    def follow_new(self) -> None:
        """Follow the processes that have come since the last look."""
        from toolroll.control.client import find_processes

        for process in find_processes(self._workspace, skip=self._followed):
            self._followed.add(process["id"])
            threading.Thread(target=self._follow, args=(process, self._since), daemon=True).start()
        self._since = 0

    def show_until(self, end: float) -> None:
        """Show the calls that end before this time."""
        settling = self._settling
        while (now := time.monotonic()) < end:
            with suppress(Empty):
                process, call = self._ended.get(timeout=min(end - now, _SETTLE_S) if settling else end - now)
                settling[process["id"], call["seq"]] = time.monotonic(), process, call
            due = time.monotonic() - _SETTLE_S
            for key in [key for key, (came, _, _) in settling.items() if came <= due]:
                _, process, call = settling.pop(key)
                self._show(process, call)

    def _follow(self, process: Item, since: int | None) -> None:
        from toolroll.control.client import ControlClient
        from toolroll.host.rpc.channel import RefusedError

        with suppress(OSError, RefusedError), ControlClient(process["id"]) as client:
            client.request("subscribe", since=since, events=["call"])
            for event, call in client.events():
                if event == "call" and call["status"] != "running":
                    self._ended.put((process, call))
        self._followed.discard(process["id"])

    def _show(self, process: Item, call: Item) -> None:
        if self._as_json:
            about = {"process": process["id"], "workspace": process["workspace"]}
            screen.show_json({**about, **call}, indent=None)
            return
        line = format_call(process, call, with_folder=self._workspace is None, width=_width())
        before, status, after = line.rpartition(call["status"])
        screen.write(before, screen.coloured(status, _COLOURS.get(status, "red"), sys.stdout), after, flush=True)


def format_call(process: Item, call: Item, *, with_folder: bool, width: int | None) -> str:
    """One line of at most `width` characters, without control characters: the arguments are cut."""
    clock = time.strftime("%H:%M:%S", time.localtime(call["started"] + call["seconds"]))
    folder = f" {process['workspace'].rpartition('/')[2]}" if with_folder else ""
    who = f"{call['client'] or process['client'] or process['kind']}[{process['pid']}]"
    arguments = ", ".join(f"{name}={_short(value)}" for name, value in call["arguments"].items())
    first = f"{clock}{folder} {who} {call['tool']}"
    last = f"{call['status']}{' ' + call['code'] if call['code'] else ''} {call['seconds']:.2f}s {call['tokens']:,}t"
    room = _MAX_ARGUMENT_CHARS if width is None else max(0, width - len(first) - len(last) - 4)
    if len(arguments) > room:
        arguments = arguments[: max(0, room - 3)] + "..."[:room]
    return "".join(one if one.isprintable() else "?" for one in f"{first}  {arguments}  {last}"[:width])


def _short(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[: _MAX_ARGUMENT_CHARS + 1]


def _width() -> int | None:
    """The columns of the terminal now; None where there is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


COMMAND = Command(
    "watch",
    "Show each call that agents make here, as it ends: one line a call.",
    run,
    (WORKSPACE, Option(("--all",), "The calls in every workspace of yours."), JSON),
    more="""\
A line has the time, who called, the tool, its arguments, the status, the seconds and about how many tokens the model
read. `toolroll console` shows the results too.""",
)
