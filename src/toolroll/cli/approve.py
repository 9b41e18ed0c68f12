"""`toolroll approve`: answer what a server or an agent in another terminal waits for."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from toolroll.cli import screen
from toolroll.cli.command import Command, Option, UsageError, one_of
from toolroll.cli.options import JSON, WORKSPACE, cannot_open

if TYPE_CHECKING:
    from argparse import Namespace

    from toolroll.host.approval.request import Answer
    from toolroll.host.approval.waiting import WaitingApprovals, WaitingRequest

_LOOK_S = 0.5
_GONE = "The request does not wait any more: nothing took the answer."


def run(args: Namespace) -> int:
    """Answer one request that is named, or each that waits on a terminal, or list them."""
    waiting = _waiting(args)
    found = {one.id: one for one in waiting.all()}
    if args.id:
        request = found[one_of("waiting request", args.id, found)]
        if args.answer is None:
            print(request.text)
            return 0
        return _answer(waiting, request, _parse(args.answer, request))
    if args.answer is not None:
        raise UsageError("Name the request that is answered. `toolroll approve` lists those that wait.")
    if args.json or not sys.stdin.isatty():
        if args.watch:
            raise UsageError("--watch asks on a terminal, which stdin is not. Leave it out to list what waits.")
        return _list(list(found.values()), args.json)
    try:
        return _ask_all(waiting, watch=args.watch)
    except EOFError:  # Ctrl-D
        print()
        return 0


def _list(found: list[WaitingRequest], as_json: bool) -> int:
    if as_json:
        screen.show_json([{"id": one.id, "tool": one.tool, "text": one.text, "asked": one.asked} for one in found])
        return 0
    for one in found:
        print(f"{one.id}  {one.text.splitlines()[0]}")
    print("Answer with: toolroll approve ID once|session|always|no" if found else "Nothing waits for an answer here.")
    return 0


def _ask_all(waiting: WaitingApprovals, *, watch: bool) -> int:
    """Ask on the terminal about each request; with `watch`, until the user ends it."""
    from toolroll.agent.approval import CHOICES, CHOICES_ONCE, parse_answer

    asked: set[str] = set()
    if watch:
        print("Waiting for requests. Ctrl-C ends this, and declines nothing.")
    while True:
        for one in waiting.all():
            if one.id in asked:
                continue
            asked.add(one.id)
            print(f"\n{one.text}\n")
            while (given := parse_answer(input(CHOICES if one.lasting else CHOICES_ONCE))) is None:
                pass
            _answer(waiting, one, given)
        if not watch:
            if not asked:
                print("Nothing waits for an answer here. --watch waits for requests.")
            return 0
        time.sleep(_LOOK_S)


def _parse(text: str, request: WaitingRequest) -> Answer:
    answers: dict[str, Answer] = {"once": "once", "no": False}
    if request.lasting:
        answers |= {"session": "session", "always": "always"}
    return answers[one_of("answer", text, answers)]


def _answer(waiting: WaitingApprovals, request: WaitingRequest, given: Answer) -> int:
    if waiting.answer(request, given):
        print(f"{request.id}: {'allowed' if given else 'declined'}.")
        return 0
    print(_GONE, file=sys.stderr)
    return 1


def _waiting(args: Namespace) -> WaitingApprovals:
    from toolroll.host.approval.waiting import WaitingApprovals
    from toolroll.host.files.root import Root
    from toolroll.host.runtime.state import State

    try:
        with Root(args.workspace) as root:
            return WaitingApprovals(State.of(root.path))
    except OSError as error:
        raise cannot_open(args.workspace, error) from None


COMMAND = Command(
    "approve",
    "Answer what a server or an agent waits for: show each request and ask, or answer one by its id.",
    run,
    (
        Option(("id",), "Only this request; without an answer, show it.", "ID", many=False),
        Option(("answer",), "once, session, always or no.", "ANSWER", many=False),
        Option(("--watch",), "Wait for requests, until Ctrl-C."),
        WORKSPACE,
        JSON,
    ),
)
