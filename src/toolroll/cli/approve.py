"""`toolroll approve`: answer what a server or an agent in another terminal waits for."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

from toolroll.cli import screen
from toolroll.cli.command import Command, Option, UsageError, one_of
from toolroll.cli.options import JSON, WORKSPACE, find_workspace
from toolroll.host.approval.request import GRANTS

if TYPE_CHECKING:
    from argparse import Namespace

_LOOK_S = 0.5
_ANSWERS = (*GRANTS, "no")
Waiting = dict[str, tuple[dict[str, Any], dict[str, Any]]]
"""By the id of the request: the process that asks, and what it shows."""


def run(args: Namespace) -> int:
    """Answer one request that is named, or each that waits on a terminal, or list them."""
    found = _find(args)
    if args.reason is not None and args.answer != "no":
        raise UsageError("--reason goes with the answer no.")
    if args.id:
        process, request = found[one_of("waiting request", args.id, found)]
        if args.answer is None:
            _show(request)
            return 0
        known = _ANSWERS if request["lasting"] else ("once", "no")
        return _answer(process, request, one_of("answer", args.answer, known), args.reason or "")
    if args.answer is not None:
        raise UsageError("Name the request that is answered. `toolroll approve` lists those that wait.")
    if args.json or not sys.stdin.isatty():
        if args.watch:
            raise UsageError("--watch asks on a terminal, which stdin is not. Leave it out to list what waits.")
        return _list([request for _, request in found.values()], args.json)
    with ExitStack() as held:
        return _ask_all(args, held)


def _list(found: list[dict[str, Any]], as_json: bool) -> int:
    if as_json:
        screen.show_json([{name: one[name] for name in ("id", "tool", "text", "diff", "asked")} for one in found])
        return 0
    for one in found:
        screen.write(f"{one['id']}  {one['title']}")
    screen.write(
        "Answer with: toolroll approve ID once|session|always|no" if found else "Nothing waits for an answer here."
    )
    return 0


def _show(request: dict[str, Any]) -> None:
    screen.write(request["text"])
    if request["diff"]:
        screen.write()
        screen.show(request["diff"], diff=True)


def _ask_all(args: Namespace, held: ExitStack) -> int:
    """Ask on the terminal about each request; with `--watch`, until the user ends it."""
    from toolroll.control.prompt import CHOICES, CHOICES_ONCE, parse_answer

    asked: set[str] = set()
    followed: set[str] = set()
    if args.watch:
        screen.write("Waiting for requests. Ctrl-C ends this, and declines nothing.")
    while True:
        if args.watch:
            _follow(args, followed, held)
        # Looked up again for each: an answer may have settled others.
        while new := next(((id, *one) for id, one in _find(args).items() if id not in asked), None):
            id, process, one = new
            asked.add(id)
            screen.write()
            _show(one)
            screen.write()
            choices = CHOICES if one["lasting"] else CHOICES_ONCE
            while (typed := screen.ask_line(choices, sys.stdin, sys.stdout)) and (word := parse_answer(typed)) is None:
                pass
            if not typed:  # Ctrl-D
                screen.write()
                return 0
            _answer(process, one, str(word), "")
        if not args.watch:
            if not asked:
                screen.write("Nothing waits for an answer here. --watch waits for requests.")
            return 0
        time.sleep(_LOOK_S)


def _answer(process: dict[str, Any], request: dict[str, Any], word: str, reason: str) -> int:
    from toolroll.control.client import ControlClient

    shown = {"id": request["id"], "digest": request["digest"]}
    try:
        with ControlClient(process["id"]) as client:
            found = client.act(process, "answer", **shown, answer=word, reason=reason)
    except OSError:
        found = {"state": "gone", "why": "The process that asked has ended: nothing took the answer."}
    if found["state"] == "applied":
        screen.write(f"{request['id']}: {'declined' if word == 'no' else 'allowed'}.")
        return 0
    screen.complain(found["why"])
    return 1


def _follow(args: Namespace, followed: set[str], held: ExitStack) -> None:
    """Be known to new processes as somebody who answers, so that they wait, also without `--ask`."""
    from toolroll.control.client import ControlClient, find_processes
    from toolroll.host.rpc.channel import RefusedError

    for process in find_processes(find_workspace(args), skip=followed):
        with suppress(OSError, RefusedError):
            client = held.enter_context(ControlClient(process["id"]))
            client.request("subscribe", events=["approvals"])
            followed.add(process["id"])


def _find(args: Namespace) -> Waiting:
    """What waits in the workspace, the oldest first."""
    from toolroll.control.client import ControlClient, find_processes
    from toolroll.host.rpc.channel import RefusedError

    found: Waiting = {}
    for process in find_processes(find_workspace(args)):
        with suppress(OSError, RefusedError), ControlClient(process["id"]) as client:
            found |= {one["id"]: (process, one) for one in client.request("approvals")["waiting"]}
    return found


COMMAND = Command(
    "approve",
    "Answer what a server or an agent waits for: show each request and ask, or answer one by its id.",
    run,
    (
        Option(("id",), "Only this request; without an answer, show it.", "ID", many=False),
        Option(("answer",), "once, session, always or no.", "ANSWER", many=False),
        Option(("--reason",), "With no: why, for the model to read.", "TEXT"),
        Option(("--watch",), "Wait for requests, until Ctrl-C."),
        WORKSPACE,
        JSON,
    ),
)
